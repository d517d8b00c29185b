"""Grouped products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.dispatch import Buffer, Dispatch, GivenTensor, LaunchSequence, LaunchStep
from argus.kernels.grouped import kernel
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2, Tensor3

__all__ = ["grouped_gemm", "tile_table"]

_ROW = 4
"""Entries of a table that take 16 bytes, which its rows begin at multiples of."""
_TILE = 128
"""Rows of a tile of `grouped_gemm`, which has one expert."""


def grouped_gemm(
    x: Tensor2,
    w: Tensor3,
    ends: Tensor1,
    rows: Tensor1 | None = None,
    scatter: Tensor1 | None = None,
    out: Tensor2 | None = None,
) -> Tensor:
    """Per-expert product: positions up to ``ends[e]`` use ``w[e]`` (E, N, K).

    Position p reads row ``rows[p]`` of x (R, K) and writes row ``scatter[p]`` of the
    result (P, N); without tables, row p. ``ends`` (E,) integers, ascending. Nothing
    waits for the device: the tile table is computed there.
    """
    if out is None:
        out = x.new_empty((_positions(x, rows), w.shape[1]))
    _multiply((x, w, out, _whole(ends), rows, scatter))
    return out


def tile_table(
    ends: Tensor1, positions: int, rows: int = _TILE
) -> tuple[Tensor, Tensor, Tensor]:
    """Expert, first and end position of every tile of ``rows`` positions, on device.

    There are as many tiles as any split may need, or a few more; unused ones have
    expert -1.
    """
    ends = _whole(ends)
    tiles = _tiles(positions, ends.shape[0], rows)
    expert, start, end = ends.new_empty((3, tiles)).unbind()
    _tabulate((ends, expert, start, end), rows)
    return expert, start, end


def _whole(ends: Tensor) -> Tensor:
    """Positions as kernels read them."""
    import torch

    if ends.dtype == torch.int32 and ends.is_contiguous():
        return ends
    return ends.to(torch.int32).contiguous()


def _positions(x: Tensor, rows: Tensor | None) -> int:
    return x.shape[0] if rows is None else rows.shape[0]


def _tiles(positions: int, experts: int, rows: int) -> int:
    return -(-(positions // rows + experts) // _ROW) * _ROW


def _choose(
    x: Tensor,
    w: Tensor,
    out: Tensor,
    ends: Tensor,
    rows: Tensor | None,
    scatter: Tensor | None,
) -> LaunchSequence:
    """A table of tiles, which is memory of the call, and the product by it."""
    tiles = _tiles(_positions(x, rows), ends.shape[0], _TILE)
    table = [Buffer("i32", (tiles,)) for _ in range(3)]
    operands = [GivenTensor(i) for i in range(3)]
    ways = [
        None if given is None else GivenTensor(i)
        for i, given in ((4, rows), (5, scatter))
    ]
    return LaunchSequence(
        (
            LaunchStep(kernel.tile_table, (GivenTensor(3), *table), {"BM": _TILE}),
            LaunchStep(kernel.grouped_gemm, (*operands, *table, *ways), {}),
        )
    )


def _choose_table(
    ends: Tensor, expert: Tensor, start: Tensor, end: Tensor, rows: int
) -> tuple[Kernel, dict[str, object]]:
    return kernel.tile_table, {"BM": rows}


_multiply = Dispatch(_choose)
_tabulate = Dispatch(_choose_table)
