"""Fractions of sums in one form, and quotients of what launches require."""

from fractions import Fraction

import pytest

from argus.terms import (
    ONE,
    RandomData,
    Scalar,
    Term,
    World,
    evaluate,
    leaf_term,
    number,
    reduced,
    whole,
)
from argus.terms.fractions import divided
from argus.terms.powers import raised

X, Y = leaf_term(Scalar("x")), leaf_term(Scalar("y"))
BELOW = raised(X + Y + number(2), -1)


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        ((X + Y + number(2)) * BELOW, ONE),
        (X * BELOW, ONE - (Y + number(2)) * BELOW),
        (X * X * BELOW * BELOW * (X + Y + number(2)), X - X * (Y + number(2)) * BELOW),
        (Y * BELOW, Y * BELOW),
    ],
)
def test_what_stands_above_a_sum_is_divided_out(term: Term, wanted: Term) -> None:
    found = reduced(term)
    assert found == reduced(wanted)
    for seed in range(3):
        data = RandomData(seed)
        assert evaluate(found, {}, data) == evaluate(term, {}, data)


def test_quotients_of_multiples_have_no_constant_and_are_fractions() -> None:
    world = World()
    n, m = world.size("N"), world.size("M")
    rounded = [world.quotient(x + 127, 128) for x in (n, m)]
    world.require_divides(256, n)
    assert world.quotient(n + 127, 128) == world.quotient(n, 128)
    assert world.quotient(3 * n + 1, 64) == world.quotient(3 * n, 64)
    assert world.quotient(n + 511, 512) != world.quotient(n, 512)
    assert world.quotient(m + 127, 128) == rounded[1] != world.quotient(m, 128)
    for x, exact in ((n, True), (m, False)):
        found = divided(world, whole(world.quotient(x, 128)))
        assert (found == whole(x).scaled(Fraction(1, 128))) == exact


def test_a_quotient_is_below_a_size_where_its_dividend_is_below_the_product() -> None:
    world = World()
    b, h, w, p = (world.size(name) for name in "BHWP")
    q = world.quotient(p, h * w)
    inside = world.compare(p, "<", b * h * w)
    assert world.is_subset(inside, world.compare(q, "<", b))
    assert world.is_subset(inside, world.compare(q, ">=", 0))
    assert not world.is_subset(inside, world.compare(q, "<", b - 1))
    assert not world.is_subset(inside, world.compare(q, ">=", 1))
    over = world.compare(p, "<=", b * h * w)
    assert not world.is_subset(over, world.compare(q, "<", b))
    assert not world.is_empty(inside & world.compare(q, "==", b - 1))


def test_a_product_of_positive_numbers_is_positive() -> None:
    world = World()
    h, w = world.size("H"), world.size("W")
    assert not world.is_empty(world.compare(h * w, "==", 0))
    world.require(world.compare(h, ">", 0), "rows")
    assert not world.is_empty(world.compare(h * w, "==", 0))
    world.require(world.compare(w, ">", 0), "columns")
    assert world.is_empty(world.compare(h * w, "==", 0))
    assert not world.is_empty(world.compare(h * w, "==", 1))
