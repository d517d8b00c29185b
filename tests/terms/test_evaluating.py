"""Evaluating terms at points: what it gives up."""

from __future__ import annotations

import pytest

from argus.terms import RandomData, Unknown, Value, World, element, evaluate, reduce


def test_a_sum_of_too_many_points_is_not_counted_out() -> None:
    world = World()
    n = world.size("N")
    k = world.variable("k", 0, n)
    total = reduce(world, "sum", [k], Value.real(element("X", [k]))).term
    (size,) = n.variables()
    assert evaluate(total, {size: 3}, RandomData()) > 0
    with pytest.raises(Unknown, match="too many"):
        evaluate(total, {size: 2_000_000_000}, RandomData())
