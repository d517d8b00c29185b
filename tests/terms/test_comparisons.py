"""What comparisons of data say of each other holds for all data, and is used."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.terms import ONE, Integer, Term, World, element, intersection, number
from argus.terms.comparisons import asked, together
from argus.terms.integers import Truth

Line = tuple[int, int, int]
"""``a*x + b*z + c``"""
Asked = tuple[Literal["gt", "eq"], Line]
X, Z = element("X", [Integer.of(0)]), element("Z", [Integer.of(0)])
NUMBERS = [Fraction(n, 2) for n in range(-6, 7)]


def term_of(line: Line) -> Term:
    a, b, c = line
    return X.scaled(a) + Z.scaled(b) + number(c)


def truth_of(one: Asked) -> Truth:
    return Truth(one[0], asked(term_of(one[1]), signed=one[0] == "gt"))


def holds(one: Asked, x: Fraction, z: Fraction) -> bool:
    a, b, c = one[1]
    value = a * x + b * z + c
    return value > 0 if one[0] == "gt" else value == 0


LINES = st.tuples(*(st.integers(-2, 2) for _ in range(3))).filter(lambda x: any(x[:2]))
ASKED = st.tuples(st.sampled_from(("gt", "gt", "eq")), LINES)


@settings(max_examples=60)
@given(st.lists(ASKED, min_size=2, max_size=4))
def test_no_data_contradicts_what_is_known(several: list[Asked]) -> None:
    world = World()
    truths = [truth_of(one) for one in several]
    known = together(world, dict.fromkeys(truths))
    for one in several:  # the opposite of one, too
        a, b, c = one[1]
        opposite: Asked = ("gt", (-a, -b, -c))
        known = known & together(world, [*truths, truth_of(opposite)])
        several = [*several, opposite]
    seen = {
        tuple(holds(one, x, z) for one in several) for x, z in product(NUMBERS, NUMBERS)
    }
    for values in seen:
        said = (
            world.compare(Integer.atom(truth_of(one)), "==", int(value))
            for one, value in zip(several, values, strict=True)
        )
        assert not (known & intersection(said)).is_nothing


IMPOSSIBLE: list[tuple[tuple[Asked, bool], ...]] = [
    ((("gt", (1, 0, -3)), True), (("gt", (1, 0, 0)), False)),
    ((("gt", (1, 0, -3)), True), (("gt", (-1, 0, -3)), True)),
    ((("gt", (1, 0, 0)), True), (("gt", (-2, 0, 0)), True)),
    ((("gt", (2, 0, -1)), False), (("gt", (-1, 0, 1)), False)),
    ((("eq", (1, 0, -1)), True), (("gt", (1, 0, 0)), False)),
    ((("eq", (1, 0, -1)), True), (("eq", (1, 0, 1)), True)),
    (
        (("gt", (1, 0, 0)), False),
        (("gt", (-1, 0, 0)), False),
        (("eq", (1, 0, 0)), False),
    ),
    # x > z, -x > z and z >= 0
    (
        (("gt", (1, -1, 0)), True),
        (("gt", (-1, -1, 0)), True),
        (("gt", (0, -1, 0)), False),
    ),
]


@pytest.mark.parametrize("several", IMPOSSIBLE)
def test_what_no_data_has_is_empty(several: tuple[tuple[Asked, bool], ...]) -> None:
    world = World()
    said = [
        world.compare(Integer.atom(truth_of(one)), "==", int(value))
        for one, value in several
    ]
    assert world.is_empty(intersection(said))
    for some in combinations(said, len(said) - 1):
        assert not world.is_empty(intersection(some))


def test_forms_of_one_question() -> None:
    ours = asked(X.scaled(2) - Z.scaled(4), signed=True)
    assert ours == asked(X.scaled(Fraction(1, 2)) - Z, signed=True)
    assert ours != asked(Z.scaled(4) - X.scaled(2), signed=True)
    assert asked(X - ONE, signed=False) == asked(ONE - X, signed=False)
