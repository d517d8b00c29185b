"""Terms that are whole numbers over a number."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from argus.terms.integers import Integer
from argus.terms.term import Term

__all__ = ["cleared"]


def cleared(term: Term) -> tuple[Integer | None, int]:
    """(n, d) with term = n / d, for an integer expression n and a number d > 0."""
    below = lcm(*(Fraction(c).denominator for c in term.parts.values()))
    return term.scaled(below).integer, below
