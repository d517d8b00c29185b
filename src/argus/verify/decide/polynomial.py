"""Polynomials with integer coefficients over numbered atoms, and intervals.

    3*x*y - 2*x + 7     ->   {(x, y): 3, (x,): -2, (): 7}

What an atom is (a symbol, a quotient, ...) is the business of `normal.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd, inf

from argus.ir.quickly_made import quickly_made

__all__ = [
    "EVERYTHING",
    "Bound",
    "Interval",
    "Monomial",
    "Poly",
    "Terms",
    "constant",
    "tightened",
    "variable",
    "without",
]

Monomial = tuple[int, ...]
"""Atom numbers, sorted, with repetition; () is 1."""
Terms = tuple[tuple[Monomial, int], ...]
"""Monomials with their coefficients."""
Bound = int | float
"""An integer, or an infinity."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Poly:
    """Terms sorted by monomial, none with coefficient 0: equal iff the same."""

    terms: Terms

    @staticmethod
    def of(terms: Mapping[Monomial, int] | Iterable[tuple[Monomial, int]]) -> Poly:
        """The polynomial of a table of coefficients."""
        table = dict(terms)
        return Poly(tuple(sorted([term for term in table.items() if term[1]])))

    def __add__(self, other: Poly) -> Poly:
        return self.plus(other, 1)

    def __neg__(self) -> Poly:
        return Poly(tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: Poly) -> Poly:
        return self.plus(other, -1)

    def plus(self, other: Poly, factor: int) -> Poly:
        """This plus a multiple of another."""
        if not other.terms or factor == 0:
            return self
        if not self.terms:
            return other.scaled(factor)
        table = dict(self.terms)
        before = len(table)
        for m, c in other.terms:
            table[m] = table.get(m, 0) + c * factor
        left = [term for term in table.items() if term[1]]
        if len(table) > before:  # else they still stand in order
            left.sort()
        return Poly(tuple(left))

    def __mul__(self, other: Poly) -> Poly:
        if other.is_constant():
            return self.scaled(other.constant)
        if self.is_constant():
            return other.scaled(self.constant)
        table: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in other.terms:
                product = tuple(sorted((*m, *n)))
                table[product] = table.get(product, 0) + c * d
        return Poly.of(table)

    def scaled(self, factor: int) -> Poly:
        """Every coefficient times a factor."""
        if factor == 0:
            return Poly(())
        if factor == 1:
            return self
        return Poly(tuple([(m, c * factor) for m, c in self.terms]))

    def exact(self, divisor: int) -> Poly:
        """Every coefficient divided by a common divisor."""
        if divisor == 1:
            return self
        return Poly(tuple([(m, c // divisor) for m, c in self.terms]))

    @property
    def constant(self) -> int:
        """The constant term."""
        # The empty tuple sorts first.
        return self.terms[0][1] if self.terms and not self.terms[0][0] else 0

    @property
    def varying(self) -> Poly:
        """Without the constant term."""
        return Poly(tuple(t for t in self.terms if t[0]))

    @property
    def content(self) -> int:
        """Greatest common divisor of all coefficients but the constant; 0 for none."""
        return reduce(gcd, (c for m, c in self.terms if m), 0)

    def is_constant(self) -> bool:
        """Whether there is no atom."""
        return not self.terms or (len(self.terms) == 1 and not self.terms[0][0])

    def atoms(self) -> set[int]:
        """Numbers of all atoms."""
        return {a for m, _ in self.terms for a in m}

    def coefficient(self, monomial: Monomial) -> int:
        """Coefficient of a monomial, 0 where it does not occur."""
        for m, c in self.terms:
            if m == monomial:
                return c
        return 0


def constant(value: int) -> Poly:
    """A constant polynomial."""
    return Poly((((), value),)) if value else Poly(())


def variable(atom: int) -> Poly:
    """The polynomial that is one atom."""
    return Poly((((atom,), 1),))


def tightened(p: Poly) -> Poly:
    """The same fact p >= 0 over integers: 64*x - 1 >= 0 is x - 1 >= 0."""
    g = p.content
    return p if g <= 1 else p.varying.exact(g) + constant(p.constant // g)


@quickly_made
@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from lo to hi, both included; infinite where nothing is known."""

    lo: Bound
    hi: Bound

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __mul__(self, other: Interval) -> Interval:
        if 0 <= self.lo <= self.hi and 0 <= other.lo <= other.hi:
            return Interval(_times(self.lo, other.lo), _times(self.hi, other.hi))
        corners = [_times(a, b) for a in self.ends for b in other.ends]
        return Interval(min(corners), max(corners))

    def scaled(self, factor: int) -> Interval:
        """Times a constant."""
        lo, hi = _times(self.lo, factor), _times(self.hi, factor)
        return Interval(lo, hi) if factor >= 0 else Interval(hi, lo)

    def meet(self, other: Interval) -> Interval:
        """What lies in both."""
        return Interval(max(self.lo, other.lo), min(self.hi, other.hi))

    def hull(self, other: Interval) -> Interval:
        """The least interval around both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def floor_divided(self, divisor: int) -> Interval:
        """Divided by a positive constant, rounded down."""
        return Interval(_floor(self.lo, divisor), _floor(self.hi, divisor))

    @property
    def ends(self) -> tuple[Bound, Bound]:
        """Both ends."""
        return self.lo, self.hi

    def finite(self) -> bool:
        """Whether both ends are integers."""
        return self.lo != -inf and self.hi != inf

    def contains(self, value: int) -> bool:
        """Whether a value lies in it."""
        return self.lo <= value <= self.hi


EVERYTHING = Interval(-inf, inf)


def _times(a: Bound, b: Bound) -> Bound:
    # An infinite end times 0 is 0: the factor is an integer, however large.
    return 0 if a == 0 or b == 0 else a * b


def _floor(a: Bound, divisor: int) -> Bound:
    return a if isinstance(a, float) else a // divisor


def without(m: Monomial, factor: Monomial) -> Monomial | None:
    """The monomial m divided by another, or None."""
    left = list(m)
    for a in factor:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)
