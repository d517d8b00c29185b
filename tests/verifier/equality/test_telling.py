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
    point, *_ = telling(world, found)
    assert {v.name: x for v, x in point.items()}["N"] > 32


def test_the_same_number_everywhere_gives_any_point():
    world = World()
    n = world.size("N")
    term = summed(world, n)
    assert telling(world, Mismatch(world.compare(n, ">=", 1), term, term))


def test_no_point_of_nothing():
    world = World()
    n = world.size("N")
    term = summed(world, n)
    assert telling(world, Mismatch(world.compare(n, "<", 0), term, term)) == ()


def test_a_clamp_tells_at_the_least_size_beyond_it():
    world = World()
    n, m = world.size("N"), world.size("M")
    at = world.variable("at", 0, n)
    wrong, right = (
        leaf_term(Element("X", (index,))) for index in (world.minimum(at, 100000), at)
    )
    where = world.compare(at, "<", n) & world.compare(m, ">=", 1)
    point, *_ = telling(world, Mismatch(where, wrong, right))
    sizes = {v.name: x for v, x in point.items()}
    assert sizes["N"] == 100002 and sizes["at"] == 100001


def test_a_sum_that_lacks_a_point_tells_where_it_has_it():
    world = World()
    n = world.size("N")
    short = summed(world, world.minimum(n, 5000))
    point, *_ = telling(
        world, Mismatch(world.compare(n, ">=", 1), short, summed(world, n))
    )
    assert {v.name: x for v, x in point.items()}["N"] == 5001


def test_a_remainder_tells_where_it_is_no_identity():
    world = World()
    n = world.size("N")
    at = world.variable("at", 0, n)
    wrapped = leaf_term(Element("X", (world.remainder(at, Integer.of(70000)),)))
    right = leaf_term(Element("X", (at,)))
    point, *_ = telling(world, Mismatch(world.compare(at, "<", n), wrapped, right))
    assert {v.name: x for v, x in point.items()}["N"] == 70001
