"""Whole numbers of few bits, and of none below 0: what is left of them is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import agree, traced

from argus.terms import Unknown

SIZES = ({"M": 3, "N": 4}, {"M": 1, "N": 5}, {"M": 4, "N": 1})
SMALL = {"i": "M N:i32"}
"""Numbers from 0 to the smaller size."""


def _added(i: Any) -> Any:
    total = np.zeros(2, np.int8)
    np.add.at(total, np.zeros(3, int), np.int8(100))
    return total.astype(np.int64) + i[0, 0]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "inverted": lambda i: ~i.astype(np.uint8),
    "inverted, 32 bits": lambda i: ~i.astype(np.uint32),
    "inverted, with a sign": lambda i: ~i.astype(np.int8),
    "chosen": lambda i: np.where(i > 0, i.astype(np.int8), 300),
    "selected": lambda i: np.select([i > 0], [i.astype(np.int8)], 300),
    "added by positions": _added,
    "a sum without a sign": lambda i: i.astype(np.uint8).sum(1) - 5,
    "asked of a sum without a sign": lambda i: i.astype(np.uint8).sum(1) - 5 > 0,
    "running sums without a sign": lambda i: np.cumsum(i.astype(np.uint8), 1) - 3,
    "a product without a sign": lambda i: i.astype(np.uint8).prod(1) - 3 > 0,
    "a trace without a sign": lambda i: np.trace(i.astype(np.uint8)) // 2,
    "accumulated truths": lambda i: np.add.accumulate(i > 0, axis=1),
    "accumulated": lambda i: np.add.accumulate(i.astype(np.int8), axis=1) * 100,
    "multiplied up": lambda i: np.multiply.accumulate(i.astype(np.int8), 1) * 100,
    "rounded": lambda i: np.round(i.astype(np.int8)) * 100,
    "computed in a type": lambda i: np.multiply(
        i.astype(np.int8) * 50, 4, dtype=np.int64
    ),
    "from a start": lambda i: i.sum(1, initial=0.5) + i.max(1, initial=2.5),
    "a rounded size": lambda i: i * round(i.shape[0] / 2),
    "an element of all": lambda i: i * i.item(1 - 1) + i.item(i.size - 1),
    "an element by its indices": lambda i: i * i.item(0, -1) + i.item((-1, 0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_type_does_not_hold(name: str) -> None:
    agree(FUNCTIONS[name], SMALL, *SIZES)


def test_a_reciprocal_of_whole_numbers_is_not_traced() -> None:
    made = traced(lambda i: np.reciprocal(i + 1), SMALL)
    (result,) = made.results
    with pytest.raises(Unknown, match="reciprocal"):
        result.at(result.sizes)


def test_what_is_computed_in_less_is_not_traced() -> None:
    with pytest.raises(Unknown, match="dtype"):
        traced(lambda i: np.add(i / 2, i, dtype=np.int32), SMALL)


def test_a_conversion_without_a_copy_is_the_array() -> None:
    def same(X: Any) -> Any:
        Y = X.astype(np.float64, copy=False)
        Y += 1
        return X

    def other(X: Any) -> Any:
        Y, Z = X.astype(np.float32, copy=False), X.astype(np.float64)
        Y += 1
        Z += 1
        return X

    agree(same, {"X": "M N"}, *SIZES)
    agree(other, {"X": "M N"}, *SIZES)
