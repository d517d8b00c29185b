"""Tiles of rows that are taken in order: scans, and places of extremes.

What comes before what is decided within a warp or a thread, so that nothing waits for
other warps in the loop.
"""

from __future__ import annotations

from math import prod

from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.tiles.tile_axes import FEW_BLOCKS, GroupTiling, TileAxis, power

WARP_ROW = 1024
"""Columns that a warp scans at a time, or among which it looks for an extreme."""
_FEW_BESIDE = 16
"""Rows side by side that leave most of a warp idle."""
_DEEP = 16
"""Of columns that are in each thread's registers: elements that it reads together."""


def by_warps(group: LoweredGroup, loop: str) -> GroupTiling:
    """Columns along the vector axis, of which each row is a warp's."""
    size = group.sizes[loop]
    wide = min(power(size), WARP_ROW)
    rows = prod(group.sizes[n] for n in group.rows)
    high = 1
    if group.rows:
        high = min(power(group.sizes[group.rows[-1]]), max(4, WARP_ROW // wide))
        while high > 1 and rows // high < FEW_BLOCKS:
            high //= 2
    axes = (TileAxis(loop, wide),)
    if high > 1:
        axes = (TileAxis(group.rows[-1], high), *axes)
    return GroupTiling(axes, False, min(4, high))


def few_beside(group: LoweredGroup, loop: str, vector: str) -> bool:
    """Whether rows that lie across memory are so few and long that warps have them.

    A thread would take in one element after the other, and a warp's threads lie idle.
    """
    rows = prod(group.sizes[n] for n in group.rows)
    few = rows <= 4 * FEW_BLOCKS and group.sizes[vector] <= _FEW_BESIDE
    return few and group.sizes[loop] > _DEEP


def by_threads(group: LoweredGroup, loop: str, vector: str) -> GroupTiling:
    """Columns across the vector axis, of which each row is a thread's."""
    size = group.sizes[vector]
    others = prod(group.sizes[n] for n in group.rows if n != vector)
    read = [e.dtype.bytes for e in group.elements]
    written = [s.buffer.dtype.bytes for s in group.stores]
    vectors = max(1, 4 // max(read or written))  # a scan of numbers reads nothing
    wide = min(power(size), 128 * vectors)
    while wide > 32 * vectors and others * -(-size // wide) < FEW_BLOCKS:
        wide //= 2
    axes = (
        TileAxis(loop, min(power(group.sizes[loop]), _DEEP)),
        TileAxis(vector, wide),
    )
    warps = max(1, wide // (32 * vectors))
    return GroupTiling(axes, False, warps, vectors=min(vectors, wide))
