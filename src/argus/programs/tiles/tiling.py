"""Which loops of a group are tiles, and how large.

A kernel walks its loops in blocks (rows), in loops (columns), and in tiles of one or
two axes. The vector axis is the one along which most elements lie next to each other.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from argus.ir.dtypes import DType
from argus.layout import WARP_LANES
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.lowering.naming import accessed, fixed_loops
from argus.programs.lowering.tables import chooses, table_in_memory
from argus.programs.tensors.affine import Affine
from argus.programs.tiles.carried_text import pairs_of
from argus.programs.tiles.row_tiling import (
    WARP_ROW,
    by_threads,
    by_warps,
    few_beside,
)
from argus.programs.tiles.tile_axes import (
    FEW_BLOCKS,
    SQUARE,
    GroupTiling,
    TileAxis,
    levels_of,
    power,
    sides,
    tile_size,
)
from argus.programs.tiles.window_products import (
    PIXELS,
    TAPS,
    WindowProduct,
    window_product,
)
from argus.programs.tiles.window_tiling import (
    FEW_TAPS,
    LARGEST_WINDOW,
    read_along,
    windows_tiling,
)

_HELD = 8192
"""Most columns that a block holds in registers."""
_WHOLE = (2048, 1024, 512)
"""Elements of tiles that may divide a row."""
_ROW = 2048
"""Elements of a row of a tile, at most."""
_LONG_ROW = 256
"""Elements for a warp of rows that are read again. As many warps as have registers
fill a multiprocessor with one block: of so few rows at a time L2 has what was read."""
_FEW_HELD, _HELD_EACH = 32, 64
"""Columns that are few, where rows lie across those of memory, and elements of a tile
that a thread holds then: a row is a thread's or two's, and goes through little shared
memory (softmax over 16 channels took 254 us with 4 elements each; 35 are memory's)."""
_LEAST_ALONG = 128
"""Elements of a tile of rows, below which another loop is summed along."""
_LEAST_TILE, _MOST_TILE = 1024, 8192
"""Elements of a tile of rows that are added up, of 256 threads together."""
_MANY_RESULTS, _LOADED_TAPS = 1 << 16, 16
"""Results that fill a device where each is a thread's sum of its own; elements of such
a sum that a thread loads at a time, so that fewer results may do the same."""
_LONG_PART = 256
"""Elements that each result is made of, from which they may be parts of a long row."""
_SHARED, _MOST_ROWS, _FULL = 512, 16, 1024
"""Elements and rows of a tile whose rows share what is read; blocks from which on such
tiles are half as large: more warps would have no registers beside them. (A step of six
LSTMs took 16.5 us with 256 elements, 18.8 with 512, 21.4 with 1024; of two 7.6, 5.5 and
5.8.)"""
_TURNED, _LEAST_ROW = 8192, 8
"""Elements of a tile of rows beside which others lie across them, and of a row of the
latter: sectors of 32 bytes."""
MOST_DIMS = 8
"""Dimensions that a tensor of a kernel may have."""


def _stores_columns(group: LoweredGroup) -> bool:
    return any(s.offset.loops & set(group.columns) for s in group.stores)


def _passes(group: LoweredGroup) -> int:
    """How often the columns are walked, unless a block holds them."""
    return len(levels_of(group)) + _stores_columns(group)


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
    if any(len(t.dims) + t.unit > MOST_DIMS for t in tensors):
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
    windows = [n for n in group.columns if n in fixed and not _of_parts(group, n)]
    if windows and _of_pixels(group, accesses, fixed):
        return _along(group, _vector(group, accesses))
    if len(windows) > 1 or (windows and group.sizes[windows[0]] <= LARGEST_WINDOW):
        return windows_tiling(group, accesses, windows)
    if len(group.columns) > 1 and (_stores_columns(group) or len(levels_of(group)) > 1):
        # Not because of the language: the verifier follows no such nest of sums.
        raise NotFusedError("reductions over several loops that need each other")
    vector = _vector(group, accesses)
    turned = _turned(group, accesses, vector) if vector in group.rows else ""
    if turned:
        return _along(group, turned)
    taps = prod(group.sizes[n] for n in group.columns)
    few = taps <= FEW_TAPS
    few &= not any(r.function.startswith("arg") for r in group.reductions)
    # What tables in memory choose are rows of a tile, not taps.
    few &= not any(table_in_memory(e) for e in group.elements)
    few &= len(levels_of(group)) == 1 and not _stores_columns(group)
    results = prod(group.sizes[n] for n in group.rows)
    able = results >= _MANY_RESULTS or taps <= _LOADED_TAPS
    if vector in group.columns:
        able = read_along(group)
    if few and able:
        return windows_tiling(group, accesses, [])
    if vector in group.columns:
        apart = _compared(group, vector)
        return _across(group, apart) if apart else _along(group, vector)
    rows = [n for n in _vectors(group, accesses) if n in group.rows]
    return _across(group, max(rows, key=lambda n: min(group.sizes[n], SQUARE)))


def _of_parts(group: LoweredGroup, loop: str) -> bool:
    """Whether a column walks long parts of rows, with a border behind the last one.

    They are no windows: none shares elements with another.
    """
    size = group.sizes[loop]
    indices = [b.index for e in group.elements for b in e.borders]
    return prod(group.sizes[n] for n in group.columns) >= _LONG_PART and all(
        abs(factor) >= size * abs(index.factor(loop))
        for index in indices
        if loop in index.loops
        for name, factor in index.terms
        if name in group.rows
    )


def _of_pixels(
    group: LoweredGroup, accesses: list[Affine], fixed: frozenset[str]
) -> bool:
    """Whether what is summed is an image, and each result is of a tap.

    Gradients of filters are so: pixels lie side by side, and are more than taps.
    """
    if len(levels_of(group)) > 1 or _stores_columns(group):
        return False
    if any(r.function not in ("sum", "max", "min") for r in group.reductions):
        return False
    summed = prod(group.sizes[n] for n in group.columns)
    taps = prod(group.sizes[n] for n in group.rows if n in fixed)
    return summed > max(taps, FEW_TAPS) and _vector(group, accesses) in group.columns


def _compared(group: LoweredGroup, vector: str) -> str:
    """A loop of results each of which reads the same along ``vector``; "": none.

    Elements are compared with each of a tile of its positions (ranks, places that a
    table says), so that what was loaded serves all of the tile.
    """
    if not group.rows or group.columns != (vector,) or _stores_columns(group):
        return ""
    reductions = {r.function for r in group.reductions}
    if len(levels_of(group)) > 1 or not reductions <= {"sum", "max", "min"}:
        return ""
    last, depth = group.rows[-1], group.sizes[vector]
    for element in group.elements:
        if element.tables or {last, vector} <= group.pool.free(element):
            return ""
    size = group.sizes[last]
    blocks = prod(group.sizes[n] for n in group.rows[:-1]) * -(-size // _wide(size))
    return last if min(size, depth) >= SQUARE and blocks >= FEW_BLOCKS else ""


def _weights(group: LoweredGroup, accesses: list[Affine]) -> dict[str, int]:
    """How many elements lie next to each other along each loop."""
    weights = dict.fromkeys((*group.rows, *group.columns), 0)
    for access in accesses:
        points = prod(group.sizes[n] for n in access.loops)
        for name, factor in access.terms:
            if factor == 1:
                weights[name] += points
    return weights


def _vectors(group: LoweredGroup, accesses: list[Affine]) -> list[str]:
    """Loops along which most elements lie next to each other; the first is the inner.

    Raises NotFusedError where there is none.
    """
    weights = _weights(group, accesses)
    best = max(weights.values(), default=0)
    names = (*group.columns[::-1], *group.rows[::-1])
    able = [n for n in names if weights[n] == best]
    if not able:
        raise NotFusedError("no loops")
    return able


def _vector(group: LoweredGroup, accesses: list[Affine]) -> str:
    """The inner one of them."""
    return _vectors(group, accesses)[0]


def _maps(group: LoweredGroup, accesses: list[Affine]) -> GroupTiling:
    if not group.rows:
        return GroupTiling((), False, 1)
    vector = _vector(group, accesses)
    size = group.sizes[vector]
    points = prod(group.sizes.values())
    tile = tile_size(points)
    if any(e.tables for e in group.elements):
        return _choosing(group, vector, tile)
    across = [
        name
        for access in accesses
        for name, factor in access.terms
        if factor == 1 and name != vector and access.factor(vector)
    ]  # fmt: skip
    if across and min(size, group.sizes[across[0]]) >= 4:
        other = across[0]
        short = min(SQUARE, power(size))  # a row that is short is one of more of them
        high = min(max(SQUARE, tile // short), power(group.sizes[other]))
        wide = min(max(2 * SQUARE, tile // high), power(size))
        wide = min(wide, 2 * SQUARE) if high == SQUARE else wide
        axes = (TileAxis(other, high), TileAxis(vector, wide))
        return GroupTiling(axes, False, max(1, min(4, high * wide // 128)))
    wide = min(power(size), tile)
    rest = [n for n in group.rows if n != vector]
    if wide < tile and rest:
        other = rest[-1]
        high = min(power(group.sizes[other]), tile // wide)
        if high * wide < tile and len(rest) > 1:
            axes = sides(group, [*rest, vector], tile, tile)
            if len(axes) <= 2 or _stored_so(group, [a.loop for a in axes]):
                filled = prod(a.size for a in axes)
                return GroupTiling(axes, False, max(1, min(4, filled // 128)))
        axes = (TileAxis(other, high), TileAxis(vector, wide))
        return GroupTiling(axes, False, max(1, min(4, high * wide // 128)))
    return GroupTiling((TileAxis(vector, wide),), False, max(1, min(4, wide // 128)))


def _stored_so(group: LoweredGroup, axes: list[str]) -> bool:
    """Whether axes lie in this order wherever a tile is stored: only two are turned."""
    stored = [accessed("", s.buffer, s.offset).loops for s in group.stores]
    return all([n for n in loops if n in axes] == axes for loops in stored)


def _choosing(group: LoweredGroup, vector: str, tile: int) -> GroupTiling:
    """Maps of what tables choose: axes along which each index is one line.

    Raises NotFusedError where no axes are so.
    """
    sizes = group.sizes
    others = [n for n in reversed(group.rows) if n != vector]
    pairs = [(vector,), *((n, vector) for n in others), *((n,) for n in others)]
    if sizes[vector] < tile:  # a row alone does not fill a block
        pairs = [*pairs[1 : len(others) + 1], pairs[0], *pairs[len(others) + 1 :]]
    pairs += [(a, b) for b in others for a in others if a != b]

    def filled(axes: tuple[str, ...]) -> int:
        return min(WARP_LANES, prod(sizes[n] for n in axes))

    able = [p for p in pairs if all(chooses(e, p, group) for e in group.elements)]
    if able:
        axes = max(able, key=filled)  # the first that fills a warp
        wide = min(power(sizes[axes[-1]]), tile)
        high = min(power(sizes[axes[0]]), max(1, tile // wide))
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
    """Scans along the only column, which is walked in tiles."""
    if len({s.reverse for s in group.scans}) > 1:
        raise NotFusedError("scans from both ends")
    (loop,) = group.columns
    vector = _vector(group, accesses)
    if vector == loop or few_beside(group, loop, vector):
        return by_warps(group, loop)
    return by_threads(group, loop, vector)


def _along(group: LoweredGroup, vector: str) -> GroupTiling:
    """Reductions along the vector axis: rows lie next to each other in memory."""
    size = group.sizes[vector]
    levels = levels_of(group)
    passes = _passes(group)
    arg = any(r.function.startswith("arg") for level in levels for r in level)
    single = len(group.columns) == 1
    if arg and not single:
        raise NotFusedError("a position among the elements of several dimensions")
    if arg:
        found = by_warps(group, vector)
        return replace(found, held=size <= WARP_ROW)
    held = single and passes > 1 and size <= _HELD
    # Of several loops the inner one is added up at the end, not in each iteration.
    product = any(r.function == "prod" for level in levels for r in level)
    held |= not single and passes == 1 and size <= _ROW and not product
    wide = power(size) if held else min(power(size), _ROW)
    whole = False
    dividing = max((n for n in _WHOLE if size % n == 0), default=0)
    if single and passes > 1 and size > _HELD and not pairs_of(group, whole=True):
        moved = sum(e.dtype.bits for e in group.elements)
        moved += sum(x.buffer.dtype.bits for x in group.stores)
        warps = 32 if moved <= 96 else 16
        return GroupTiling((TileAxis(vector, _LONG_ROW * warps),), False, warps)
    if not held and pairs_of(group, whole=True):
        whole, wide = dividing > 0, dividing or wide
    rows = prod(group.sizes[n] for n in group.rows)
    high, other = 1, ""
    across = _lies_across(group, vector) if held and passes > 1 else ""
    if across and _TURNED // wide >= _LEAST_ROW:
        high, other = min(SQUARE, _TURNED // wide), across
    elif group.rows and wide < 512:
        high, other = 1024 // wide, group.rows[-1]
        if single and passes == 1:
            high, other, wide = _shared(group, vector, high, other, wide)
    if other:
        high = min(power(group.sizes[other]), high)
        while high > 1 and rows // high < FEW_BLOCKS:
            high //= 2
    longest = max(group.columns, key=group.sizes.__getitem__)
    if high * wide < _LEAST_ALONG and group.sizes[longest] > _LEAST_ALONG > size:
        # Few elements at a time would take as many loads, one after the other.
        return _along(group, longest)
    axes = (TileAxis(vector, wide),)
    if high > 1:
        axes = (TileAxis(other, high), *axes)
    if held and not single:
        most = _HELD if rows // high < FEW_BLOCKS else _ROW
        axes = (*_short_columns(group, vector, high * wide, most), *axes)
    warps = max(1, min(16 if held else 8, prod(a.size for a in axes) // 256))
    return GroupTiling(axes, held, warps, whole=whole)


def _short_columns(
    group: LoweredGroup, vector: str, tile: int, most: int
) -> list[TileAxis]:
    """Further columns of a tile that has few elements: those that are whole in it.

    A loop of them would wait for so few elements in each of its steps.
    """
    found: list[TileAxis] = []
    for loop in reversed([n for n in group.columns if n != vector]):
        size = power(group.sizes[loop])
        if tile * size > most:
            break
        found.insert(0, TileAxis(loop, size))
        tile *= size
    return found


def _shared(
    group: LoweredGroup, vector: str, high: int, other: str, wide: int
) -> tuple[int, str, int]:
    """Rows of a tile, their loop, and columns: others, if far less is read then.

    What does not depend on the loop is read once for all rows of the tile (weights that
    several states are multiplied with).
    """
    sizes = group.sizes
    loops = {(e.buffer, e.offset): e.whole.loops for e in group.elements}
    along = [n for n in loops.values() if vector in n]

    def blocks(row: tuple[int, str]) -> int:
        rows, name = row
        return -(-sizes[name] // rows) * prod(sizes[r] for r in group.rows if r != name)

    def read(row: tuple[int, str]) -> int:
        rows, name = row
        each = min(rows, sizes[name])
        return blocks(row) * sum(each if name in n else 1 for n in along)

    able = [(min(power(sizes[n]), _MOST_ROWS), n) for n in group.rows]
    best = min(able, key=read)
    if 2 * read(best) > read((high, other)):
        return high, other, wide
    elements = _SHARED if blocks(best) < _FULL else _SHARED // 2
    return *best, min(wide, elements // best[0])


def _lies_across(group: LoweredGroup, vector: str) -> str:
    """The row along which a tensor lies that has all columns; "": none.

    A small one, too: each row would read it in sectors of which it needs one element.
    """
    accesses = [e.offset for e in group.elements] + [s.offset for s in group.stores]
    found = [
        n
        for a in accesses
        if a.factor(vector) > 1
        for n, factor in a.terms
        if factor == 1 and n in group.rows
    ]
    return found[0] if found else ""


def _wide(size: int) -> int:
    """Elements of a row that a block takes: many, and few past the end of the row."""
    able = (w for w in (128, 64, 32) if w == 32 or w < 2 * size)
    return min(power(size), min(able, key=lambda w: -(-size // w) * w * (1 + 3 / w)))


def _tile_across(group: LoweredGroup, vector: str, inner: str) -> int:
    """Elements of a tile: as many as are loaded at a time, and held in registers.

    Those of each reduction are held, and those of each tensor that is read along both
    axes; elements of 64 bits count twice.
    """
    held = [r.dtype for r in group.reductions]
    held += [e.dtype for e in group.elements if {inner, vector} <= group.pool.free(e)]
    count = sum(max(1, t.bits // 32) for t in held)
    return max(_LEAST_TILE, _MOST_TILE >> max(0, count - 2).bit_length())


def _turned(group: LoweredGroup, accesses: list[Affine], vector: str) -> str:
    """The column that half of what is moved lies along, if a block holds rows of it.

    The other half lies along `vector` (results that are turned, say): rows are read
    once, and what lies across them goes through shared memory. "": none.
    """
    if len(group.columns) != 1 or _passes(group) < 2:
        return ""
    weights, column = _weights(group, accesses), group.columns[0]
    alike = 8 * weights[column] >= 7 * weights[vector]
    few = power(group.sizes[column]) <= _TURNED // _LEAST_ROW
    return column if alike and few else ""


def _across(group: LoweredGroup, vector: str) -> GroupTiling:
    """Reductions across the vector axis, which belongs to the rows."""
    inner = group.columns[-1]
    if group.sizes[inner] < SQUARE:  # each step of a loop around it waits for elements
        inner = max(reversed(group.columns), key=group.sizes.__getitem__)
    size, depth = group.sizes[vector], group.sizes[inner]
    levels = levels_of(group)
    arg = any(r.function.startswith("arg") for level in levels for r in level)
    others = prod(group.sizes[n] for n in group.rows if n != vector)
    passes = _passes(group)
    wide = _wide(size)
    while wide > 32 and others * -(-size // wide) < FEW_BLOCKS:
        wide //= 2
    high = min(power(depth), max(1, _tile_across(group, vector, inner) // wide))
    if len(group.columns) == 1 and passes > 1 and power(depth) * 32 <= _HELD:
        # Read once: a block holds as many elements of a row as it needs columns.
        high = power(depth)
        while wide > 32 and high * wide > _HELD:
            wide //= 2
    if arg and len(group.columns) > 1:
        raise NotFusedError("a position among the elements of several dimensions")
    if arg and all(r.body.dtype.is_float for level in levels for r in level):
        found = by_threads(group, inner, vector)
        return replace(found, held=found.axes[0].size >= depth)
    if arg:  # the verifier follows no place of whole numbers that a loop carries
        if depth > 1024:
            raise NotFusedError("a position among more elements than a block holds")
        wide = min(wide, max(4, _HELD // power(depth)))
        high = power(depth)
    held = arg or (len(group.columns) == 1 and high >= depth and passes > 1)
    each = _HELD_EACH if held and high <= _FEW_HELD else 4
    warps = max(1, min(8, high * wide // (32 * each)))
    return GroupTiling((TileAxis(inner, high), TileAxis(vector, wide)), held, warps)
