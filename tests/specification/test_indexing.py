"""Indexing, assignment and reshaping with symbolic sizes, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import agree, traced
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.terms import Unknown

SIZES = (
    {"M": 3, "N": 4, "K": 2}, {"M": 1, "N": 5, "K": 3}, {"M": 4, "N": 1, "K": 1},
    {"M": 6, "N": 7, "K": 4},
)  # fmt: skip

READS: dict[str, Any] = {
    "shifted": (lambda X: X[1:], "M N"),
    "last": (lambda X: X[-1:], "M N"),
    "all but two": (lambda X: X[:, :-2], "M N"),
    "stepped": (lambda X: X[::2, 1::3], "M N"),
    "backwards": (lambda X: X[:, ::-1], "M N"),
    "backwards by two": (lambda X: X[::-2], "M N"),
    "backwards between": (lambda X: X[4:0:-1], "M N"),
    "too far": (lambda X: X[2:100, :50], "M N"),
    "from minus three": (lambda X: X[-3:], "M N"),
    "up to a size": (lambda X: X[:, : X.shape[0]], "M N"),
    "half": (lambda X: X[:, X.shape[1] // 2 :], "M N"),
    "new axes": (lambda X: X[None, :, None, :], "M N"),
    "dots": (lambda X: X[..., 0], "M N K"),
    "dots between": (lambda X: X[0, ..., None, 0], "M N K"),
    "point": (lambda X: X[0, -1], "M N"),
    "a size as position": (lambda X: X[:, X.shape[0] * 0], "M N"),
    "row of a row": (lambda X: X[0][0], "M N"),
    "slice of a slice": (lambda X: X[1:][:, ::2][-1:], "M N"),
    "list of positions": (lambda X: X[:, [0, 0, -1]], "M N"),
    "arange": (lambda X: X[np.arange(X.shape[0])], "M N"),
    "previous, around": (lambda X: X[np.arange(X.shape[0]) - 1], "M N"),
    "two arrays": (lambda X: X[np.arange(X.shape[0]), 0], "M N"),
    "outer arrays": (
        lambda X: X[np.arange(X.shape[0])[:, None], np.arange(X.shape[1])[::-1]],
        "M N",
    ),
    "arrays apart": (
        lambda X: X[np.array([0, 0]), :, np.array([0, 0])],
        "M N K",
    ),
    "array after a slice": (lambda X: X[:, np.array([0, 0, 0]), :1], "M N K"),
}  # fmt: skip


MASKED: dict[str, Any] = {
    "sum": (lambda X: X[X > 0].sum(), "M N"),
    "of rows": (lambda X: X[X[:, 0] > 0].sum(0), "M N"),
    "of rows, all": (lambda X: np.sum(X[X[:, 0] > 0]), "M N"),
    "function": (lambda X: (2 * np.exp(X[X > 0.5]) - 1).sum(), "M N"),
    "of two": (lambda X: (X[X > 0] * (X + 1)[X > 0]).sum(), "M N"),
    "rows and a row": (lambda X: (X[X[:, 0] > 0] - X[0]).sum(0), "M N"),
    "number": (lambda X: 1.0 * len(X[X > 0]), "M N"),
    "shape": (lambda X: 1.0 * X[X[:, 0] > 0].size, "M N"),
    "mean": (lambda X: X[X > -9].mean(), "M N"),
    "mean of rows": (lambda X: X[X[:, 0] > -9].mean(), "M N"),
    "means of rows": (lambda X: X[X[:, 0] > -9].mean(0), "M N"),
    "of planes": (lambda X: X[X[:, :, 0] > 0].sum(0), "M N K"),
    "largest": (lambda X: (X[X > -9] * 2).max(), "M N"),
    "whole": (lambda X: X[X > 0].astype(np.int64).sum(), "M N"),
    "before it changes": (lambda X: _then_zero(X), "M N"),
}


def _then_zero(X: Any) -> Any:
    Y = X.copy()
    some = Y[Y > 0]
    Y[...] = 0
    return some.sum()


@pytest.mark.parametrize("name", MASKED)
def test_what_a_mask_selects(name: str) -> None:
    function, shape = MASKED[name]
    agree(function, {"X": shape}, *SIZES)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: X[X > 0][0],
        lambda X: np.cumsum(X[X > 0]),
        lambda X: np.sort(X[X > 0]).sum(),
        lambda X: X[X[:, 0] > 0].sum(1),
        lambda X: X[X[:, 0] > 0].sum(keepdims=True),
        lambda X: (X[X > 0] + X[X < 0]).sum(),
        lambda X: (X[X[:, 0] > 0] * X).sum(),
        lambda X: X[0][X[0] > 0].reshape(1, -1).sum(),
    ],
)
def test_positions_in_what_a_mask_selects(function: Any) -> None:
    with pytest.raises(Unknown, match="mask"):
        traced(function, {"X": "M N"})


def test_what_numpy_leaves_unwritten_or_repeats() -> None:
    for function in (
        lambda X: np.log(X, where=X > 0),
        lambda X: np.putmask(X, X > 0, X[0]),
        lambda X: np.fill_diagonal(X, X[0]),
        lambda X: np.piecewise(X, [X > 0], [1, 2, 3]),  # type: ignore[call-overload]
    ):
        with pytest.raises(Unknown, match="np"):
            traced(function, {"X": "M N"})


@pytest.mark.parametrize("name", READS)
def test_reads(name: str) -> None:
    function, shape = READS[name]
    agree(function, {"X": shape}, *SIZES)


def test_tables() -> None:
    made = agree(lambda T, I: T[I], {"T": "M N", "I": "K 2:i32"}, *SIZES)
    (said,) = made.tracing.assumptions
    assert "it is an index" in said
    agree(lambda T, I: T[:, I, None], {"T": "M N", "I": "K:i32"}, *SIZES)
    agree(lambda T, I: T[I[0]], {"T": "M N", "I": "K:i32"}, *SIZES)
    agree(lambda T, I: T[np.arange(len(I)), I], {"T": "K N", "I": "K:i32"}, *SIZES)
    agree(
        lambda T, I: np.where(I >= 0, T[np.maximum(I, 0)], 0),
        {"T": "M", "I": "K:i32"},
        *SIZES,
    )


def test_lengths_of_data() -> None:
    def function(X: Any, L: Any) -> Any:
        return np.stack([X[b, : L[b]].sum() for b in range(len(L))])

    made = agree(
        function,
        {"X": "K N", "L": "K:i32"},
        *SIZES,
    )
    assert any(">= 0" in said for said in made.tracing.assumptions)


def written(write: Any) -> Any:
    """A function that writes into a copy."""

    def function(X: Any, V: Any) -> Any:
        Y = X.copy()
        write(Y, V)
        return Y, X

    return function


def rows(Y: Any, V: Any) -> None:
    Y[1:] = V[0]


def columns(Y: Any, V: Any) -> None:
    Y[:, ::2] = 7


def point(Y: Any, V: Any) -> None:
    Y[0, 0] = V[0, 0] + 1


def through_a_view(Y: Any, V: Any) -> None:
    view = Y.T[1:]
    view[:, 0] = -1
    Y[0] += view[:1, :1].sum()


def in_place(Y: Any, V: Any) -> None:
    Y += V
    Y[:, 0] *= 2
    Y -= Y[0]


def masked(Y: Any, V: Any) -> None:
    Y[Y > 1] = 0
    Y[np.arange(Y.shape[0]) > 0] = 3


def masked_by_others(Y: Any, V: Any) -> None:
    some = Y > 0.5
    Y[some] = np.log(Y[some]) + V[some]
    Y[V > 0] += 1
    rows = Y[:, 0] > 0
    Y[rows] = 2 * Y[rows] - V[0]
    kept = Y[V < 0]
    other, before = kept, kept.copy()
    kept *= 3
    Y[V < 0] = other - 2 * before


def written_where(Y: Any, V: Any) -> None:
    np.divide(1.0, Y, out=Y, where=Y > 0.5)
    np.log(V, out=Y, where=V > 1)
    np.add(Y, V[0], out=Y, where=(Y[:, 0] > 0)[:, None])
    np.copyto(Y, V, where=V < 0)
    np.copyto(Y[:, :1], V[:, -1:])
    np.putmask(Y, Y > 2, 2)
    np.putmask(Y, V > 1, -V)
    np.fill_diagonal(Y, 7)


def pieces(Y: Any, V: Any) -> None:
    Y[...] = np.piecewise(Y, [Y < 0, Y > 1], [lambda y: -y, lambda y: y * y, 0.5])
    Y[...] += np.piecewise(V, [V > 0.5, V > 1], [1, lambda v: v - v.sum()])


def overlapping(Y: Any, V: Any) -> None:
    Y[1:] = Y[:-1].copy()
    Y[:, :1] = V[:, -1:]


def affine(Y: Any, V: Any) -> None:
    Y[np.arange(Y.shape[0])[::-1], 0] = V[:, 0]


def filled(Y: Any, V: Any) -> None:
    Y.fill(2)
    Y[...] += V


@pytest.mark.parametrize(
    "write",
    [
        rows,
        columns,
        point,
        through_a_view,
        in_place,
        masked,
        masked_by_others,
        written_where,
        pieces,
        overlapping,
        affine,
        filled,
    ],
)
def test_writes(write: Any) -> None:
    agree(written(write), {"X": "M N", "V": "M N"}, *SIZES)


def test_a_value_is_what_it_was_when_it_was_computed() -> None:
    def function(X: Any) -> Any:
        Y = X.copy()
        before = Y + 1
        Y[:] = 0
        return before, Y

    agree(function, {"X": "M N"}, *SIZES)


def numbers(X: Any) -> Any:
    n = X.shape[0]
    old = n
    n += 1
    element = X[0, 0]
    total = X.sum()
    same = total
    total += 1
    X[0, 0] = 5
    return np.array([old, n]), element, same, total, X


def rows_of_a_list(X: Any) -> Any:
    rows = list(X[:, ::-1])
    stack = np.stack(rows)
    X[:] = 0
    return stack, np.stack(rows)


def test_numbers_stay_and_arrays_change() -> None:
    agree(numbers, {"X": "M N"}, *SIZES)
    agree(rows_of_a_list, {"X": "M N"}, *SIZES)


def test_what_may_be_a_view() -> None:
    def written_through(X: Any) -> Any:
        Y = X.copy()
        Y.reshape(-1)[0] = 5
        return Y

    def read_after(X: Any) -> Any:
        Y = X.copy()
        flat = np.ravel(Y)
        Y[0] = 5
        return flat

    def element_of_a_list(X: Any) -> Any:
        rows = [row * 2 for row in X]
        rows[0][0] = 5
        return np.stack(rows)

    for function in (written_through, read_after, element_of_a_list):
        with pytest.raises(Unknown):
            traced(function, {"X": "M N"}).results[0].at(())


def scattered(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    c[I] = V
    return c


def added(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    np.add.at(c, I, V)
    return c


def test_scatters() -> None:
    shapes = {"C": "M N", "V": "K N", "I": "K:i32"}
    sizes = {"M": 6, "N": 3, "K": 4}
    made = agree(scattered, shapes, sizes, arrays={"I": np.array([4, 0, 5, 2])})
    assert any("are different" in said for said in made.tracing.assumptions)
    agree(added, shapes, sizes, arrays={"I": np.array([4, 0, 4, 2])})
    agree(
        lambda H, I: H + np.bincount(I, minlength=len(H)),
        {"H": "M", "I": "K:i32"},
        sizes,
        arrays={"I": np.array([4, 0, 4, 2])},
    )


def added_where(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    some = I >= 0
    np.add.at(c, I[some], V[some])
    np.add.at(c, (I[some], 0), 1)
    np.subtract.at(c, (I[some], (I % 2)[some]), 2)
    return c


def largest_where(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    np.maximum.at(c, I[V[:, 0] > 0], V[V[:, 0] > 0])
    return c


def assigned_where(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    c[I[I > 2]] = V[I > 2]
    return c


@pytest.mark.parametrize("function", (added_where, largest_where, assigned_where))
def test_scatters_of_what_a_mask_selects(function: Any) -> None:
    shapes = {"C": "M N", "V": "K N", "I": "K:i32"}
    sizes = {"M": 6, "N": 3, "K": 4}
    entries = np.array([4, 0, 5, 2])
    if function is added_where:
        entries = np.array([4, -7, 4, 2])  # what is not selected is no index
    agree(function, shapes, sizes, arrays={"I": entries})


@pytest.mark.parametrize(
    "write",
    [
        lambda c, V, I: np.add.at(c, I[I > 0], V[I > 1]),
        lambda c, V, I: np.add.at(c, I[I > 0], V),
        lambda c, V, I: np.add.at(c, (I[I > 0], I), 1),
        lambda c, V, I: np.add.at(c, (I[I > 0], I[I > 1]), 1),
        lambda c, V, I: c.__setitem__(I > 0, V[I > 1]),
    ],
)
def test_what_two_masks_select(write: Any) -> None:
    def function(C: Any, V: Any, I: Any) -> Any:
        c = C.copy()
        write(c, V, I)
        return c

    with pytest.raises(Unknown, match="mask"):
        traced(function, {"C": "K N", "V": "K N", "I": "K:i32"})


def put(X: Any, I: Any) -> Any:
    Y = np.zeros(X.shape)
    np.put_along_axis(Y, I, X[:, :2], 1)
    return Y


def chosen(X: Any, I: Any) -> Any:
    Y = np.zeros(X.shape)
    Y[np.arange(X.shape[0])[:, None], I] = 1
    return X * Y


@pytest.mark.parametrize("function", (put, chosen))
def test_rows_that_have_positions_of_their_own(function: Any) -> None:
    shapes, sizes = {"X": "M N", "I": "M 2:i32"}, {"M": 3, "N": 4}
    agree(function, shapes, sizes, arrays={"I": np.array([[3, 0], [1, 2], [0, 1]])})


def test_positions_that_no_table_says_have_to_differ() -> None:
    def turned(X: Any) -> Any:
        Y = np.zeros(X.shape)
        Y[len(X) - 1 - np.arange(len(X))] = X
        return Y

    def folded(X: Any) -> Any:
        Y = np.zeros((3, X.shape[1]))
        Y[np.arange(len(X)) % 3] = X  # the last of several is left
        return Y

    assert not agree(turned, {"X": "M N"}, {"M": 5, "N": 2}).needs
    made = agree(folded, {"X": "M N"}, {"M": 3, "N": 2}, {"M": 2, "N": 2})
    (need,) = [n for n in made.tracing.needs if "no two positions" in n.why]
    assert need.where is not None
    size = made.tracing.world.size("M")
    beyond = made.tracing.world.compare(size, ">", 3)
    assert made.tracing.world.is_empty(need.where & beyond)


def test_what_is_written_by_a_table_is_read_by_it() -> None:
    made = traced(scattered, {"C": "M N", "V": "K N", "I": "K:i32"})
    world = made.tracing.world
    k, n = world.variable("k", 0, world.size("K")), world.variable("n", 0, 3)
    value = made.results[0].at((world.entry("I", (k,)), n))
    assert "V[k, n]" in str(value)


RESHAPES: dict[str, Any] = {
    "flat": (lambda X: X.reshape(-1), "M N K"),
    "merged": (lambda X: X.reshape(X.shape[0], -1), "M N K"),
    "merged first": (lambda X: X.reshape(-1, X.shape[2]), "M N K"),
    "split": (lambda X: X.reshape(X.shape[0], X.shape[1] // 2, 2), "M 6"),
    "split by a size": (lambda X: X.reshape(3, -1, X.shape[1]), "6 N"),
    "there and back": (lambda X: X.reshape(-1).reshape(X.shape), "M N K"),
    "through": (lambda X: X.T.reshape(-1, 3), "6 N"),
    "heads": (
        lambda X: X.reshape(X.shape[0], 4, 2).swapaxes(0, 1).reshape(-1, 2),
        "M 8",
    ),
    "ones": (lambda X: X.reshape(1, *X.shape, 1), "M N"),
    "regrouped": (lambda X: X.reshape(4, 9), "6 6"),
    "tuple": (lambda X: X.reshape((2, 3, -1)), "6 N"),
}


@pytest.mark.parametrize("name", RESHAPES)
def test_reshapes(name: str) -> None:
    function, shape = RESHAPES[name]
    agree(function, {"X": shape}, *SIZES)


def test_a_split_that_does_not_divide_is_a_need() -> None:
    made = agree(lambda X: X.reshape(X.shape[0], -1, 4), {"X": "M N"}, {"M": 3, "N": 8})
    assert made.needs == ["4 divides N"] or any("divides" in n for n in made.needs)


def test_shapes_that_never_fit() -> None:
    with pytest.raises(Unknown, match="at every size"):
        traced(lambda X: X.reshape(X.shape[0] + 1), {"X": "M"})
    with pytest.raises(Unknown, match="at every size"):
        traced(lambda X: X + np.zeros(5), {"X": "4"})


def test_shapes_that_have_to_be_equal() -> None:
    made = traced(lambda X, Y: X + Y, {"X": "M", "Y": "N"})
    assert len(made.needs) == 1 and "M == N" in made.needs[0]
    assert made.tracing.world.is_empty(
        made.tracing.world.compare(
            made.tracing.world.size("M"), "<", made.tracing.world.size("N")
        )
    )


bounds = st.one_of(st.none(), st.integers(-6, 6))


@settings(max_examples=60)
@given(bounds, bounds, st.integers(-3, 3).filter(bool), st.integers(1, 6))
def test_slices(start: Any, stop: Any, step: int, size: int) -> None:
    agree(lambda X: X[start:stop:step], {"X": "N"}, {"N": size})


@settings(max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.permutations(range(3)))
def test_splitting_and_merging(parts: list[int], order: Any) -> None:
    total = int(np.prod(parts))

    def function(X: Any) -> Any:
        made = X.reshape(X.shape[0], *parts, X.shape[2])
        made = np.moveaxis(made, 1, order[0])
        return made.reshape(-1, made.shape[-1])

    agree(function, {"X": f"M {total} N"}, {"M": 2, "N": 3})


@settings(max_examples=40)
@given(bounds, bounds, st.sampled_from([-2, -1, 1, 2, 3]), st.integers(1, 6))
def test_assignment_to_slices(start: Any, stop: Any, step: int, size: int) -> None:
    def function(X: Any) -> Any:
        Y = X.copy()
        Y[start:stop:step] = 2 * X[start:stop:step]
        return Y

    agree(function, {"X": "N"}, {"N": size})


def assigned_one_by_one(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    for k in range(V.shape[0]):
        c[I[k]] = V[k] * k
    return c


def added_one_by_one(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    for k in range(V.shape[0]):
        c[I[k]] += V[k] * k
    return c


def counted_one_by_one(C: Any, V: Any, I: Any) -> Any:
    c = np.zeros(C.shape, np.int64)
    for k in range(V.shape[0]):
        c[I[k]] += 1
    return c


@pytest.mark.parametrize(
    ("function", "table"),
    [
        (assigned_one_by_one, [4, 0, 5, 2]),
        (added_one_by_one, [4, 0, 4, 2]),
        (counted_one_by_one, [4, 0, 4, 4]),
    ],
)
def test_rounds_that_tables_send_somewhere(function: Any, table: list[int]) -> None:
    shapes = {"C": "M N", "V": "K N", "I": "K:i32"}
    agree(function, shapes, {"M": 6, "N": 3, "K": 4}, arrays={"I": np.array(table)})


def to_half_as_many(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    for k in range(V.shape[0]):
        c[I[k // 2]] = V[k]
    return c


def of_another_element(C: Any, V: Any, I: Any) -> Any:
    c = C.copy()
    for k in range(V.shape[0]):
        c[I[k]] += c[I[0]]
    return c


@pytest.mark.parametrize("function", [to_half_as_many, of_another_element])
def test_rounds_of_which_nothing_is_known(function: Any) -> None:
    made = traced(function, {"C": "M N", "V": "K N", "I": "K:i32"})
    world = made.tracing.world
    place = [world.fresh("at", 0, n) for n in made.results[0].sizes]
    with pytest.raises(Unknown):
        made.results[0].at(place)
