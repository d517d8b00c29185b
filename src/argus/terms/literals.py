"""Numbers that a program writes, and the constants that they stand for.

A literal within a few units in the last place of f32 of a constant is it, so that
`exp2(x * 1.4426950408889634)` is `exp(x)`. A finite stand-in for minus infinity is
infinity: its exponential is 0, and a maximum drops it. Each time that is noted as a
convention, for the report. Where a world says so (`large_numbers`), it is a number like
others: a kernel may store what hides an element, and a reference, too. A decimal of few
digits (0.125, 0.1) is taken at its word. What is a quotient of two small whole numbers
in all its 64 bits (1 / 255) is that quotient, and a part of a logarithm of a round
number (ln(10000) / 32) is that part.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, isnan, log, pi, sqrt
from typing import cast

from argus.terms.powers import logarithm, raised
from argus.terms.term import (
    LN2,
    MINUS_INFINITY,
    PI,
    Rational,
    Term,
    leaf_term,
    number,
    undefined,
)
from argus.terms.world import World

STAND_IN = 1e29
"""What is at least as large stands for infinity; f32 ends at 3.4e38."""
_CLOSE = 2.0**-22
"""A few units in the last place of f32, relative."""
_EXACT = 2.0**-50
"""A few units in the last place of f64, relative: of what a program has multiplied."""
_DIGITS = 6
"""A decimal of at most so many digits is no rounded constant."""
_WHOLE = 1 << 16
"""Whole numbers of which a quotient is recognised are no larger."""
_ROOTS = 1024
"""1 / sqrt(n) is recognised for n up to here."""
_PARTS = 512
"""Into how many parts a logarithm may be divided: the elements of a head."""
_LONGEST = 21.0
"""Logarithms of round numbers are recognised up to here: ln(10**9)."""
_DECIMAL = frozenset(r * r for r in range(1, 33) if 10**5 % r == 0)
"""Squares of which 1 / sqrt(n) is a short decimal: what is near to it is not it."""

_CONSTANTS: tuple[tuple[str, float, Rational, Rational, Rational], ...] = (
    # name, value, and the powers of ln 2, pi and 2 that it is
    ("log2(e)", 1 / log(2), -1, 0, 0),
    ("ln(2)", log(2), 1, 0, 0),
    ("pi", pi, 0, 1, 0),
    ("2 pi", 2 * pi, 0, 1, 1),
    ("1/pi", 1 / pi, 0, -1, 0),
    ("sqrt(2/pi)", sqrt(2 / pi), 0, Fraction(-1, 2), Fraction(1, 2)),
    ("2 sqrt(2/pi)", 2 * sqrt(2 / pi), 0, Fraction(-1, 2), Fraction(3, 2)),
    ("2/sqrt(pi)", 2 / sqrt(pi), 0, Fraction(-1, 2), 1),
    ("pi/2", pi / 2, 0, 1, -1),
    ("1/(2 pi)", 1 / (2 * pi), 0, -1, -1),
    ("sqrt(pi)", sqrt(pi), 0, Fraction(1, 2), 0),
    ("sqrt(2 pi)", sqrt(2 * pi), 0, Fraction(1, 2), Fraction(1, 2)),
    ("sqrt(pi/2)", sqrt(pi / 2), 0, Fraction(1, 2), Fraction(-1, 2)),
    ("1/sqrt(2 pi)", 1 / sqrt(2 * pi), 0, Fraction(-1, 2), Fraction(-1, 2)),
    ("sqrt(2)", sqrt(2), 0, 0, Fraction(1, 2)),
)


def literal(world: World, value: float) -> Term:
    """The term of a number that a program writes."""
    if isnan(value):
        return undefined("not a number")
    if abs(value) >= STAND_IN and (abs(value) == inf or not world.large_numbers):
        if abs(value) == inf:
            world.true_infinity = True
        else:
            world.finite_infinity = True
            world.convention(f"{value!r} is taken for infinity")
        return -MINUS_INFINITY if value > 0 else MINUS_INFINITY
    exact = Fraction(repr(float(value)))
    if _digits(value) <= _DIGITS:
        return number(exact)
    named = _named(abs(value)) or _logarithm(world, abs(value))
    if named is None:
        ratio = _ratio(value)
        if ratio is None or ratio == exact:
            return number(exact)
        world.convention(f"{value!r} is taken for {ratio}")
        return number(ratio)
    name, term = named
    world.convention(f"{value!r} is taken for {'-' if value < 0 else ''}{name}")
    return -term if value < 0 else term


def _ratio(value: float) -> Fraction | None:
    """The quotient of two small whole numbers that has become a number of 64 bits."""
    found = Fraction(value).limit_denominator(_WHOLE)
    close = abs(found - Fraction(value)) <= _EXACT * abs(found)
    return found if close and 0 < abs(found.numerator) <= _WHOLE else None


def _named(value: float) -> tuple[str, Term] | None:
    """The constant that a positive number stands for."""
    for name, constant, *powers in _CONSTANTS:
        if abs(value - constant) <= _CLOSE * constant:
            return name, _constant(*powers)
    for log2e in (False, True):
        # 1 / sqrt(n), the scale of attention, and the same times log2(e)
        square = (value * (log(2) if log2e else 1)) ** -2
        n = round(square)
        if not log2e and n in _DECIMAL:
            continue
        if 1 <= n <= _ROOTS and abs(square - n) <= 2 * _CLOSE * n:
            term = raised(number(n), Fraction(-1, 2))
            if log2e:
                return f"log2(e)/sqrt({n})", term * leaf_term(LN2, -1)
            return f"1/sqrt({n})", term
    for name, constant, *powers in _CONSTANTS:
        times = value / constant
        short = float(f"{times:.{_DIGITS}g}")
        if short and abs(times - short) <= _EXACT * short:
            made = number(Fraction(repr(short))) * _constant(*powers)
            return f"{name} * {short:g}", made
    return None


def _logarithm(world: World, value: float) -> tuple[str, Term] | None:
    """See `_named_logarithm`, which tries much."""
    key = ("logarithm", value)
    if key not in world.memory:
        world.memory[key] = _named_logarithm(value)
    return cast("tuple[str, Term] | None", world.memory[key])


def _named_logarithm(value: float) -> tuple[str, Term] | None:
    """The part of a logarithm of a round number that a positive number stands for.

    Of ``theta ** (-2 i / d)`` a kernel has ``ln(theta) * 2 / d`` as a literal, or the
    same of log2.
    """
    for name, ln2 in (("ln", 1.0), ("log2", log(2))):
        for parts in range(1, _PARTS + 1):
            exponent = value * ln2 * parts
            if exponent > _LONGEST:
                break
            n = round(exp(exponent))
            if (
                n & (n - 1)
                and _is_round(n)
                and abs(exponent - log(n)) <= _EXACT * exponent
            ):
                term = logarithm(number(n)) * number(Fraction(1, parts))
                if name == "log2":
                    term = term * leaf_term(LN2, -1)
                return f"{name}({n})" + (f"/{parts}" if parts > 1 else ""), term
    return None


def _is_round(n: int) -> bool:
    """Whether all but the first two digits of a number are 0."""
    return n % 10 ** max(len(str(n)) - 2, 0) == 0


def _constant(ln2: Rational, of_pi: Rational, two: Rational) -> Term:
    """A product of powers of ln 2, pi and 2."""
    term = raised(leaf_term(LN2), ln2) * raised(leaf_term(PI), of_pi)
    return term * raised(number(2), two)


def _digits(value: float) -> int:
    """How many significant decimal digits a number is written with."""
    mantissa = repr(float(value)).lower().partition("e")[0]
    return len(mantissa.replace("-", "").replace(".", "").strip("0"))
