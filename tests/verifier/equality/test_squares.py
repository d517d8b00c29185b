"""What is never negative since it is a square, and what only looks like one."""

from __future__ import annotations

from argus.terms import Integer, Term, World, element, number
from argus.terms.integers import variable_of
from argus.terms.sums import sum_over
from argus.verify.equality.squares import is_square

X, Z = element("X", [Integer.of(0)]), element("Z", [Integer.of(0)])
ONE = number(1)


def test_squares_are_known() -> None:
    for root in (X - Z, X.scaled(2) - Z.scaled(3), X + ONE, X * Z - ONE, X - Z - ONE):
        assert is_square(root * root)


def test_what_may_be_negative_is_not() -> None:
    cross = (X * Z).scaled(2)
    for term in (
        X * X + Z * Z - cross.scaled(2),
        X * X - Z * Z,
        X * X + cross,
        (X * X + Z * Z - cross).scaled(-1),
        X * X + Z * Z - cross - ONE,
        X - Z,
    ):
        assert not is_square(term)


def test_sums_of_squares_are_over_one_set() -> None:
    world = World()
    size, other = world.size("K"), world.size("L")

    def total(term: Term, end: Integer) -> Term:
        inside = world.compare(k, ">=", 0) & world.compare(k, "<", end)
        return sum_over(world, [variable_of(k)], inside, term)

    k = world.fresh("k")
    a, b = element("A", [k]), element("B", [k])
    rest = total(b * b, size) - total(a * b, size).scaled(2)
    assert is_square(total(a * a, size) + rest)
    assert not is_square(total(a * a, other) + rest)
