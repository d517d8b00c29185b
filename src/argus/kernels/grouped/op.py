"""Grouped products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.dispatch import Dispatch
from argus.kernels.grouped import kernel
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["grouped_gemm", "tile_table"]

_ROW = 4
"""Entries of a table that take 16 bytes, which its rows begin at multiples of."""


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
    result (P, N); without tables, row p. ``ends`` (E,) integers, ascending. Nothing
    waits for the device: the tile table is computed there.
    """
    positions = x.shape[0] if rows is None else rows.shape[0]
    if out is None:
        out = x.new_empty((positions, w.shape[1]))
    expert, start, end = tile_table(ends, positions)
    _multiply((x, w, out, expert, start, end, rows, scatter))
    return out


def tile_table(
    ends: Tensor, positions: int, rows: int = 128
) -> tuple[Tensor, Tensor, Tensor]:
    """Expert, first and end position of every tile of ``rows`` positions, on device.

    There are as many tiles as any split may need, or a few more; unused ones have
    expert -1.
    """
    import torch

    ends = ends.to(torch.int32).contiguous()
    tiles = -(-(positions // rows + ends.shape[0]) // _ROW) * _ROW
    expert, start, end = ends.new_empty((3, tiles)).unbind()
    _tabulate((ends, expert, start, end), rows)
    return expert, start, end


def _choose(*values: Tensor | None) -> tuple[Kernel, dict[str, object]]:
    return kernel.grouped_gemm, {}


def _choose_table(
    ends: Tensor, expert: Tensor, start: Tensor, end: Tensor, rows: int
) -> tuple[Kernel, dict[str, object]]:
    return kernel.tile_table, {"BM": rows}


_multiply = Dispatch(_choose)
_tabulate = Dispatch(_choose_table)
