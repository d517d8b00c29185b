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
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_type_does_not_hold(name: str) -> None:
    agree(FUNCTIONS[name], SMALL, *SIZES)


def test_a_reciprocal_of_whole_numbers_is_not_traced() -> None:
    made = traced(lambda i: np.reciprocal(i + 1), SMALL)
    (result,) = made.results
    with pytest.raises(Unknown, match="reciprocal"):
        result.at(result.sizes)


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
