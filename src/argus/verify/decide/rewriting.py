"""Normal forms of // ^ min on polynomials, and of % and max by them.

All rewriting is exact for floor division on all integers, negative ones too; what
depends on ranges uses those of :class:`~argus.verify.decide.atoms.Atoms`.
"""

from __future__ import annotations

from math import gcd, inf

from argus.verify.decide.atoms import Atom, Atoms, Deficit, Quotient, Ratio, Xor
from argus.verify.decide.evaluation import Unmodelled
from argus.verify.decide.polynomial import (
    EVERYTHING,
    Interval,
    Monomial,
    Poly,
    constant,
    without,
)

__all__ = ["Rewriting"]


class Rewriting(Atoms):
    """Operations on normal forms."""

    def positive(self, p: Poly) -> bool:
        """Whether p >= 1 is known. Those who know more than ranges say more."""
        return self.range_of(p).lo >= 1

    def divided(self, p: Poly, q: Poly) -> Poly:
        """The normal form of p // q; raises Unmodelled where q may be 0."""
        if q.is_constant():
            d = q.constant
            if d == 0:
                raise Unmodelled("division by zero")
            return self.quotient(p, d) if d > 0 else self.quotient(-p, -d)
        if not self.positive(q):
            raise Unmodelled("a divisor that is not known to be positive")
        whole = constant(0)
        if len(q.terms) == 1:
            whole, p = _split_off(p, *q.terms[0])
            content = p.content
            common = gcd(content, q.terms[0][1], p.constant)
            if common > 1:
                p, q = p.exact(common), q.exact(common)
        if p == q:
            return whole + constant(1)
        where = self.range_of(p)
        if where.lo >= 0 and self.range_of(q - p).lo >= 1:
            return whole
        inner = self.only_atom(p)
        if isinstance(inner, Ratio):
            # (a // b) // q is a // (b * q), for b and q at least 1.
            return whole + self.divided(inner.numerator, inner.denominator * q)
        positive = where.lo >= 0
        limit = Interval(0, where.hi) if positive else EVERYTHING
        return whole + self.atom(Ratio(p, q), limit)

    def quotient(self, p: Poly, d: int) -> Poly:
        """The normal form of p // d for a constant d > 0."""
        if d == 1:
            return p
        whole: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for m, c in p.terms:
            q, r = divmod(c, d)
            if m and 2 * r > d:
                # Coefficients near 0, so that ranges stay narrow.
                q, r = q + 1, r - d
            whole[m], rest[m] = q, r
        low = Poly.of(rest)
        return Poly.of(whole) + self._reduced(low, d)

    def _reduced(self, p: Poly, d: int) -> Poly:
        """As `_quotient`, where no coefficient of p is divisible by d."""
        where = self.range_of(p)
        if where.finite():
            first = where.floor_divided(d)
            if first.lo == first.hi:
                return constant(int(first.lo))
        divisors = {gcd(c, d) for m, c in p.terms if m} | {gcd(p.content, d)}
        for g in sorted(divisors - {1}):
            # p = g*high + low where low stays between two multiples of g.
            high = Poly.of((m, c // g) for m, c in p.terms if c % g == 0 and m)
            low = Poly.of((m, c) for m, c in p.terms if c % g or not m)
            reach = self.range_of(low)
            if reach.finite():
                steps = reach.floor_divided(g)
                if steps.lo == steps.hi:
                    return self.quotient(high + constant(int(steps.lo)), d // g)
        inner = self.only_atom(p.varying)
        if isinstance(inner, Quotient):
            joined = inner.numerator + constant(p.constant * inner.divisor)
            return self.quotient(joined, inner.divisor * d)
        if isinstance(inner, Ratio):
            shifted = inner.numerator + inner.denominator.scaled(p.constant)
            return self.divided(shifted, inner.denominator.scaled(d))
        return self.atom(Quotient(p, d), where.floor_divided(d))

    # ------------------------------------------------------- other operations

    def deficit(self, p: Poly) -> Poly:
        """min(0, p)."""
        where = self.range_of(p)
        if where.lo >= 0:
            return constant(0)
        if where.hi <= 0:
            return p
        if p.varying.terms[0][1] < 0:
            # One sign for both: min(0, p) = p + min(0, -p).
            limit = Interval(min(0, -where.hi), 0)
            return p + self.atom(Deficit(-p), limit)
        return self.atom(Deficit(p), Interval(where.lo, 0))

    def xor(self, a: Poly, b: Poly) -> Poly:
        """The side with fewer possible bits decides which bits can change."""
        if a == b:
            return constant(0)
        if self._bits(a) < self._bits(b):
            a, b = b, a
        where = self.range_of(b)
        if where.lo == where.hi == 0:
            return a
        bits = self._bits(b)
        if bits == inf:
            return self._xor_atom(a, b, EVERYTHING)
        unit = gcd(b.content, b.constant)
        low = (unit & -unit).bit_length() - 1
        size = 1 << (int(bits) - low)
        field = self.quotient(a, 1 << low)
        field = field - self.quotient(field, size).scaled(size)
        changed = self._fields(field, b.exact(1 << low), size)
        return a + (changed - field).scaled(1 << low)

    def _fields(self, a: Poly, b: Poly, size: int) -> Poly:
        """The normal form of a ^ b for two numbers in 0 .. size - 1."""
        if a == b:
            return constant(0)
        if not a.terms or not b.terms:
            return a + b
        if a.is_constant() and b.is_constant():
            return constant(a.constant ^ b.constant)
        return self._xor_atom(a, b, Interval(0, size - 1))

    def _xor_atom(self, a: Poly, b: Poly, limit: Interval) -> Poly:
        for p, q in ((a, b), (b, a)):
            inner = self.only_atom(p)
            if isinstance(inner, Xor) and q in (inner.left, inner.right):
                # (x ^ q) ^ q is x.
                return inner.right if q == inner.left else inner.left
        left, right = sorted((a, b), key=lambda p: p.terms)
        return self.atom(Xor(left, right), limit)

    def only_atom(self, p: Poly) -> Atom | None:
        """The atom that a polynomial is, if it is one."""
        if len(p.terms) == 1 and p.terms[0][1] == 1 and len(p.terms[0][0]) == 1:
            return self.atoms[p.terms[0][0][0]]
        return None

    def _bits(self, p: Poly) -> float:
        """Bits that a value can have; infinite where it may be negative or large."""
        where = self.range_of(p)
        if where.lo < 0 or not isinstance(where.hi, int):
            return inf
        return where.hi.bit_length()


def _split_off(p: Poly, monomial: Monomial, factor: int) -> tuple[Poly, Poly]:
    """Split p into q * whole + rest, where q is one term."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in p.terms:
        left = without(m, monomial)
        if left is None or c % factor:
            rest[m] = c
        else:
            whole[left] = c // factor
    return Poly.of(whole), Poly.of(rest)
