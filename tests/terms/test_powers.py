"""Powers of sums, written out sums and truths of numbers: one form for each."""

from __future__ import annotations

from fractions import Fraction

import pytest

from argus.terms import (
    Integer,
    Term,
    Value,
    World,
    apply,
    element,
    number,
    reduce,
    whole,
)
from argus.terms.powers import is_nonnegative, is_positive, raised
from argus.terms.unrolled import written_out

W = World()
I = W.variable("i", 0, W.size("N"))  # noqa: E741 - the position of a vector
J = W.variable("j", 0, W.size("N"))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_power_of_a_root_is_a_root_times_powers(sign: int) -> None:
    difference = (element("X", [I]) - element("X", [J])).scaled(sign)
    square = difference * difference + number(1)
    root = raised(square, Fraction(-1, 2))
    assert raised(square, Fraction(-3, 2)) == root * root * root
    whole_root = raised(square, Fraction(1, 2))
    assert raised(square, Fraction(5, 2)) == square * square * whole_root


def test_sums_over_a_few_numbers_are_written_out_wherever_they_stand() -> None:
    k = W.variable("k", 0, 3)
    squares = reduce(
        W, "sum", [k], Value.real(element("P", [I, k]) * element("P", [I, k]))
    )
    each = sum(
        (
            element("P", [I, Integer.of(n)]) * element("P", [I, Integer.of(n)])
            for n in (1, 2)
        ),
        element("P", [I, Integer.of(0)]) * element("P", [I, Integer.of(0)]),
    )
    for name in ("sqrt", "exp", "tanh"):
        one = apply(W, name, squares).term
        assert one != apply(W, name, Value.real(each)).term
        assert written_out(W, one) == written_out(
            W, apply(W, name, Value.real(each)).term
        )


def test_an_extreme_of_whole_numbers_is_one_of_terms() -> None:
    a, b = W.entry("A", (I,)), W.entry("B", (I,))
    larger = whole(W.maximum(a, b))
    j = W.variable("j2", 0, 2)
    both = Value(
        "real", ((W.compare(j, "==", 0), whole(a)), (W.compare(j, "==", 1), whole(b)))
    )
    assert written_out(W, larger) == written_out(W, reduce(W, "max", [j], both).term)


def test_whether_a_number_is_above_0_is_a_number() -> None:
    assert W.truth_of("gt", number(Fraction(1, 2))) == Integer.of(1)
    assert W.truth_of("gt", number(0)) == Integer.of(0)
    assert W.truth_of("eq", number(0)) == Integer.of(1)
    assert W.truth_of("gt", element("X", [I])).constant is None


def test_the_larger_of_a_number_and_its_negative_is_not_negative() -> None:
    x, y = element("X", [I]), element("Y", [I])

    def larger(one: Term, other: Term) -> Term:
        return apply(W, "maximum", Value.real(one), Value.real(other)).term

    assert is_nonnegative(larger(x, -x))
    assert is_positive(larger(x + number(1), -x))
    assert not is_positive(larger(x, -x))
    assert not is_nonnegative(larger(x, -y))
    assert not is_nonnegative(larger(x - number(1), -x))
