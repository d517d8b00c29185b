"""Squares that are written out: ``a^2 - 2 a b + b^2`` is never negative.

The squared distance of two rows is the sum of both squares minus twice their product; a
kernel that takes the product by a matrix unit cuts what rounding leaves below 0.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt

from argus.terms import ZERO, Product, Sum, Term
from argus.terms.term import simple

__all__ = ["is_square"]

_MOST = 3
"""Numbers whose sum is squared, at most."""


def is_square(term: Term) -> bool:
    """Whether a term is a square by its form, or a sum of squares over one set."""
    if term.special is not None:
        return False
    return _is_square(term) or _is_square(_summed(term))


def _summed(term: Term) -> Term:
    """What a term is a sum of, where all its parts are sums over one set; else 0."""
    found: set[object] = set()
    total = ZERO
    for part, coefficient in term.parts.items():
        if part.exponent is not None or len(part.factors) != 1:
            return ZERO
        ((leaf, power),) = part.factors
        if not isinstance(leaf, Sum) or power != 1:
            return ZERO
        found.add((leaf.variables, leaf.domain))
        total = total + leaf.body.scaled(coefficient)
    return total if len(found) == 1 else ZERO


def _is_square(term: Term) -> bool:
    roots = [
        root
        for part, coefficient in term.parts.items()
        if (root := _root(part, Fraction(coefficient))) is not None
    ]
    if not 2 <= len(roots) <= _MOST:
        return False
    for signs in product((1, -1), repeat=len(roots) - 1):
        total = roots[0]
        for sign, root in zip(signs, roots[1:], strict=True):
            total = total + root.scaled(sign)
        if total * total == term:
            return True
    return False


def _root(part: Product, coefficient: Fraction) -> Term | None:
    """What a product is the square of; None where it is none by its form."""
    above, below = coefficient.numerator, coefficient.denominator
    if above <= 0 or isqrt(above) ** 2 != above or isqrt(below) ** 2 != below:
        return None
    if part.exponent is not None:
        return None
    factors = {leaf: Fraction(power) / 2 for leaf, power in part.factors}
    if any(power.denominator != 1 or power < 0 for power in factors.values()):
        return None
    halves = Product({leaf: int(power) for leaf, power in factors.items()})
    return Term({halves: simple(Fraction(isqrt(above), isqrt(below)))})
