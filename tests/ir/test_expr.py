"""The values of scalar expressions: on arrays, what Python computes of each element."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from argus.ir.dtypes import DTYPES
from argus.ir.expr import Binary, BinaryOp, Expr, Select, Sym, binary, evaluate

X, Y = (Sym(n, "let", nonneg=False) for n in "xy")
POINTS = [(x, y) for x in (-2, 0, 1, 3) for y in (-3, 1, 2)]


def checked(e: Expr, points: list[tuple[int, int]]) -> None:
    x, y = np.array(points).T
    found: NDArray[Any] = np.asarray(evaluate(e, {"x": x, "y": y}))
    for i, (a, b) in enumerate(points):
        one = evaluate(e, {"x": a, "y": b})
        assert found[i] == one, (str(e), a, b)
        zero = evaluate(e, {"x": np.int64(a), "y": np.int64(b)})
        assert zero == one, (str(e), a, b)


@pytest.mark.parametrize("op", get_args(BinaryOp))
def test_truth_values_are_numbers(op: BinaryOp) -> None:
    """``(x < y) - (y < 2)`` is -1, 0 or 1, of arrays as of single numbers."""
    truths = [binary("<", X, Y), binary("<", Y, 2), binary(">=", X, 1)]
    for left in truths:
        for right in truths:
            e = Binary(op, left, right)
            nonzero = [(a, b) for a, b in POINTS if evaluate(right, {"x": a, "y": b})]
            points = nonzero if op in ("/", "//", "%") else POINTS
            if points:
                checked(e, points)
            if op not in ("/", "//", "%"):
                checked(Select(left, right, X), POINTS)
                checked(Binary("+", e, X), POINTS)


def test_the_whole_numbers_of_a_type() -> None:
    for dtype in DTYPES.values():
        low, high = dtype.integers
        if dtype.kind == "int":
            limits = np.iinfo(dtype.numpy)
            assert (low, high) == (limits.min, limits.max), dtype
        elif dtype.kind == "bool":
            assert (low, high) == (0, 1)
        else:
            assert -low == high == 2**dtype.precision
