"""Lower bounds of polynomials from facts, by cancelling what is unbounded.

To bound p from below, subtract a positive multiple of a fact f >= 0 so that a term
without a lower bound disappears, and bound what remains. Facts are those of the
context, what quotients and minima say about themselves (0 <= n - d*(n // d) < d), and
products of either with atoms that are not negative. The search is shallow; what it
misses is left to Z3.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, inf

from argus.verify.decide.normal import Deficit, Normal, Quotient, Ratio
from argus.verify.decide.polynomial import Bound, Monomial, Poly, constant, variable

__all__ = ["at_least", "lower", "nonzero"]

DEPTH = 5
STEPS = 120
"""Polynomials looked at for one question."""


def at_least(context: Normal, p: Poly, least: int) -> bool:
    """Whether p >= least was shown."""
    return lower(context, p, least) >= least


def nonzero(context: Normal, p: Poly) -> bool:
    """Whether p != 0 was shown: by sign, or because no multiple of the gcd fits."""
    if p.content and p.constant % p.content:
        return True
    return at_least(context, p, 1) or at_least(context, -p, 1)


def lower(context: Normal, p: Poly, enough: Bound = inf) -> Bound:
    """A bound that p never goes below; stops looking once it is `enough`."""
    return _Search(context, enough).lower(p, DEPTH, 1)


class _Search:
    def __init__(self, context: Normal, enough: Bound) -> None:
        self.context = context
        self.enough = enough
        self.steps = STEPS
        self.seen: dict[Poly, int] = {}

    def lower(self, p: Poly, depth: int, factor: int) -> Bound:
        """A lower bound of p, which is a bound of factor * (the first polynomial)."""
        best = self.context.range_of(p).lo
        self.steps -= 1
        if best >= self.enough * factor or depth == 0 or self.steps <= 0:
            return best
        if self.seen.get(p, -1) >= depth:
            return best
        self.seen[p] = depth
        for m, c in self._weak_terms(p):
            for fact, e in self._facts_with(m, c):
                common = gcd(c, e)
                ours, theirs = abs(e) // common, abs(c) // common
                rest = p.scaled(ours) - fact.scaled(theirs)
                found = self.lower(rest, depth - 1, factor * ours)
                if found != -inf:
                    # ours * p >= rest >= found
                    best = max(best, found if found == inf else -(-found // ours))
                if best >= self.enough * factor:
                    return best
                if self.steps <= 0:
                    return best
        return best

    def _weak_terms(self, p: Poly) -> list[tuple[Monomial, int]]:
        """Terms to get rid of: one without a bound, else any that can be negative."""
        weak: list[tuple[Monomial, int]] = []
        for m, c in p.terms:
            least = self.context.range_of_monomial(m).scaled(c).lo
            if least == -inf:
                return [(m, c)]
            if m and least < 0:
                weak.append((m, c))
        return weak

    def _facts_with(self, m: Monomial, c: int) -> Iterator[tuple[Poly, int]]:
        """Polynomials >= 0 that have the term with the sign of c."""
        for fact in self._facts(m):
            e = fact.coefficient(m)
            if e and (e > 0) == (c > 0):
                yield fact, e

    def _facts(self, m: Monomial) -> Iterator[Poly]:
        context = self.context
        yield from context.at_least_zero
        for number in dict.fromkeys(m):
            others = list(m)
            others.remove(number)
            if any(context.range_of_atom(a).lo < 0 for a in others):
                continue
            factor = Poly(((tuple(others), 1),))
            for fact in _about(context, number):
                yield fact * factor
            if others:
                for fact in context.at_least_zero:
                    if number in fact.atoms():
                        yield fact * factor
                hi = context.range_of_atom(number).hi
                if isinstance(hi, int):
                    yield (constant(hi) - variable(number)) * factor
                lo = context.range_of_atom(number).lo
                if isinstance(lo, int):
                    yield (variable(number) - constant(lo)) * factor


def _about(context: Normal, number: int) -> list[Poly]:
    """What an atom says about itself, as polynomials >= 0."""
    itself = variable(number)
    match context.atoms[number]:
        case Quotient(numerator=n, divisor=d):
            remainder = n - itself.scaled(d)
            return [remainder, constant(d - 1) - remainder]
        case Ratio(numerator=n, denominator=q):
            # Atoms of this kind have a positive denominator.
            remainder = n - itself * q
            return [remainder, q - constant(1) - remainder]
        case Deficit(value=v):
            return [v - itself, -itself]
        case _:
            return []
