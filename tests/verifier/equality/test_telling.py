"""Where terms differ, a run is told of sizes at which they are different numbers."""

from __future__ import annotations

from argus.terms import Element, Integer, Term, Value, World, leaf_term, reduce
from argus.verify.equality.result import Mismatch
from argus.verify.equality.telling import telling


def summed(world: World, stop: Integer) -> Term:
    """The sum of an input from 0 to a size."""
    k = world.variable("k")
    (variable,) = k.variables()
    where = world.compare(k, ">=", 0) & world.compare(k, "<", stop)
    value = Value.real(leaf_term(Element("X", (k,))))
    made = reduce(world, "sum", [variable], value, where)
    ((_, term),) = made.terms
    return term


def test_sums_that_differ_beyond_a_tile():
    world = World()
    n = world.size("N")
    first = world.minimum(n, 32)
    where = world.compare(n, ">=", 1)
    found = Mismatch(where, summed(world, n), summed(world, first))
    point = telling(world, found)
    assert point is not None
    assert {v.name: x for v, x in point.items()}["N"] > 32


def test_the_same_number_everywhere_gives_any_point():
    world = World()
    n = world.size("N")
    term = summed(world, n)
    point = telling(world, Mismatch(world.compare(n, ">=", 1), term, term))
    assert point is not None


def test_no_point_of_nothing():
    world = World()
    n = world.size("N")
    term = summed(world, n)
    assert telling(world, Mismatch(world.compare(n, "<", 0), term, term)) is None
