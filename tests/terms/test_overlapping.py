"""Sums over sets that overlap: split into few parts, and always the same sum."""

import pytest

from argus.terms import Term, World, element, evaluate
from argus.terms.input_values import RandomData
from argus.terms.integers import Variable
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ZERO


@pytest.mark.parametrize("count", [2, 4, 9])
def test_a_sum_over_sets_that_overlap_stays_the_same(count: int) -> None:
    """Nine sets of which each may hold or not where the others do are 512 parts."""
    world = World()
    k = world.variable("k", 0, 8)
    (bound,) = k.variables()
    total, point = ZERO, dict[Variable, int]()
    for i in range(count):
        low, high = (world.variable(f"{end}{i}", 0, 100) for end in ("low", "high"))
        point |= dict.fromkeys(low.variables(), i % 4)
        point |= dict.fromkeys(high.variables(), 2 + i % 5)
        inside = world.compare(low, "<=", k) & world.compare(k, "<", high)
        made = sum_over(world, [bound], inside, element("X", [k]))
        total = total + made.scaled(i + 1)
    data = RandomData(3)
    found = tidy(world, total)
    assert isinstance(found, Term)
    assert evaluate(found, point, data) == pytest.approx(evaluate(total, point, data))
