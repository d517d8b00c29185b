"""Axes of tiles: which loops of a group are walked several elements at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.programs.lowering.expressions import ExpressionNode, ReduceNode, parts_of
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.tiles.sliding import SlidingRow
from argus.programs.tiles.window_products import WindowProduct

TILE = 1024
"""Elements of a tile of maps: eight for each of 128 threads."""
SQUARE = 32
"""Sides of a tile that some access walks along the other axis."""
FEW_BLOCKS = 264
"""Two for each multiprocessor of an H100 or H200."""
_SECTOR = 32
"""Bytes that memory moves together: a row of a tile has as many, or they are wasted."""


@dataclass(frozen=True)
class TileAxis:
    """A loop that is an axis of tiles: ``size`` elements at a time."""

    loop: str
    size: int


@dataclass(frozen=True)
class GroupTiling:
    """Axes of tiles, the vector axis last.

    ``held``: columns that are axes are whole in a tile. ``taps``: columns of few
    indices that are walked one by one, in loops that are unrolled. ``vectors``:
    elements of a thread along the vector axis, where all threads lie along it; 0:
    placing decides. ``whole``: tiles divide the columns, of which reductions that need
    each other are found in one walk. ``resident``: blocks that must fit a
    multiprocessor at one time. ``slide``: rows that threads hold, of which results and
    taps are slices.
    """

    axes: tuple[TileAxis, ...]
    held: bool
    warps: int
    product: WindowProduct | None = None
    taps: tuple[str, ...] = ()
    vectors: int = 0
    whole: bool = False
    resident: int = 1
    slide: SlidingRow | None = None

    def size(self, loop: str) -> int | None:
        """The size of a loop's axis; None where it is none."""
        return next((a.size for a in self.axes if a.loop == loop), None)


def power(n: int) -> int:
    """The least power of two that is no less."""
    return 1 << max(0, n - 1).bit_length()


def tile_size(points: int) -> int:
    """Elements of a tile, of so many results: fewer where there are few."""
    tile = TILE
    while tile > 256 and points // tile < FEW_BLOCKS:
        tile //= 2
    return tile


def sides(
    group: LoweredGroup, loops: Sequence[str], tile: int, longest: int
) -> tuple[TileAxis, ...]:
    """As many of the loops, the last one first, as make a tile of so many elements."""
    axes: list[TileAxis] = []
    points = 1
    for loop in reversed(loops):
        least = 1 if axes else _sector(group, loop)
        side = _side(group.sizes[loop], min(tile // points, longest), least)
        if side > 1:
            axes.insert(0, TileAxis(loop, side))
            points *= side
    return tuple(axes)


def _sector(group: LoweredGroup, loop: str) -> int:
    """Results along a loop of which the elements that are read fill a sector."""
    found = [
        e.dtype.bytes * step
        for e in group.elements
        if (step := e.whole.factor(loop)) > 0 and e.dtype.bits >= 8
    ]
    return max(1, _SECTOR // min(found, default=_SECTOR // 8))


def _side(size: int, most: int, least: int) -> int:
    """The largest power of two that leaves no more than a fifth of a side empty.

    Where none is: of those that are not too small, one that leaves least.
    """
    largest = min(power(size), most)
    able = [largest >> k for k in range(largest.bit_length())]
    able = [s for s in able if s >= least] or [largest]
    filled = {s: -(-size // s) * s for s in able}
    full = [s for s in able if 4 * filled[s] <= 5 * size]
    return full[0] if full else min(able, key=filled.__getitem__)


def levels_of(group: LoweredGroup) -> list[list[ReduceNode]]:
    """Reductions in the order of their computation: each list needs those before."""
    depth: dict[ExpressionNode, int] = {}
    levels: list[list[ReduceNode]] = []
    for node in group.nodes:
        below = max((depth[p] for p in parts_of(node)), default=0)
        if isinstance(node, ReduceNode):
            if below == len(levels):
                levels.append([])
            levels[below].append(node)
            below += 1
        depth[node] = below
    return levels
