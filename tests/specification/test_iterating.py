"""What loops of symbolic length go through backwards, and lists that are reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import agree, traced

from argus.terms import Unknown

SIZES = ({"M": 3, "N": 4}, {"M": 1, "N": 5}, {"M": 4, "N": 1})
MATRIX = {"X": "M N"}


def of_a_range(X: Any) -> Any:
    Y = np.zeros(X.shape)
    total = np.zeros(X.shape[1])
    for m in reversed(range(X.shape[0])):
        total = total * 0.5 + X[m]
        Y[m] = total
    return Y


def of_part_of_a_range(X: Any) -> Any:
    total = np.zeros(X.shape[1])
    for m in reversed(range(1, X.shape[0])):
        total = total * 2 + X[m] - X[m - 1]
    return total


def of_rows(X: Any) -> Any:
    return np.stack([row * 2 for row in reversed(X)])


def largest_of_a_list(X: Any) -> Any:
    return np.maximum.reduce([X, X * 2, 1 - X])


def sum_of_a_tuple(X: Any) -> Any:
    return np.add.reduce((X, X[::-1]))


def along_an_axis(X: Any) -> Any:
    return np.minimum.reduce(X, axis=1)


def composited(X: Any) -> Any:
    left, seen = np.ones(X.shape[1]), np.zeros(X.shape[1])
    for row in X:
        seen = seen + left * row
        left = left * (1 - row / 2)
    return seen


def of_the_one_before(X: Any) -> Any:
    first, second, third = X[0] * 0, X[0] * 0, X[0] * 0
    for m in range(X.shape[0]):
        first = first + X[m]
        second = second * 0.5 + first
        third = third + second * X[m]
    return third


@pytest.mark.parametrize(
    "function",
    [
        *(composited, of_the_one_before),
        *(of_a_range, of_part_of_a_range, of_rows),
        *(largest_of_a_list, sum_of_a_tuple, along_an_axis),
    ],
)
def test_is_what_numpy_says(function: Any) -> None:
    agree(function, MATRIX, *SIZES)


def of_a_zip(X: Any) -> Any:
    total = np.zeros(X.shape[1])
    for a, b in reversed(zip(X, X)):  # type: ignore[call-overload]
        total = total + a * b
    return total


def test_what_python_does_not_give_backwards_is_not() -> None:
    with pytest.raises(Unknown, match="no sequence"):
        traced(of_a_zip, MATRIX)


def each_of_the_other(X: Any) -> Any:
    a, b = X[0] * 0, X[0] * 0 + 1
    for row in X:
        a, b = a + b * row, b - a * row
    return a


def test_what_depends_on_each_other_is_not_derived() -> None:
    with pytest.raises(Unknown, match="depend on each other"):
        (array,) = traced(each_of_the_other, MATRIX).results
        array.at([array.tracing.world.fresh("at", 0, n) for n in array.sizes])
