"""Powers: `x ** y` for an exponent that is a number, or a base that is above 0."""

from __future__ import annotations

import math
from fractions import Fraction

from argus.terms import (
    IndexSet,
    Integer,
    Term,
    TermObligation,
    Unknown,
    Value,
    World,
    apply,
    cast,
    literal,
)
from argus.terms import number as term_of
from argus.terms.apply import lifted
from argus.terms.arithmetic import power as raised
from argus.terms.required import is_required_above_zero

_FACTORED = 1 << 32
"""Numbers below are prime factors to their logarithms."""
_LARGEST = 64
"""Exponents of integers; a larger one is a mistake or a very long polynomial."""


def power(world: World, base: Value, exponent: Value) -> Value:
    """``base ** exponent``.

    Of any exponent where the base is a number above 0, or one of scalars that a launch
    requires to be. Raises Unknown for others: for a base that may be negative there is
    no real result, and nothing says that it is not.
    """
    number = number_of(exponent)
    if number is not None and base.kind == "real":
        whole = int(number) if number.denominator == 1 else number
        return lifted(world, lambda w, where, a: _power(w, where, a[0], whole), [base])
    if number is not None:
        return _of_integers(world, base, number)
    fixed = number_of(base)
    if fixed is not None and fixed > 0 and exponent.kind == "real":
        return apply(
            world, "exp", apply(world, "mul", exponent, _logarithm(world, fixed))
        )
    if base.kind == "real" and exponent.kind != "truth" and _is_above_zero(world, base):
        log = apply(world, "log", base)
        times = apply(world, "mul", cast(world, exponent, "real"), log)
        return apply(world, "exp", times)
    why = "the reference has a power whose exponent is no number"
    raise Unknown(f"{why}, of a base that no requirement says to be above 0")


def _is_above_zero(world: World, base: Value) -> bool:
    """Whether requirements say of a number that it is above 0."""
    if len(base.cases) != 1 or not base.cases[0][0].is_universe:
        return False
    ((_, term),) = base.terms
    return is_required_above_zero(world, term)


def _logarithm(world: World, base: Fraction) -> Value:
    """The logarithm of a number, exactly where it has few digits."""
    if max(base.numerator, base.denominator) < _FACTORED:
        return apply(world, "log", Value.real(term_of(base)))
    return Value.real(literal(world, math.log(float(base))))


def _power(world: World, where: IndexSet, term: Term, exponent: int | Fraction) -> Term:
    """A power of a number, which is none where a root of any order is negative."""
    if isinstance(exponent, Fraction) and exponent.denominator % 2:
        world.obligations.add(TermObligation("root", term, where, None, "a power"))
    return raised(world, where, term, exponent)


def number_of(value: Value) -> Fraction | None:
    """The number that a value is everywhere, or None."""
    if value.kind == "truth" or len(value.cases) != 1:
        return None
    where, found = value.cases[0]
    if not where.is_universe or found.constant is None:
        return None
    return Fraction(found.constant)


def _of_integers(world: World, base: Value, exponent: Fraction) -> Value:
    if exponent.denominator != 1 or not 0 <= exponent <= _LARGEST:
        raise Unknown(f"the reference raises integers to {exponent}")
    found = Value.whole(Integer.of(1))
    for _ in range(int(exponent)):
        found = apply(world, "mul", found, base)
    return found
