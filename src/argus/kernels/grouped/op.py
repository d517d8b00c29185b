"""Grouped products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.calls import launch
from argus.kernels.grouped import kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["grouped_gemm", "tile_table"]


def grouped_gemm(
    x: Tensor,
    w: Tensor,
    ends: Tensor,
    rows: Tensor | None = None,
    scatter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Per-expert product: positions up to ``ends[e]`` use ``w[e]`` (E, N, K).

    Position p reads row ``rows[p]`` of x (R, K) and writes row ``scatter[p]`` of the
    result (P, N); without tables, row p. ``ends`` (E,) i32, ascending. Nothing waits
    for the device: the tile table is computed there.
    """
    import torch

    positions = x.shape[0] if rows is None else rows.shape[0]
    size = (positions, w.shape[1])
    out = torch.empty(size, dtype=x.dtype, device=x.device) if out is None else out
    expert, start, end = tile_table(ends, positions)
    values = {"X": x, "W": w, "Y": out, "Expert": expert, "Start": start, "End": end}
    launch(kernel.grouped_gemm, (), {**values, "Rows": rows, "Out": scatter})
    return out


def tile_table(
    ends: Tensor, positions: int, rows: int = 128
) -> tuple[Tensor, Tensor, Tensor]:
    """Expert, first and end position of every tile of ``rows`` positions, on device.

    There are as many tiles as any split may need; unused ones have expert -1.
    """
    import torch

    ends = ends.to(torch.int32)
    begins = torch.cat((ends.new_zeros(1), ends[:-1]))
    tiles = (ends - begins + rows - 1) // rows
    last = torch.cumsum(tiles, 0, dtype=torch.int32)
    index = torch.arange(
        positions // rows + ends.shape[0], dtype=torch.int32, device=ends.device
    )
    expert = torch.searchsorted(last, index, right=True, out_int32=True)
    used = expert < ends.shape[0]
    safe = torch.where(used, expert, 0)
    within = index - (last[safe] - tiles[safe])
    start = begins[safe] + within * rows
    return torch.where(used, expert, -1), start, ends[safe]
