"""How many points a set has: in an image, of windows that its borders cut."""

import pytest

from argus.terms import Integer, Term, World
from argus.terms.affine import same_count
from argus.terms.integers import variable_of
from argus.terms.restrict import restrict
from argus.terms.sets import IndexSet
from argus.terms.sums import indicator, sum_over
from argus.terms.term import ONE, whole

SIDE = 7


def _within(world: World, x: Integer) -> IndexSet:
    return world.compare(x, ">=", 1) & world.compare(x, "<=", SIDE)


def _tap(world: World, name: str) -> Integer:
    return world.variable(name, 0, Integer.of(3))


def _elements(world: World, row: Integer, column: Integer) -> Term:
    """Of the 3 x 3 elements around one how many are within an image of 7 x 7."""
    m, n = _tap(world, "m"), _tap(world, "n")
    inside = _within(world, row + m) & _within(world, column + n)
    return sum_over(world, [variable_of(m), variable_of(n)], world.close(inside), ONE)


def _pixel(world: World) -> tuple[Integer, Integer]:
    row, column = (world.variable(x, 0, Integer.of(SIDE)) for x in "rc")
    return row, column


@pytest.mark.parametrize(
    ("rows", "columns", "count"),
    [((1, 5), (6, 6), 6), ((0, 0), (0, 0), 4), ((3, 3), (2, 5), 9)],
)
def test_where_one_number_is_for_all_it_is_that(
    rows: tuple[int, int], columns: tuple[int, int], count: int
) -> None:
    world = World()
    pixel = _pixel(world)
    found = _elements(world, *pixel)
    there = IndexSet.universe
    for place, (least, largest) in zip(pixel, (rows, columns), strict=True):
        there = there & world.compare(place, ">=", least)
        there = there & world.compare(place, "<=", largest)
    there = world.close(there)
    wanted = whole(Integer.of(count)) * indicator(world, there)
    assert restrict(world, found, there) == wanted


def test_a_border_in_one_dimension_leaves_the_other_a_factor() -> None:
    world = World()
    row, column = _pixel(world)
    first = world.close(world.compare(column, "==", 0))
    found = _elements(world, row, column)
    m = _tap(world, "m")
    inside = world.close(_within(world, row + m))
    line = sum_over(world, [variable_of(m)], inside, ONE)
    assert restrict(world, found, first) == restrict(
        world, line * whole(Integer.of(2)), first
    )


def test_a_number_that_depends_on_others_is_none() -> None:
    world = World()
    row, m = world.variable("r", 0, Integer.of(SIDE)), _tap(world, "m")
    inside = world.close(world.compare(row + m, "<=", SIDE - 1))
    assert same_count(world, inside, [variable_of(m)]) is None
    low = world.compare(row, "<=", 4)
    count, others = same_count(world, world.close(inside & low), [variable_of(m)]) or (
        0,
        IndexSet.nothing,
    )
    assert count == 3
    assert others.same(world.close(low))
