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


@pytest.mark.parametrize(
    "function",
    [
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
