"""Which loops of a group are tiles, and how large.

A kernel walks its loops in blocks (rows), in loops (columns), and in tiles of one or
two axes. The vector axis is the one along which most elements lie next to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from argus.ir.dtypes import DType
from argus.programs.affine import Affine
from argus.programs.expressions import (
    ExpressionNode,
    PositionNode,
    ReduceNode,
    parts_of,
    walked,
)
from argus.programs.lowering import LoweredGroup, NotFusedError
from argus.programs.naming import accessed, fixed_loops
from argus.programs.tables import chooses
from argus.programs.window_products import (
    PIXELS,
    TAPS,
    WindowProduct,
    window_product,
)

_TILE = 1024
"""Elements of a tile of maps: eight for each of 128 threads."""
_SQUARE = 32
"""Sides of a tile that some access walks along the other axis."""
FEW_BLOCKS = 264
"""Two for each multiprocessor of an H100 or H200."""
_HELD = 8192
"""Most columns that a block holds in registers."""
_HELD_ARG = 16384
_ROW = 2048
"""Elements of a row of a tile, at most."""
_LEAST_SIDE = 16
"""Elements of a row of a tile that are 64 bytes, below which sectors are wasted."""
_FEW_TAPS = 64
"""Elements that a tile of results adds up one after the other."""
_APART = 4
"""Elements between results' windows from which a row of a window is an axis."""
_MOST_DIMS = 8
"""Dimensions that a tensor of a kernel may have."""
_WINDOW = 4096
"""Most elements of a tile that holds windows."""


@dataclass(frozen=True)
class TileAxis:
    """A loop that is an axis of tiles: ``size`` elements at a time."""

    loop: str
    size: int


@dataclass(frozen=True)
class GroupTiling:
    """Axes of tiles, the vector axis last.

    ``held``: columns that are axes are whole in a tile.
    """

    axes: tuple[TileAxis, ...]
    held: bool
    warps: int
    product: WindowProduct | None = None

    def size(self, loop: str) -> int | None:
        """The size of a loop's axis; None where it is none."""
        return next((a.size for a in self.axes if a.loop == loop), None)


def _power(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


def _stores_columns(group: LoweredGroup) -> bool:
    return any(s.offset.loops & set(group.columns) for s in group.stores)


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


def tiling_of(group: LoweredGroup) -> GroupTiling:
    """How a group is walked. Raises NotFusedError where a kernel cannot walk it."""
    accesses = [e.offset for e in group.elements] + [s.offset for s in group.stores]
    accesses += [
        b.index * b.stride + e.offset for e in group.elements for b in e.borders
    ]
    tensors = [accessed("", s.buffer, s.offset) for s in group.stores]
    tensors += [
        accessed("", e.buffer, e.offset, e.borders, e.tables) for e in group.elements
    ]
    if any(len(t.dims) + t.unit > _MOST_DIMS for t in tensors):
        raise NotFusedError("more dimensions than a tensor of a kernel has")
    if not group.columns:
        if not any(e.tables for e in group.elements):
            accesses = [e.whole for e in group.elements]
            accesses += [s.offset for s in group.stores]
        return _maps(group, accesses)
    found = _reducing(group, accesses)
    axes = [a.loop for a in found.axes]
    if not all(chooses(e, axes, group) for e in group.elements):
        raise NotFusedError("what a table chooses lies along an axis of its own")
    return found


def _reducing(group: LoweredGroup, accesses: list[Affine]) -> GroupTiling:
    if group.flat:
        product = window_product(group)
        assert product is not None
        return _product(group, product)
    if group.scans:
        return _scan(group, accesses)
    fixed = fixed_loops(group)
    windows = [n for n in group.columns if n in fixed]
    if len(windows) > 1 or (windows and group.sizes[windows[0]] <= _WINDOW):
        return _windows(group, accesses, windows)
    if len(group.columns) > 1 and (_stores_columns(group) or len(levels_of(group)) > 1):
        # Not because of the language: the verifier follows no such nest of sums.
        raise NotFusedError("reductions over several loops that need each other")
    vector = _vector(group, accesses)
    if vector in group.columns:
        return _along(group, vector)
    few = prod(group.sizes[n] for n in group.columns) <= _FEW_TAPS
    few &= not any(r.function.startswith("arg") for r in group.reductions)
    few &= not any(e.tables for e in group.elements)  # rows of a tile, not taps
    if few and len(levels_of(group)) == 1 and not _stores_columns(group):
        return _windows(group, accesses, [])
    return _across(group, vector)


def _vector(group: LoweredGroup, accesses: list[Affine]) -> str:
    """The loop along which most elements lie next to each other."""
    weights = dict.fromkeys((*group.rows, *group.columns), 0)
    for access in accesses:
        points = prod(group.sizes[n] for n in access.loops)
        for name, factor in access.terms:
            if factor == 1:
                weights[name] += points
    best = max(weights.values(), default=0)
    for name in (*group.columns[::-1], *group.rows[::-1]):
        if weights[name] == best:
            return name
    raise NotFusedError("no loops")


def _maps(group: LoweredGroup, accesses: list[Affine]) -> GroupTiling:
    if not group.rows:
        return GroupTiling((), False, 1)
    vector = _vector(group, accesses)
    size = group.sizes[vector]
    points = prod(group.sizes.values())
    tile = _TILE
    while tile > 256 and points // tile < FEW_BLOCKS:
        tile //= 2
    if any(e.tables for e in group.elements):
        return _choosing(group, vector, tile)
    across = [
        name
        for access in accesses
        for name, factor in access.terms
        if factor == 1 and name != vector and access.factor(vector)
        and 4 * prod(group.sizes[n] for n in access.loops) >= points
    ]  # fmt: skip
    if across and min(size, group.sizes[across[0]]) >= 4:
        other = across[0]
        high = min(_SQUARE, _power(group.sizes[other]))
        wide = min(max(2 * _SQUARE, tile // high), _power(size))
        wide = min(wide, 2 * _SQUARE) if high == _SQUARE else wide
        axes = (TileAxis(other, high), TileAxis(vector, wide))
        return GroupTiling(axes, False, 4)
    wide = min(_power(size), tile)
    rest = [n for n in group.rows if n != vector]
    if wide < tile and rest:
        other = rest[-1]
        high = min(_power(group.sizes[other]), tile // wide)
        if high * wide < tile and len(rest) > 1:
            return _of_short_rows(group, [*rest, vector], tile)
        axes = (TileAxis(other, high), TileAxis(vector, wide))
        return GroupTiling(axes, False, max(1, min(4, high * wide // 128)))
    return GroupTiling((TileAxis(vector, wide),), False, max(1, min(4, wide // 128)))


def _of_short_rows(group: LoweredGroup, loops: list[str], tile: int) -> GroupTiling:
    """Maps of rows that are short, of which several dimensions make a tile.

    A side is the largest power of two that leaves no more than a fifth of it empty.
    """
    axes: list[TileAxis] = []
    points = 1
    for loop in reversed(loops):
        size = group.sizes[loop]
        side = min(_power(size), tile // points)
        while side > _LEAST_SIDE and 4 * -(-size // side) * side > 5 * size:
            side //= 2
        if side > 1:
            axes.insert(0, TileAxis(loop, side))
            points *= side
    return GroupTiling(tuple(axes), False, max(1, min(4, points // 128)))


def _choosing(group: LoweredGroup, vector: str, tile: int) -> GroupTiling:
    """Maps of what tables choose: axes along which each index is one line.

    Raises NotFusedError where no axes are so.
    """
    sizes = group.sizes
    others = [n for n in reversed(group.rows) if n != vector]
    pairs = [(vector,), *((n, vector) for n in others), *((n,) for n in others)]
    if sizes[vector] < tile:  # a row alone does not fill a block
        pairs = [*pairs[1 : len(others) + 1], pairs[0], *pairs[len(others) + 1 :]]
    for axes in pairs:
        if all(chooses(e, axes, group) for e in group.elements):
            wide = min(_power(sizes[axes[-1]]), tile)
            high = min(_power(sizes[axes[0]]), max(1, tile // wide))
            made = (TileAxis(axes[-1], wide),)
            if len(axes) > 1:
                made = (TileAxis(axes[0], high), *made)
            points = prod(a.size for a in made)
            return GroupTiling(made, False, max(1, min(4, points // 128)))
    raise NotFusedError("what several tables choose lies along one axis")


def _taps(count: int, dtype: DType) -> int:
    """Taps of a step: all of steps that the instruction takes, where they divide."""
    step = 32 // dtype.bytes
    return next((n for n in (32, 16, 8) if count % n == 0 and n >= step), 32)


def _product(group: LoweredGroup, product: WindowProduct) -> GroupTiling:
    """A block's tile of output channels and pixels, and taps at a time."""
    pixels = group.sizes[PIXELS]
    axes = (
        TileAxis(product.row, 64 if group.sizes[product.row] > 32 else 32),
        TileAxis(PIXELS, 128 if pixels > 64 else 64),
        TileAxis(TAPS, _taps(group.sizes[TAPS], product.image.dtype)),
    )
    return GroupTiling(axes, False, 4, product)


def _scan(group: LoweredGroup, accesses: list[Affine]) -> GroupTiling:
    """Running sums along the only column, which is walked in tiles."""
    (loop,) = group.columns
    wide = min(_power(group.sizes[loop]), 1024)
    if not group.rows:
        return GroupTiling((TileAxis(loop, wide),), False, max(1, wide // 256))
    vector = _vector(group, accesses)
    if vector == loop:
        rows = prod(group.sizes[n] for n in group.rows)
        high = min(_power(group.sizes[group.rows[-1]]), max(1, 2048 // wide))
        while high > 1 and rows // high < FEW_BLOCKS:
            high //= 2
        axes = (TileAxis(group.rows[-1], high), TileAxis(loop, wide))
        axes = axes if high > 1 else axes[1:]
        return GroupTiling(axes, False, max(1, min(4, high * wide // 256)))
    side = min(_power(group.sizes[vector]), 32)
    axes = (TileAxis(loop, min(wide, 64)), TileAxis(vector, side))
    return GroupTiling(axes, False, max(1, min(4, side * axes[0].size // 256)))


def _windows(
    group: LoweredGroup, accesses: list[Affine], windows: list[str]
) -> GroupTiling:
    """Reductions over windows: tap after tap, of results that lie side by side.

    Where windows are far apart, a row of one is an axis: else little of what is read
    together would be used.
    """
    if len(levels_of(group)) > 1 or _stores_columns(group):
        raise NotFusedError("reductions over several loops that need each other")
    for node in walked([r.body for r in group.reductions]):
        if isinstance(node, PositionNode) and node.index.loops & set(windows):
            raise NotFusedError("a condition on positions inside of windows")
    functions = {r.function for r in group.reductions}
    if len(group.columns) > 1 and any(f.startswith("arg") for f in functions):
        raise NotFusedError("a position among the elements of several dimensions")
    vector = _side_by_side(group, accesses)
    whole = windows if any(f.startswith("arg") for f in functions) else [
        n
        for access in accesses
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
    axes = [TileAxis(n, _power(group.sizes[n])) for n in windows if n in whole]
    window = prod(a.size for a in axes)
    if window > _WINDOW:
        raise NotFusedError("windows of more elements than a block holds")
    if vector:
        wide = min(_power(group.sizes[vector]), max(1, _WINDOW // window))
        wide = min(wide, 64 if axes else 256)
        if rest and window * wide < _TILE:
            high = min(_power(group.sizes[rest[-1]]), _TILE // (window * wide))
            axes.append(TileAxis(rest[-1], high))
        axes.append(TileAxis(vector, wide))
    points = prod(a.size for a in axes)
    return GroupTiling(tuple(axes), True, max(1, min(8, points // 256)))


def _side_by_side(group: LoweredGroup, accesses: list[Affine]) -> str:
    """The row loop along which most tensors lie side by side; "" without rows."""
    weights = dict.fromkeys(group.rows, 0)
    for access in accesses:
        for name, factor in access.terms:
            if name in weights and factor == 1:
                weights[name] += 1
    return max(reversed(group.rows), key=weights.__getitem__, default="")


def _along(group: LoweredGroup, vector: str) -> GroupTiling:
    """Reductions along the vector axis: rows lie next to each other in memory."""
    size = group.sizes[vector]
    levels = levels_of(group)
    passes = len(levels) + any(
        s.offset.loops & set(group.columns) for s in group.stores
    )
    arg = any(r.function.startswith("arg") for level in levels for r in level)
    single = len(group.columns) == 1
    held = single and ((passes > 1 and size <= _HELD) or arg)
    # Of several loops the inner one is added up at the end, not in each iteration.
    product = any(r.function == "prod" for level in levels for r in level)
    held |= not single and passes == 1 and size <= _ROW and not product
    if arg and (not single or size > _HELD_ARG):
        raise NotFusedError("a position among more elements than a block holds")
    wide = _power(size) if held else min(_power(size), _ROW)
    rows = prod(group.sizes[n] for n in group.rows)
    high = 1
    if group.rows and wide < 512:
        other = group.sizes[group.rows[-1]]
        high = min(_power(other), 1024 // wide)
        while high > 1 and rows // high < FEW_BLOCKS:
            high //= 2
    warps = max(1, min(16 if held else 8, high * wide // 256))
    axes = (TileAxis(vector, wide),)
    if high > 1:
        axes = (TileAxis(group.rows[-1], high), *axes)
    return GroupTiling(axes, held, warps)


def _across(group: LoweredGroup, vector: str) -> GroupTiling:
    """Reductions across the vector axis, which belongs to the rows."""
    inner = group.columns[-1]
    size, depth = group.sizes[vector], group.sizes[inner]
    levels = levels_of(group)
    arg = any(r.function.startswith("arg") for level in levels for r in level)
    others = prod(group.sizes[n] for n in group.rows if n != vector)
    wide = min(_power(size), 128)
    while wide > 32 and others * -(-size // wide) < FEW_BLOCKS:
        wide //= 2
    high = min(_power(depth), max(1, 1024 // wide))
    if arg:
        if len(group.columns) > 1 or depth > 1024:
            raise NotFusedError("a position among more elements than a block holds")
        wide = min(wide, max(4, _HELD // _power(depth)))
        high = _power(depth)
    passes = len(levels) + any(
        s.offset.loops & set(group.columns) for s in group.stores
    )
    held = arg or (len(group.columns) == 1 and high >= depth and passes > 1)
    warps = max(1, min(8, high * wide // 128))
    return GroupTiling((TileAxis(inner, high), TileAxis(vector, wide)), held, warps)
