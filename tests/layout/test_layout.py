"""The laws of a single layout: evaluation, flattening, coalescing, recovery."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.layout import Layout, from_table, ints
from argus.layout.ints import IntTuple


def nested(leaves: st.SearchStrategy[int]) -> st.SearchStrategy[IntTuple]:
    return st.recursive(
        leaves, lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=4
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(nested(st.integers(1, 4)))
    count = len(ints.flatten(shape))
    steps = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    return Layout(shape, ints.unflatten(steps, shape))


def coordinates(shape: IntTuple) -> list[object]:
    """All nested coordinates, in colexicographic order."""
    if isinstance(shape, int):
        return list(range(shape))
    parts = [coordinates(part) for part in shape[::-1]]
    return [tuple(reversed(c)) for c in itertools.product(*parts)]


def offset(coordinate: object, stride: IntTuple) -> int:
    if isinstance(stride, int):
        assert isinstance(coordinate, int)
        return coordinate * stride
    assert isinstance(coordinate, tuple)
    return sum(offset(c, d) for c, d in zip(coordinate, stride, strict=True))


@given(layouts())
def test_index_and_coordinate_agree(layout: Layout) -> None:
    expected = [offset(c, layout.stride) for c in coordinates(layout.shape)]
    assert [layout(i) for i in range(layout.size)] == expected
    assert [layout(c) for c in coordinates(layout.shape)] == expected
    assert layout.table().tolist() == expected
    assert layout.size == len(expected)
    assert layout.cosize == max(expected) + 1


@given(layouts())
def test_mixed_coordinates(layout: Layout) -> None:
    modes = layout.modes()
    for parts in itertools.product(*(range(mode.size) for mode in modes)):
        expected = sum(mode(i) for mode, i in zip(modes, parts, strict=True))
        if len(parts) != 1 or not isinstance(layout.shape, int):
            assert layout(tuple(parts)) == expected
        if len(parts) > 1:
            assert layout(*parts) == expected


@given(layouts())
def test_simpler_forms_are_the_same_function(layout: Layout) -> None:
    expected = layout.table().tolist()
    assert layout.flatten().table().tolist() == expected
    assert layout.coalesce().table().tolist() == expected
    assert layout.coalesce().depth <= 1
    assert layout.coalesce().coalesce() == layout.coalesce()
    by_mode = layout.coalesce_modes()
    assert by_mode.rank == layout.rank
    assert by_mode.table().tolist() == expected
    assert [m.table().tolist() for m in by_mode.modes()] == [
        m.table().tolist() for m in layout.modes()
    ]


@given(layouts())
def test_filter_keeps_the_offsets(layout: Layout) -> None:
    filtered = layout.filter()
    assert set(filtered.table().tolist()) == set(layout.table().tolist())
    assert filtered.size == 1 or all(step > 0 for _, step in filtered.leaves())


@given(layouts())
def test_from_table_recovers_the_coalesced_layout(layout: Layout) -> None:
    assert from_table(layout.table()) == layout.coalesce()


@given(st.lists(st.integers(-2, 6), min_size=1, max_size=8))
def test_from_table_is_exact_or_none(values: list[int]) -> None:
    found = from_table(np.array(values))
    if found is not None:
        assert found.table().tolist() == values
        return
    # Nothing was missed: no shape and strides give these values.
    n = len(values)
    for shape in factorisations(n):
        weights = ints.flatten(ints.prefix_products(shape))
        steps = tuple(values[w] for w in weights) if n > 1 else ()
        if values[0] == 0 and all(step >= 0 for step in steps):
            assert Layout(shape, steps).table().tolist() != values


def factorisations(n: int) -> list[tuple[int, ...]]:
    if n == 1:
        return [()]
    return [
        (first, *rest)
        for first in range(2, n + 1)
        if n % first == 0
        for rest in factorisations(n // first)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 1, 1, 8, 8, 9, 9], "(2,2,2):(0,1,8)"),
        ([0, 0, 0, 0], "4:0"),
        ([0, 8, 16, 1, 9, 17], "(3,2):(8,1)"),
        ([0], "1:0"),
        ([0, -1], None),
        ([1, 2], None),
        ([0, 1, 3], None),
        ([0, 2, 1, 4], None),
    ],
)
def test_from_table_by_hand(values: list[int], expected: str | None) -> None:
    found = from_table(np.array(values))
    assert (None if found is None else str(found)) == expected


def test_coalesce_by_hand() -> None:
    assert Layout((2, (1, 6)), (1, (6, 2))).coalesce() == Layout(12, 1)
    assert Layout((2, 2, 3), (0, 0, 5)).coalesce() == Layout((4, 3), (0, 5))
    assert Layout((1, 1), (7, 9)).coalesce() == Layout(1, 0)


def test_from_table_wants_a_vector() -> None:
    for table in (np.zeros((2, 2), dtype=int), np.zeros(0, dtype=int)):
        with pytest.raises(ValueError, match="not a vector"):
            from_table(table)


def test_constructors() -> None:
    assert Layout.compact((2, (3, 4))) == Layout((2, (3, 4)), (1, (2, 6)))
    assert Layout.row_major((2, 3, 4)) == Layout((2, 3, 4), (12, 4, 1))
    assert Layout.row_major((2, 3)).table().tolist() == [0, 3, 1, 4, 2, 5]
    joined = Layout.join((Layout(2, 8), Layout((2, 2), (1, 4))))
    assert str(joined) == "(2,(2,2)):(8,(1,4))"
    assert joined.select(1, 0) == Layout(((2, 2), 2), ((1, 4), 8))
    assert (joined.rank, joined.depth, Layout(4, 1).rank) == (2, 2, 1)


def test_the_table_in_the_module_docstring() -> None:
    matrix = Layout((2, 4), (4, 1))
    assert matrix.table().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert matrix(3) == matrix((1, 1)) == matrix(1, 1) == 5
    blocks = Layout(((2, 2), 4), ((1, 8), 2))
    assert blocks(3, 1) == blocks((1, 1), 1) == 11


@pytest.mark.parametrize(
    ("shape", "stride", "message"),
    [
        ((2, 3), (1,), "differ"),
        ((2, (3,)), (1, 2), "differ"),
        (0, 1, "positive extents"),
        (2, -1, "negative"),
    ],
)
def test_wrong_layouts_are_refused(
    shape: IntTuple, stride: IntTuple, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(shape, stride)


def test_wrong_coordinates_are_refused() -> None:
    layout = Layout((2, (3, 4)), (1, (2, 6)))
    for coordinate in [(1,), (1, 2, 3), ((1, 1), 0), (1, (1, 1, 1))]:
        with pytest.raises(ValueError, match="does not fit"):
            layout(coordinate)


def test_nested_tuples() -> None:
    shape = (2, (3, 4))
    assert ints.flatten(shape) == (2, 3, 4)
    assert ints.unflatten((5, 6, 7), shape) == (5, (6, 7))
    assert (ints.product(shape), ints.product(())) == (24, 1)
    assert (ints.depth(7), ints.depth(()), ints.depth(shape)) == (0, 1, 2)
    assert not ints.congruent(2, (2,))
    with pytest.raises(ValueError, match="too few"):
        ints.unflatten((5, 6), shape)
    with pytest.raises(ValueError, match="too many"):
        ints.unflatten((5, 6, 7, 8), shape)
