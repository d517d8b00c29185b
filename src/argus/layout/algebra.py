"""The layout algebra: composition, complement, inverses, divisions, products.

    composition(A, B)        c -> A(B(c))
    complement(A, n)         the offsets below n that A leaves out, as a layout
    right_inverse(A)         R with A(R(i)) == i, as far as A has no gaps
    left_inverse(A)          L with L(A(i)) == i
    logical_divide(A, B)     (tile, rest): A read tile by tile, each tile picked by B
    logical_product(A, B)    (tile, copies): A repeated, the copies arranged by B

A tiler is an int (that many consecutive elements), a layout, or a tuple of tilers, one
for each of the first modes.

Every function returns a layout for which its law holds on every index, or raises
ValueError: an inadmissible composition or complement is refused, and nothing is
rounded up except `complement` (which says so). Laws: `tests/layout/`. The algebra is
CuTe's (C. Cecka, "CuTe Layout Representation and Algebra", arXiv:2603.02298); its
admissibility conditions are checked here instead of assumed.
"""

from __future__ import annotations

from typing import TypeAlias

from argus.layout.layout import Layout

__all__ = [
    "Tiler",
    "blocked_product",
    "complement",
    "composition",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "raked_product",
    "right_inverse",
    "tiled_divide",
    "zipped_divide",
]

Tiler: TypeAlias = "int | Layout | tuple[Tiler, ...]"


def composition(outer: Layout, inner: Layout) -> Layout:
    """Layout c -> outer(inner(c)), with the modes of `inner` (its leaves may nest).

    A leaf of `inner` with stride d walks outer(0), outer(d), outer(2d), ...; that is a
    layout as long as counting by d in the digits of `outer` never carries, and it may
    be cut where a carry falls on a boundary. Different leaves add up when their digits
    together do not carry either.

    Raises ValueError when `inner` leaves the domain of `outer` or a carry is in the way
    (with outer strides that differ by accident only, such as (3,3):(1,2), the values
    may still happen to be those of a layout; these are refused, too).
    """
    if inner.cosize > outer.size:
        raise ValueError(f"{inner} goes beyond the {outer.size} indices of {outer}")
    places = outer.coalesce().leaves()
    reached = [0] * len(places)

    def failure() -> ValueError:
        return ValueError(f"the composition of {outer} with {inner} carries")

    def composed(part: Layout) -> Layout:
        if isinstance(part.shape, tuple):
            return Layout.join(composed(mode) for mode in part.modes())
        pieces: list[tuple[int, int]] = []
        (extent, step), *_ = part.leaves()
        while extent > 1:
            digits = _digits(step, [size for size, _ in places])
            count = _carry_free(extent, digits, [size for size, _ in places])
            if count == 1:
                raise failure()
            pairs = zip(digits, places, strict=True)
            pieces.append((count, sum(value * stride for value, (_, stride) in pairs)))
            for place, value in enumerate(digits):
                reached[place] += (count - 1) * value
            extent //= count
            step *= count
        if len(pieces) > 1:
            return Layout.join(Layout(*piece) for piece in pieces)
        return Layout(*pieces[0]) if pieces else Layout(1, 0)

    result = composed(inner)
    if any(last >= size for last, (size, _) in zip(reached, places, strict=True)):
        raise failure()
    return result


def _digits(index: int, sizes: list[int]) -> list[int]:
    """Digits of an index in the mixed radix `sizes`; the slowest is not reduced."""
    digits: list[int] = []
    for position, size in enumerate(sizes):
        last = position == len(sizes) - 1
        digits.append(index if last else index % size)
        index //= size
    return digits


def _carry_free(extent: int, digits: list[int], sizes: list[int]) -> int:
    """Largest divisor n of `extent` for which 0..n-1 times `digits` never carries."""
    count = extent
    for value, size in zip(digits, sizes, strict=True):
        if value > 0:
            count = min(count, (size - 1) // value + 1)
    while extent % count != 0:
        count -= 1
    return count


def complement(layout: Layout, cotarget: int) -> Layout:
    """Layout C whose offsets, added to those of `layout`, reach each number once.

    The layout (layout, C), broadcasts of `layout` left out, is one-to-one onto
    0 .. n-1 with n the least possible number not below `cotarget` (nor below the end
    of the last block of `layout`). C is coalesced and increasing.

    Raises ValueError when the strides of `layout` do not nest: sorted, each has to be a
    multiple of the block before it.
    """
    leaves = [(s, d) for s, d in layout.leaves() if s > 1 and d > 0]
    gaps: list[Layout] = []
    block = 1
    for extent, step in sorted(leaves, key=lambda leaf: leaf[1]):
        if step % block != 0:
            raise ValueError(f"{layout} has no complement: {step} is off {block}")
        gaps.append(Layout(step // block, block))
        block = extent * step
    gaps.append(Layout(max(1, -(-cotarget // block)), block))
    return Layout.join(gaps).coalesce()


def right_inverse(layout: Layout) -> Layout:
    """The largest layout R of this construction with layout(R(i)) == i for i < R.size.

    It follows the leaves of stride 1, then the one that continues it, and so on; so R
    is the full inverse when `layout` is one-to-one onto 0 .. size-1.
    """
    weighted: list[tuple[int, int, int]] = []
    weight = 1
    for extent, step in layout.coalesce().leaves():
        weighted.append((step, extent, weight))
        weight *= extent
    pieces: list[Layout] = []
    reached = 1
    for step, extent, index_step in sorted(weighted):
        if step == reached and extent > 1:
            pieces.append(Layout(extent, index_step))
            reached *= extent
    return Layout.join(pieces).coalesce()


def left_inverse(layout: Layout) -> Layout:
    """A layout L with L(layout(i)) == i for every index i.

    Raises ValueError when `layout` repeats an offset or has no complement.
    """
    if any(extent > 1 and step == 0 for extent, step in layout.leaves()):
        raise ValueError(f"{layout} repeats offsets: it has no inverse")
    full = Layout.join((layout, complement(layout, layout.cosize)))
    return right_inverse(full)


def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Two modes (tile, rest): tile picks within a tile, rest picks the tile.

    With D = logical_divide(A, B) for a layout B: D(i, j) = A(B(i) + C(j)) where C is
    the complement of B in A.size. A tuple divides mode by mode; modes of `layout`
    without a tiler stay as they are.

    Raises ValueError when the tiler does not divide the layout evenly.
    """
    if isinstance(tiler, tuple):
        modes = _modes_for(layout, tiler)
        divided = [logical_divide(m, t) for m, t in zip(modes, tiler, strict=False)]
        return Layout.join([*divided, *modes[len(tiler) :]])
    tile = Layout(tiler, 1) if isinstance(tiler, int) else tiler
    rest = complement(tile, layout.size)
    if tile.size * rest.size != layout.size:
        raise ValueError(f"{tile} does not divide the {layout.size} of {layout}")
    return composition(layout, Layout.join((tile, rest)))


def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """`logical_divide` with all tile modes gathered in mode 0, all others in mode 1."""
    if not isinstance(tiler, tuple):
        return logical_divide(layout, tiler)
    modes = _modes_for(layout, tiler)
    zipped = [zipped_divide(m, t).modes() for m, t in zip(modes, tiler, strict=False)]
    tiles = Layout.join(tile for tile, _ in zipped)
    rests = Layout.join([*(rest for _, rest in zipped), *modes[len(tiler) :]])
    return Layout.join((tiles, rests))


def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """`zipped_divide` with mode 1 spread out: (tile, rest 0, rest 1, ...)."""
    tile, rest = zipped_divide(layout, tiler).modes()
    return Layout.join((tile, *rest.modes()))


def logical_product(block: Layout, tiling: Layout) -> Layout:
    """Two modes (block, copies): `block`, and where its copies go, as `tiling` orders.

    Mode 1 is complement(block) composed with `tiling`, so that copies never overlap.
    """
    room = complement(block, block.size * tiling.cosize)
    return Layout.join((block, composition(room, tiling)))


def blocked_product(block: Layout, tiling: Layout) -> Layout:
    """`logical_product` joined mode by mode, block fastest: copies stay contiguous.

    Mode i has extent block_i * tiling_i; missing modes count as extent 1.
    """
    return _zipped_product(block, tiling, block_first=True)


def raked_product(block: Layout, tiling: Layout) -> Layout:
    """`logical_product` joined mode by mode, tiling fastest: copies interleave."""
    return _zipped_product(block, tiling, block_first=False)


def _zipped_product(block: Layout, tiling: Layout, *, block_first: bool) -> Layout:
    rank = max(block.rank, tiling.rank)
    product = logical_product(_padded(block, rank), _padded(tiling, rank))
    blocks, copies = (mode.modes() for mode in product.modes())
    pairs = zip(blocks, copies, strict=True)
    return Layout.join(
        Layout.join((inner, copy) if block_first else (copy, inner))
        for inner, copy in pairs
    ).coalesce_modes()


def _padded(layout: Layout, rank: int) -> Layout:
    missing = rank - layout.rank
    return Layout.join([*layout.modes(), *[Layout(1, 0)] * missing])


def _modes_for(layout: Layout, tiler: tuple[Tiler, ...]) -> tuple[Layout, ...]:
    modes = layout.modes()
    if len(tiler) > len(modes):
        raise ValueError(f"{len(tiler)} tilers for the {len(modes)} modes of {layout}")
    return modes
