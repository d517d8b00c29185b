"""No variable of a sum becomes that of one inside of it, however high that one stands.

What a set says of data lifts a sum in which it is said: as high as the sum around it.
"""

from __future__ import annotations

import pytest

from argus.terms import (
    IndexSet,
    Integer,
    Value,
    World,
    apply,
    element,
    evaluate_value,
    holds_at,
    number,
    reduce,
    restrict,
)
from argus.terms.input_values import RandomData
from argus.terms.integers import variable_of
from argus.terms.leaves import bound
from argus.terms.naming import generator_of, sum_of

ZERO = Value.whole(0)


def above(world: World, value: Value) -> IndexSet:
    return apply(world, "gt", value, ZERO).where


def kept(world: World, k: Integer) -> IndexSet:
    return above(world, Value.real(element("X", [k])))


def some(world: World, extent: Integer, where: IndexSet) -> IndexSet:
    """Whether any element is kept, where a set holds: asked by a count."""
    k = world.variable("c", 0, extent)
    count = reduce(world, "sum", [k], Value.real(number(1)), kept(world, k) & where)
    return above(world, count)


@pytest.mark.parametrize("function", ["sum", "max"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_sum_in_a_sum_where_counts_are_known(function: str, depth: int) -> None:
    world = World()
    extent = world.size("N")
    every = IndexSet.universe
    where = [every]
    for _ in range(depth):
        where.append(some(world, extent, where[-1]) & where[-1])
    k, j = world.variable("k", 0, extent), world.variable("j", 0, extent)
    product = element("K", [k, j]) * element("Q", [j])
    inner = reduce(world, "sum", [j], Value.real(product))
    inner = apply(world, "exp", inner) if function == "sum" else inner
    value = reduce(world, function, [k], inner, kept(world, k) & where[1])
    ((_, term),) = value.terms
    seen = 0
    for seed in range(8):
        point, data = {variable_of(extent): 3}, RandomData(seed)
        if not holds_at(where[-1], point, data):
            continue
        seen += 1
        cut = restrict(world, term, where[-1])
        wanted = evaluate_value(Value.real(term), point, data)
        assert wanted is not None
        assert evaluate_value(Value.real(cut), point, data) == pytest.approx(wanted)
    assert seen


@pytest.mark.parametrize("count", [1, 2])
def test_a_sum_takes_no_variable_that_it_mentions(count: int) -> None:
    """It may be bound by a sum that is made anew around it."""
    world = World()
    extent = world.size("N")
    variables = [world.variable(f"j{i}", 0, extent) for i in range(count)]
    around = bound(1, 2)[count - 1]
    body = element("Y", [Integer.atom(around)])
    for v in variables:
        body = body * element("X", [v])
    names = [variable_of(v) for v in variables]
    term = sum_of(world, names, IndexSet.universe, body)
    made = generator_of(world, names, IndexSet.universe, body)
    assert around in term.free_variables()
    assert around in made.free
    assert around not in made.variables
    again = sum_of(world, made.variables, made.domain, made.body)
    assert again == term
