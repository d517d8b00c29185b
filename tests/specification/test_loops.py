"""Loops over symbolic sizes: what is derived is right, what is not is Unknown."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest
from agreement import agree, traced

from argus.specification.calling import called
from argus.terms import Unknown

SIZES = ({"M": 3, "N": 4, "K": 2}, {"M": 1, "N": 5, "K": 3}, {"M": 4, "N": 1, "K": 1})
MATRIX = {"X": "M N"}


def stacked(X: Any) -> Any:
    return np.stack([X[m] * m for m in range(X.shape[0])])


def stacked_last(X: Any) -> Any:
    return np.stack([row * 2 for row in X], axis=-1)


def joined(X: Any) -> Any:
    return np.concatenate([row[::-1] for row in X])


def added(X: Any) -> Any:
    return sum(X[m] * m for m in range(X.shape[0]))


def largest(X: Any) -> Any:
    return max(X[m, 0] for m in range(X.shape[0]))


def numbered(X: Any) -> Any:
    return np.array([m * row for m, row in enumerate(X)])


def zipped(X: Any) -> Any:
    return np.array([a @ b for a, b in zip(X, X[::-1])])


def twice(X: Any) -> Any:
    rows = [row + 1 for row in X]
    return np.stack([row * 2 for row in rows])


def assigned(X: Any) -> Any:
    Y = np.zeros_like(X)
    for m in range(X.shape[0]):
        Y[m] = X[m] + m
    return Y


def assigned_in_two_loops(X: Any) -> Any:
    Y = np.zeros(X.shape)
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            Y[m, n] = X[m, n] * n - m
    return Y


def assigned_where_data_say(X: Any) -> Any:
    Y = np.zeros(X.shape)
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            Y[m, n] = np.where(X[m, 0] > X[0, n], X[m, n], 1.0)
    return Y


def _half(n: int) -> int:
    return ceil(n / 2)


def through_a_helper_that_rounds(X: Any) -> Any:
    Y = np.zeros_like(X)
    for m in range(X.shape[0]):
        Y[m] = X[m] * _half(X.shape[1])
    return Y


def assigned_backwards(X: Any) -> Any:
    Y = X.copy()
    count = X.shape[0]
    for m in range(count):
        scale = m + 1
        Y[count - 1 - m, 0] = X[m, 0] * scale
    return Y


def assigned_every_other(X: Any) -> Any:
    Y = np.concatenate([X, X])
    for m in range(X.shape[0]):
        Y[2 * m + 1] = X[m]
    return Y


def counted(X: Any) -> Any:
    total = np.zeros(X.shape[1])
    for m in range(1, X.shape[0]):
        total = total + X[m] * X[m - 1]
    return total


def counted_in_place(X: Any) -> Any:
    total = np.zeros(X.shape[1])
    for row in X:
        total += row * row
    return total


def from_a_number(X: Any) -> Any:
    total = 0
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            total = total + X[m, n]
    return total


def running_maximum(X: Any) -> Any:
    best = np.full(X.shape[1], -np.inf)
    for row in X:
        best = np.maximum(best, row * 2)
    return best


def smallest_of_some(X: Any) -> Any:
    least = X[0, 0] + 1
    for m in range(0, X.shape[0], 2):
        least = min(least, X[m, 0])
    return least


def appended(X: Any) -> Any:
    rows = []
    for row in X:
        rows.append(row.sum())
    return np.array(rows)


def last(X: Any) -> Any:
    Y = np.zeros(X.shape[1])
    for m in range(X.shape[0]):
        Y[:] = X[m]
    return Y


def in_steps(X: Any) -> Any:
    Y = np.zeros_like(X)
    for n in range(0, X.shape[1], 2):
        Y[:, n] = X[:, n]
    return Y


def helper(X: Any) -> Any:
    return [row * 3 for row in X]


def through_a_helper(X: Any) -> Any:
    return np.stack(helper(X))


def names_used_before(X: Any) -> Any:
    row, found = X.sum(), X * 0
    for m in range(X.shape[0]):
        row = X[m] * 2
        found[m] = row
    for m in range(X.shape[0]):
        row = X[m] + found[m]
        found[m] = row - 1
    return found


def concrete(X: Any) -> Any:
    total = X * 0
    for n in range(5):
        if n == 3:
            continue
        total = total * 0.5 + X * n
    return total


def averaged(X: Any) -> Any:
    e = np.ones(X.shape[1])
    for m in range(X.shape[0]):
        e = e * -0.75 + X[m] * m
    return e


def averaged_in_place(X: Any) -> Any:
    e = X[0] * 1
    for row in X:
        e *= 0.5
        e += row
    return e


def recurrence(X: Any) -> Any:
    e = np.zeros(X.shape[1])
    for row in X:
        e = e * row + 0.5
    return e


def kept_after(X: Any) -> Any:
    e, kept = np.ones(X.shape[1]), np.zeros(X.shape)
    for m in range(X.shape[0]):
        e = e * X[m] + m
        kept[m] = e
    return kept


def kept_before(X: Any) -> Any:
    e, kept = X[0] * 2, np.zeros(X.shape)
    for m in range(X.shape[0]):
        kept[m] = e
        e = e * X[m] + 1
    return kept


def kept_changed(X: Any) -> Any:
    e, s, kept = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape)
    for m in range(X.shape[0]):
        e = e * 0.5 + X[m]
        s = s + X[m]
        kept[X.shape[0] - 1 - m] = e - 2 * s
    return kept


def listed_after(X: Any) -> Any:
    e, rows = np.zeros(X.shape[1]), []
    for m in range(X.shape[0]):
        e = X[m] * e + X[m]
        rows.append(e)
    return np.stack(rows)


def listed_before(X: Any) -> Any:
    e, rows = X[0] * 0 + 1, []
    for row in X:
        rows.append(2 * e - row)
        e = e + row
    return np.array(rows)


def kept_of_columns(X: Any) -> Any:
    e, kept = np.zeros((X.shape[0],)), np.zeros(X.shape)
    for n in range(X.shape[1]):
        e = np.maximum(e, X[:, n])
        kept[:, n] = e
    return kept


def branches(X: Any) -> Any:
    return np.stack([row if m else row * 2 for m, row in enumerate(X)])


def branches_on_data(X: Any) -> Any:
    Y = np.ones_like(X)
    total = np.zeros(X.shape[1])
    for m in range(X.shape[0]):
        if X[m, 0] > 0:
            Y[m] = X[m] * 2
            total = total + X[m]
        elif m > 1:
            Y[m, 1:] = 3.0
        else:
            total = total - m
    return Y + total


def appended_in_branches(X: Any) -> Any:
    rows = []
    for m, row in enumerate(X):
        if X[m, 0] > 0 and m > 0:
            rows.append(row)
        else:
            rows.append(np.zeros(X.shape[1]))
    return np.stack(rows)


def passed_over(X: Any) -> Any:
    Y = np.zeros_like(X)
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            if n > m:
                continue
            Y[m, n] = X[m, n]
    return Y


def several_appends(X: Any) -> Any:
    rows = []
    for row in X:
        rows.append(row)
        rows.append(row * 2)
        rows.append(1 - row)
    return np.stack(rows)


def appended_in_a_loop_inside(X: Any) -> Any:
    rows = []
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            rows.append(X[m, n] * m - n)
    return np.stack(rows).reshape(X.shape)


def set_where_padding_was(X: Any) -> Any:
    Y, P = np.zeros(X.shape), np.concatenate([np.zeros((2, X.shape[1])), X])
    for m in range(X.shape[0]):
        Y[m] = P[m] + P[m + 1] + P[m + 2]
    return Y


def averaged_in_two_loops(X: Any) -> Any:
    Y = np.zeros(X.shape[0])
    for m in range(X.shape[0]):
        for n in range(X.shape[1]):
            Y[m] = 0.5 * Y[m] + X[m, n]
    return Y


def changed_once(X: Any) -> Any:
    Y = X * 2
    for m in range(X.shape[0]):
        Y[m] /= m + 1
        Y[m] = np.exp(Y[m]) - Y[m] * X[m]
    return Y


@pytest.mark.parametrize(
    "function",
    [
        averaged_in_two_loops, changed_once,
        branches, branches_on_data, appended_in_branches, passed_over,
        several_appends, appended_in_a_loop_inside, set_where_padding_was,
        recurrence, kept_after, kept_before, kept_changed, kept_of_columns,
        listed_after, listed_before,
        averaged, averaged_in_place,
        stacked, stacked_last, joined, added, largest, numbered, zipped, twice,
        assigned_where_data_say, through_a_helper_that_rounds,
        assigned, assigned_in_two_loops, assigned_backwards, assigned_every_other,
        counted, counted_in_place, from_a_number, running_maximum,
        smallest_of_some, appended, last, in_steps,
        through_a_helper, names_used_before, concrete,
    ],
)  # fmt: skip
def test_loops(function: Any) -> None:
    agree(function, MATRIX, *SIZES)


def test_attention_of_grouped_heads() -> None:
    def function(Q: Any, K: Any) -> Any:
        heads, groups = Q.shape[0], K.shape[0]
        return np.stack([K[h // (heads // groups)] @ Q[h] for h in range(heads)])

    made = agree(function, {"Q": "H D", "K": "G T D"}, {"H": 6, "G": 2, "D": 3, "T": 2})
    assert "G divides H" in made.needs


def carried(X: Any) -> Any:
    begin, parts = 0, []
    for row in X:
        parts.append(row * begin)
        begin = begin + 1
    return np.stack(parts)


def of_another(X: Any) -> Any:
    e, f, kept = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape)
    for m in range(X.shape[0]):
        e = e * X[m] + f
        f = f * X[m] + e
        kept[m] = e
    return kept


def first_only(X: Any) -> Any:
    first, kept = True, X[0] * 0
    for row in X:
        if first:
            kept = kept + row
        first = False
    return kept


def two_to_one(X: Any) -> Any:
    Y = np.zeros_like(X)
    for m in range(X.shape[0]):
        Y[m // 2] = X[m]
    return Y


def reads_what_it_writes(X: Any) -> Any:
    Y = X.copy()
    for m in range(1, X.shape[0]):
        Y[m] = Y[m - 1] * 2
    return Y


def hidden_state(X: Any) -> Any:
    seen = {"n": 0}
    total = X[0] * 0
    for row in X:
        total = total + row * seen["n"]
        seen["n"] = seen["n"] + 1
    return total


def hidden_iterator(X: Any) -> Any:
    numbers = reversed([1, 2, 3])
    return np.stack([row * next(numbers) for row in X])


def last_round(X: Any) -> Any:
    for row in X:
        found = row * 2
    return found


def left(X: Any) -> Any:
    for m in range(X.shape[0]):
        if m == 2:
            break
    return X


def changed_by_two_rounds(X: Any) -> Any:
    Y = X.copy()
    for m in range(X.shape[0]):
        Y[m // 2] = Y[m // 2] * Y[m // 2] + X[m]
    return Y


def changed_by_the_round_before(X: Any) -> Any:
    Y = X.copy()
    for m in range(1, X.shape[0]):
        Y[m - 1] = Y[m - 1] * X[m]
        Y[m] = np.exp(Y[m])
    return Y


def branches_on_the_rounds_before(X: Any) -> Any:
    best = X[0, 0]
    for m in range(X.shape[0]):
        if X[m, 0] > best:
            best = X[m, 0] * 2
    return X * best


def appends_in_one_branch(X: Any) -> Any:
    rows = []
    for row in X:
        if row[0] > 0:
            rows.append(row)
    return np.stack(rows)


def fails_in_a_branch(X: Any) -> Any:
    Y = np.zeros_like(X)
    for m in range(X.shape[0]):
        if X[m, 0] > 7:
            raise ValueError("large")
        Y[m] = X[m]
    return Y


def appends_more_each_time(X: Any) -> Any:
    rows = []
    for m in range(X.shape[0]):
        for n in range(m):
            rows.append(X[m] * n)
    return np.stack(rows)


def while_loop(X: Any) -> Any:
    m, total = 0, 0.0
    while m < X.shape[0]:
        total = total + X[m]
        m += 1
    return total


def changing_comprehension(X: Any) -> Any:
    rows: list[Any] = []
    [rows.append(row) for row in X]
    return np.stack(rows)


def reduced_behind_our_back(X: Any) -> Any:
    import functools

    return functools.reduce(lambda a, b: a + b, [row for row in X])


@pytest.mark.parametrize(
    "function",
    [
        carried, of_another, first_only, two_to_one, reads_what_it_writes,
        hidden_state, hidden_iterator, last_round, left, while_loop,
        changed_by_two_rounds, changed_by_the_round_before,
        branches_on_the_rounds_before, appends_in_one_branch, fails_in_a_branch,
        appends_more_each_time, changing_comprehension, reduced_behind_our_back,
    ],
)  # fmt: skip
def test_what_is_not_derived(function: Any) -> None:
    with pytest.raises(Unknown):
        for array in traced(function, MATRIX).results:
            names = [array.tracing.world.fresh("at", 0, n) for n in array.sizes]
            array.at(names)


def test_a_text_that_is_not_the_function_s_is_not_used() -> None:
    text = "def f(X):\n    return np.stack([row * 2 for row in X])\n"
    names: dict[str, Any] = {"np": np}
    exec(compile(text, "reference.py", "exec"), names)

    def trace(source: str | None) -> None:
        tracing = traced(stacked, MATRIX).tracing
        X = traced(stacked, MATRIX).arguments["X"]
        called(tracing, names["f"], (X,), {}, source)

    trace(text)
    for source in (None, text.replace("row * 2", "row[::-1]"), "def g(X):\n    pass\n"):
        with pytest.raises(Unknown, match="iterates M times"):
            trace(source)
