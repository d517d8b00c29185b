"""The laws of the layout algebra, each as its equation, on random layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from argus.layout import (
    Layout,
    blocked_product,
    complement,
    composition,
    left_inverse,
    logical_divide,
    logical_product,
    raked_product,
    right_inverse,
    tiled_divide,
    zipped_divide,
)

sizes = st.integers(1, 4)


@st.composite
def permuted_chains(draw: st.DrawFn, gaps: bool = True) -> Layout:
    """One-to-one layouts: nested blocks, with gaps in between, in any order."""
    leaves: list[tuple[int, int]] = []
    block = 1
    for extent in draw(st.lists(sizes, min_size=1, max_size=4)):
        block *= draw(st.integers(1, 3)) if gaps else 1
        leaves.append((extent, block))
        block *= extent
    leaves = draw(st.permutations(leaves))
    return Layout(tuple(s for s, _ in leaves), tuple(d for _, d in leaves))


@st.composite
def composable(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Any outer layout, and an inner one that picks whole digits of its index."""
    leaves: list[tuple[int, int]] = []
    shape: list[int] = []
    weight = 1
    for factors in draw(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3)):
        for factor in factors:
            if draw(st.booleans()):
                leaves.append((draw(st.integers(1, factor)), weight))
            weight *= factor
        shape.append(factors[0] * factors[1])
    steps = draw(st.lists(st.integers(0, 30), min_size=len(shape), max_size=len(shape)))
    leaves += [(draw(sizes), 0)] * draw(st.integers(0, 1))
    leaves = draw(st.permutations(leaves)) or [(1, 0)]
    inner = [Layout(*leaf) for leaf in leaves]
    if len(inner) > 2:
        inner = [Layout.join(inner[:2]), *inner[2:]]
    return Layout(tuple(shape), tuple(steps)), Layout.join(inner)


@given(composable())
def test_composition_is_the_function_of_the_function(
    pair: tuple[Layout, Layout],
) -> None:
    outer, inner = pair
    both = composition(outer, inner)
    assert both.size == inner.size
    assert both.rank == inner.rank
    assert [both(c) for c in range(inner.size)] == [
        outer(inner(c)) for c in range(inner.size)
    ]
    for mode, part in zip(both.modes(), inner.modes(), strict=True):
        assert mode.size == part.size


@given(permuted_chains(), permuted_chains())
def test_composition_is_right_or_refused(outer: Layout, inner: Layout) -> None:
    assume(inner.cosize <= outer.size)
    expected = [outer(inner(c)) for c in range(inner.size)]
    try:
        both = composition(outer, inner)
    except ValueError:
        return
    assert both.table().tolist() == expected


@given(permuted_chains(gaps=False), st.data())
def test_composition_is_associative(a: Layout, data: st.DataObject) -> None:
    order = st.permutations(range(a.rank))
    compact = Layout.compact(a.shape)
    b = compact.select(*data.draw(order))
    c = Layout.compact(b.shape).select(*data.draw(order))
    left = composition(composition(a, b), c)
    right = composition(a, composition(b, c))
    assert left.coalesce() == right.coalesce()


@given(permuted_chains())
def test_composition_with_the_identity(layout: Layout) -> None:
    after = composition(layout, Layout(layout.size, 1))
    assert after.coalesce() == layout.coalesce()
    before = composition(Layout(layout.cosize, 1), layout)
    assert before.table().tolist() == layout.table().tolist()


def test_compositions_by_hand() -> None:
    # Rows of a column-major matrix; a mode that spans two digits; a non-divisible end.
    assert str(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))) == (
        "((2,2),3):((24,2),8)"
    )
    assert str(composition(Layout(20, 2), Layout((5, 4), (4, 1)))) == "(5,4):(8,2)"
    assert str(composition(Layout((7, 2), (1, 100)), Layout(3, 2))) == "3:2"


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Layout(8, 1), Layout(9, 1)),
        (Layout((4, 3), (1, 10)), Layout((2, 2), (3, 3))),
        (Layout((4, 3), (1, 10)), Layout(3, 3)),
        (Layout((6, 2), (1, 10)), Layout(8, 1)),
    ],
)
def test_compositions_that_are_no_layout_are_refused(
    outer: Layout, inner: Layout
) -> None:
    with pytest.raises(ValueError, match=r"goes beyond|carries"):
        composition(outer, inner)


@given(permuted_chains(), st.integers(1, 300))
def test_complement_is_disjoint_and_covers(layout: Layout, cotarget: int) -> None:
    rest = complement(layout, cotarget)
    offsets = sorted(Layout.join((layout, rest)).table().tolist())
    assert offsets == list(range(len(offsets)))
    assert len(offsets) >= cotarget
    steps = [step for _, step in rest.leaves()]
    assert steps == sorted(steps)
    # As few as possible: whole blocks of the layout.
    block = max((s * d for s, d in layout.leaves() if s > 1), default=1)
    assert len(offsets) == block * max(1, -(-cotarget // block))


def test_complement_ignores_broadcasts_and_refuses_overlap() -> None:
    assert complement(Layout((4, 2), (1, 0)), 24) == Layout(6, 4)
    assert complement(Layout((2, 2), (1, 6)), 24) == Layout((3, 2), (2, 12))
    for strides in ((1, 1), (1, 3), (2, 3)):
        with pytest.raises(ValueError, match="no complement"):
            complement(Layout((2, 2), strides), 24)


@given(permuted_chains())
def test_right_inverse(layout: Layout) -> None:
    inverse = right_inverse(layout)
    indices = range(inverse.size)
    assert [layout(inverse(i)) for i in indices] == list(indices)
    # It is the largest run without a gap.
    assert inverse.size not in layout.table().tolist() or layout.size == inverse.size


@given(permuted_chains())
def test_left_inverse(layout: Layout) -> None:
    inverse = left_inverse(layout)
    assert [inverse(layout(i)) for i in range(layout.size)] == list(range(layout.size))


@given(permuted_chains(gaps=False))
def test_inverses_of_a_permutation_agree(layout: Layout) -> None:
    assert right_inverse(layout).size == layout.size
    assert left_inverse(layout).table().tolist() == (
        right_inverse(layout).table().tolist()
    )


def test_left_inverse_refuses_broadcasts() -> None:
    with pytest.raises(ValueError, match="repeats"):
        left_inverse(Layout((4, 2), (1, 0)))


@st.composite
def divisible(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """A layout and a tile: some digits of its index."""
    factors = draw(st.lists(sizes, min_size=1, max_size=4))
    layout = Layout(
        tuple(factors), tuple(draw(st.integers(0, 30)) for _ in range(len(factors)))
    )
    compact = Layout.compact(layout.shape)
    chosen = draw(st.permutations(range(len(factors))))
    count = draw(st.integers(1, len(factors)))
    return layout, compact.select(*chosen[:count])


@given(divisible())
def test_logical_divide(pair: tuple[Layout, Layout]) -> None:
    layout, tile = pair
    divided = logical_divide(layout, tile)
    rest = complement(tile, layout.size)
    assert divided.size == layout.size
    assert [mode.size for mode in divided.modes()] == [tile.size, rest.size]
    for i, j in itertools.product(range(tile.size), range(rest.size)):
        assert divided(i, j) == layout(tile(i) + rest(j))
    assert zipped_divide(layout, tile) == divided


@given(
    st.lists(st.tuples(st.integers(1, 3), sizes), min_size=1, max_size=2),
    st.integers(0, 1),
    st.data(),
)
def test_divisions_by_mode(
    pairs: list[tuple[int, int]], extra: int, data: st.DataObject
) -> None:
    extents = [tile * count for tile, count in pairs] + [3] * extra
    steps = [data.draw(st.integers(0, 40)) for _ in extents]
    layout = Layout(tuple(extents), tuple(steps))
    tiler = tuple(tile for tile, _ in pairs)
    logical = logical_divide(layout, tiler)
    zipped = zipped_divide(layout, tiler)
    tiled = tiled_divide(layout, tiler)
    assert logical.size == zipped.size == tiled.size == layout.size
    assert logical.rank == len(extents)
    assert zipped.rank == 2
    assert tiled.rank == 1 + len(extents)
    counts = [count for _, count in pairs] + [3] * extra
    inside = list(itertools.product(*(range(tile) for tile in tiler)))
    for tile in itertools.product(*(range(count) for count in counts)):
        for i in inside:
            within = i + (0,) * extra
            size = (*tiler, *(1,) * extra)
            where = tuple(w + s * t for w, s, t in zip(within, size, tile, strict=True))
            expected = layout(where)
            assert zipped(i, tile) == expected
            assert tiled(i, *tile) == expected
            split = zip(i, tile, strict=False)
            assert logical((*split, *tile[len(i) :])) == expected


def test_nested_tiler() -> None:
    layout = Layout(((4, 6), 8), ((1, 4), 24))
    divided = zipped_divide(layout, ((2, 3), 4))
    assert [mode.size for mode in divided.modes()] == [24, 8]
    assert divided(((1, 2), 3), ((1, 1), 1)) == layout((1 + 2, 2 + 3), 3 + 4)


@pytest.mark.parametrize("tiler", [5, (3,), (2, 2, 2), Layout(3, 2)])
def test_uneven_divisions_are_refused(tiler: int | Layout | tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"divide|tilers|carries"):
        logical_divide(Layout((4, 6), (6, 1)), tiler)


@given(permuted_chains(), permuted_chains())
def test_logical_product(block: Layout, tiling: Layout) -> None:
    room = complement(block, block.size * tiling.cosize)
    try:
        product = logical_product(block, tiling)
    except ValueError:
        with pytest.raises(ValueError, match="carries"):
            composition(room, tiling)
        return
    assert product.size == block.size * tiling.size
    i, j = np.indices((block.size, tiling.size))
    assert np.array_equal(product(i, j), block(i) + room(tiling(j)))
    assert len(set(product.table().tolist())) == product.size


@given(st.tuples(sizes, sizes), st.tuples(sizes, sizes), st.booleans(), st.booleans())
def test_blocked_and_raked_products(
    block_shape: tuple[int, int],
    tiling_shape: tuple[int, int],
    block_rows: bool,
    tiling_rows: bool,
) -> None:
    make = {True: Layout.row_major, False: Layout.compact}
    block = make[block_rows](block_shape)
    tiling = make[tiling_rows](tiling_shape)
    blocked, raked = blocked_product(block, tiling), raked_product(block, tiling)
    shape = tuple(b * t for b, t in zip(block_shape, tiling_shape, strict=True))
    for product in (blocked, raked):
        assert tuple(mode.size for mode in product.modes()) == shape
        assert sorted(product.table().tolist()) == list(range(product.size))
    (b0, b1), (t0, t1) = block_shape, tiling_shape
    cells = itertools.product(range(b0), range(b1), range(t0), range(t1))
    for i, j, p, q in cells:
        expected = block(i, j) + block.size * tiling(p, q)
        assert blocked(i + b0 * p, j + b1 * q) == expected
        assert raked(p + t0 * i, q + t1 * j) == expected


def test_products_pad_missing_modes() -> None:
    product = blocked_product(Layout(4, 1), Layout((2, 3), (1, 2)))
    assert product.table().tolist() == list(range(24))
    assert [mode.size for mode in product.modes()] == [8, 3]
