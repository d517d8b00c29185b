"""Remainders in what a number is, and the bounds that they have."""

from fractions import Fraction

import pytest

from argus.terms import World
from argus.terms.bounds import number, rounded_down
from argus.terms.remainders import remainders


def test_a_remainder_of_a_quotient() -> None:
    world = World()
    n = world.size("N")
    of_eight = world.quotient(n, 8)
    value = of_eight - 256 * world.quotient(of_eight, 256)
    left, rest = remainders(value)
    assert left == [(1, 256)]
    assert rest.constant == 0


@pytest.mark.parametrize("value", ["5 N + 3", "9 N + 3", "5 N", "7 N + 4"])
def test_a_remainder_of_a_quotient_of_which_a_part_is_whole(value: str) -> None:
    world = World()
    times, _, more = value.partition(" N")
    number = int(times) * world.size("N") + int(more.replace(" + ", "") or 0)
    of_two = world.quotient(number, 2)
    left, rest = remainders(of_two - 4 * world.quotient(number, 8))
    assert (left, rest.constant) in (([(1, 4)], 0), ([(-1, 4)], 3))


def test_a_quotient_beside_another_ones_dividend_stays() -> None:
    world = World()
    n, m = world.size("N"), world.size("M")
    value = world.quotient(n, 8) - 256 * world.quotient(m, 2048)
    assert remainders(value) == ([], value)


def test_whole_numbers_are_rounded_to_their_bounds() -> None:
    assert rounded_down((number(Fraction(5, 2)), number(Fraction(511, 2)))) == (
        number(3),
        number(255),
    )
