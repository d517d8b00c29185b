"""Bounds of numbers: how far below 0 they may lie, and how far above.

Each is a polynomial of sizes, all of which are at least 0, as are its coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product as choices
from math import ceil, floor

from argus.terms.integers import Monomial

__all__ = [
    "NOTHING",
    "Between",
    "Polynomial",
    "Side",
    "added",
    "beyond_one",
    "degree",
    "either",
    "less",
    "met",
    "multiplied",
    "number",
    "plus",
    "positive",
    "rounded_down",
    "scaled",
    "tighter",
    "times",
    "union",
]

Polynomial = Mapping[Monomial, Fraction]
"""Of sizes, with coefficients that are at least 0."""
Side = Polynomial | None
Between = tuple[Side, Side]
"""How far below 0 a number may lie, and how far above; None: nothing is known."""
NOTHING: Polynomial = {}
"""The bound 0."""


def number(value: int | Fraction) -> Polynomial:
    """A bound that no size changes; 0 where it would be less."""
    return {(): Fraction(value)} if value > 0 else NOTHING


def beyond_one(side: Polynomial) -> bool:
    """Whether a bound may be more than 1."""
    return any(m != () or c > 1 for m, c in side.items())


def positive(polynomial: Polynomial) -> Polynomial:
    """What is not less: without what is taken away."""
    return {m: c for m, c in polynomial.items() if c > 0}


def less(high: Polynomial, low: Polynomial) -> Polynomial:
    """How many whole numbers lie between two bounds."""
    found = dict(high)
    for monomial, c in low.items():
        found[monomial] = found.get(monomial, Fraction(0)) - c
    found[()] = found.get((), Fraction(0)) + 1
    return found


def degree(polynomial: Polynomial) -> tuple[int, Fraction]:
    """By which bounds are compared: at large sizes, the less one is less."""
    most = max((len(m) for m in polynomial), default=0)
    return most, sum((c for m, c in polynomial.items() if len(m) == most), Fraction(0))


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    """The product of two bounds."""
    found: dict[Monomial, Fraction] = {}
    for (a, c), (b, d) in choices(left.items(), right.items()):
        both = tuple(sorted(a + b, key=lambda atom: atom.key))
        found[both] = found.get(both, Fraction(0)) + c * d
    return found


def union(left: Side, right: Side) -> Side:
    """What is not less than either."""
    if left is None or right is None:
        return None
    zero = Fraction(0)
    return {m: max(left.get(m, zero), right.get(m, zero)) for m in {**left, **right}}


def tighter(left: Side, right: Side) -> Side:
    """One of two bounds of the same number."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right, key=degree)


def either(one: Between, other: Between) -> Between:
    """Bounds of what is the one number or the other."""
    return union(one[0], other[0]), union(one[1], other[1])


def met(one: Between, other: Between) -> Between:
    """Bounds of a number of which two are known."""
    return tighter(one[0], other[0]), tighter(one[1], other[1])


def plus(left: Side, right: Side) -> Side:
    """The sum of two bounds."""
    if left is None or right is None:
        return None
    found = dict(left)
    for monomial, c in right.items():
        found[monomial] = found.get(monomial, Fraction(0)) + c
    return found


def added(one: Between, other: Between) -> Between:
    """Bounds of a sum."""
    return plus(one[0], other[0]), plus(one[1], other[1])


def scaled(one: Between, factor: Fraction) -> Between:
    """Bounds of a multiple."""
    by = number(abs(factor))
    low, high = (_product(side, by) for side in one)
    return (low, high) if factor >= 0 else (high, low)


def _product(left: Side, right: Side) -> Side:
    """A product; of nothing with what is not known it is nothing."""
    if left is None or right is None:
        return NOTHING if left == NOTHING or right == NOTHING else None
    return multiplied(left, right)


def times(one: Between, other: Between) -> Between:
    """Bounds of a product."""
    (a, b), (c, d) = one, other
    return union(_product(a, d), _product(b, c)), union(_product(a, c), _product(b, d))


def rounded_down(sides: Between) -> Between:
    """Bounds of a number that is rounded down to a whole one."""
    low, high = sides
    if low and low.keys() <= {()}:
        low = number(ceil(low[()]))
    elif low:
        low = plus(low, number(1))
    if high and high.keys() <= {()}:
        high = number(floor(high[()]))
    return low, high
