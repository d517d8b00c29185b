"""Where padding lies in the rows of a tile: its elements along one axis."""

from __future__ import annotations

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import binary
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import Coord, Tag
from argus.verify.verdict import Verdict

__all__ = ["along_rows", "ends_rows"]


def along_rows(state: WalkState, tile: o.Tile, axis: int, where: Tag) -> bool:
    """Whether a coordinate is the same along an axis of a tile."""
    if not isinstance(where, Coord):
        return False
    table = state.table(tile)
    index = tuple(table[:, :, i] for i in range(len(tile.shape)))
    whole = np.zeros(tile.shape, np.int64)
    whole[index] = where.offs
    rows = np.moveaxis(whole, axis, -1)
    return bool((rows == rows[..., :1]).all())


def ends_rows(state: WalkState, tile: o.Tile, axis: int, where: Tag) -> bool:
    """Whether elements that do not exist come after those that do, along an axis.

    ``where``: their coordinate, which is that of a `Hole`.
    """
    if not isinstance(where, Coord):
        return False
    table = state.table(tile)[:, :, axis]
    if (where.offs - table != where.offs.flat[0] - table.flat[0]).any():
        return False
    low = binary("+", where.base, int(where.offs.min()))
    return state.scope.decide(binary(">=", low, 0)).verdict is Verdict.PROVED
