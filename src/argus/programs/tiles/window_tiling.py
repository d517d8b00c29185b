"""Tiles of reductions over windows: tap after tap, of results that lie side by side.

The axes are those along which windows are read next to each other, so that what a warp
reads at one tap is side by side, and where results lie along another loop, that one:
results then go through shared memory.
"""

from __future__ import annotations

from math import prod

from argus.layout import WARP_LANES
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.sliding import sliding_row
from argus.programs.tiles.tile_axes import (
    SQUARE,
    TILE,
    GroupTiling,
    TileAxis,
    levels_of,
    power,
    sides,
    tile_size,
)

FEW_TAPS = 64
"""Elements that a tile of results adds up one after the other, in unrolled loops."""
LARGEST_WINDOW = 4096
"""Most elements of a tile that holds windows."""
_APART = 4
"""Elements between results' windows from which a row of a window is an axis."""
_SMALL = 8
"""How many times fewer elements a tensor has that counts for nothing beside another."""
_LEAST_ACROSS = 4
"""Results along a loop, below which another one is no worse for storing."""
_LONGEST = 256
_EACH, _MANY_TAPS = 8, 16
"""Results of a thread, and taps from which they are half as many: each tap of each
result is a load in flight, which needs a register. (Of 16 bits two of them share one.)
"""
_HALF = 16
"""Bits of elements of which a register holds two."""
_RESIDENT = 32
"""Warps of a multiprocessor that there is room for then, with 64 registers a thread."""


def windows_tiling(
    group: LoweredGroup, accesses: list[Affine], windows: list[str]
) -> GroupTiling:
    """Tiles of reductions over ``windows``, and over other columns tap by tap.

    Where windows are far apart, a row of one is an axis: else little of what is read
    together would be used. Raises NotFusedError where a kernel cannot walk the group.
    """
    if len(levels_of(group)) > 1 or _stores(group) & set(group.columns):
        raise NotFusedError("reductions over several loops that need each other")
    functions = {r.function for r in group.reductions}
    if len(group.columns) > 1 and any(f.startswith("arg") for f in functions):
        raise NotFusedError("a position among the elements of several dimensions")
    vector = read_along(group) or _side_by_side(group, accesses)
    slide = sliding_row(group, vector)
    if slide is not None:
        wide = TileAxis(vector, WARP_LANES * slide.vector)
        axes = (TileAxis(slide.loop, slide.results), wide)
        return GroupTiling(axes, True, 1, vectors=slide.vector, slide=slide)
    points = {a: prod(group.sizes[n] for n in a.loops) for a in accesses}
    least = max(points.values()) / _SMALL
    whole = windows if any(f.startswith("arg") for f in functions) else [
        n
        for access in accesses
        if points[access] >= least  # filters are read again, wherever they lie
        if access.factor(vector) > _APART or vector == ""
        for n in access.loops & set(windows)
        if access.factor(n) == 1 or vector == ""
    ]  # fmt: skip
    rest = [n for n in group.rows if n != vector]
    for element in group.elements:
        loops = {n for b in element.borders for n in b.index.loops}
        loops |= element.offset.loops
        if element.borders and not loops & {vector, *rest[-1:], *whole}:
            whole = windows  # one number of it cannot lie outside
    taps = tuple(n for n in group.columns if n not in whole)
    steps = prod(group.sizes[n] for n in taps)
    each = _EACH if steps < _MANY_TAPS or _pairs(group, vector) else _EACH // 2
    axes = [TileAxis(n, power(group.sizes[n])) for n in windows if n in whole]
    axes += _of_rows(group, vector, prod(a.size for a in axes))
    points = prod(a.size for a in axes)
    warps = max(1, min(8, points // (32 * each)))
    if steps > FEW_TAPS:
        return GroupTiling(tuple(axes), True, warps)
    resident = 1 if each == _EACH else _RESIDENT // warps
    return GroupTiling(tuple(axes), True, warps, taps=taps, resident=resident)


def _of_rows(group: LoweredGroup, vector: str, window: int) -> list[TileAxis]:
    """Axes of results, of which each holds so many elements of a window."""
    if window > LARGEST_WINDOW:
        raise NotFusedError("windows of more elements than a block holds")
    if not vector:
        return []
    sizes, rest = group.sizes, [n for n in group.rows if n != vector]
    if window > 1:
        wide = min(power(sizes[vector]), LARGEST_WINDOW // window, 64)
        found = [TileAxis(vector, wide)]
        if rest and window * wide < TILE:
            high = min(power(sizes[rest[-1]]), TILE // (window * wide))
            found.insert(0, TileAxis(rest[-1], high))
        return found
    tile = tile_size(prod(sizes[n] for n in group.rows))
    across = stored_across(group, vector)
    if across:
        wide = min(SQUARE, power(sizes[vector]))
        high = min(power(sizes[across]), max(SQUARE, tile // wide))
        return [TileAxis(across, high), TileAxis(vector, wide)]
    axes = list(sides(group, [*rest, vector], tile, _LONGEST))
    if len(axes) > 2:  # no tile of many axes is turned before it is stored
        axes.sort(key=lambda a: group.rows.index(a.loop))
    return axes


def _pairs(group: LoweredGroup, vector: str) -> bool:
    """Whether all that is read next to each other are 16 bits, several at a time."""
    found = [e for e in group.elements if vector in e.whole.loops]
    return bool(found) and all(
        e.dtype.bits <= _HALF
        and e.whole.factor(vector) == 1
        and all(vector not in b.index.loops for b in e.borders)
        for e in found
    )


def _stores(group: LoweredGroup) -> frozenset[str]:
    return frozenset[str]().union(*(s.offset.loops for s in group.stores))


def read_along(group: LoweredGroup) -> str:
    """The row loop along which windows are next to each other; "" where none is."""
    weights = dict.fromkeys(group.rows, 0)
    for element in group.elements:
        access = element.whole
        near = [n for n in group.rows if 0 < access.factor(n) <= _APART]
        if near and access.loops & set(group.columns):
            weights[min(reversed(near), key=access.factor)] += len(access.loops)
    best = max(reversed(group.rows), key=weights.__getitem__, default="")
    return best if best and weights[best] else ""


def stored_across(group: LoweredGroup, vector: str) -> str:
    """The loop along which results lie, but windows are not read; "": none."""
    along = {n for s in group.stores for n, c in s.offset.terms if c == 1}
    if len(along) != 1 or vector in along:
        return ""
    (found,) = along
    few = min(group.sizes[found], group.sizes[vector]) < _LEAST_ACROSS
    return "" if few else found


def _side_by_side(group: LoweredGroup, accesses: list[Affine]) -> str:
    """The row loop along which most tensors lie side by side; "" without rows."""
    weights = dict.fromkeys(group.rows, 0)
    for access in accesses:
        for name, factor in access.terms:
            if name in weights and factor == 1:
                weights[name] += 1
    return max(reversed(group.rows), key=weights.__getitem__, default="")
