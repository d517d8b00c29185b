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

from argus.verify.decide.atoms import (
    Chosen,
    Deficit,
    Part,
    Quotient,
    Ratio,
    Share,
    Symbol,
    Xor,
)
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import (
    Bound,
    Monomial,
    Poly,
    constant,
    tightened,
    variable,
    without,
)

__all__ = ["at_least", "lower", "nonzero"]

DEPTH = 6
STEPS = 160
"""Polynomials looked at for one question."""


def at_least(context: Normal, p: Poly, least: int) -> bool:
    """Whether p >= least was shown.

    Also by a multiple: with t >= 1, p >= 1 iff t * p >= 1, which can be simpler where
    p has a quotient by t. And by quotients that occur anywhere: n - d*x >= 0 where
    x <= n // d.
    """
    p = tightened(p - constant(least))
    return any(_not_negative(context, q) for q in (p, *_by_quotients(context, p)))


def _not_negative(context: Normal, p: Poly) -> bool:
    if lower(context, p, 0) >= 0:
        return True
    more = p + constant(1)
    return any(lower(context, more * t, 1) >= 1 for t in _divisors(context, p))


def _by_quotients(context: Normal, p: Poly) -> Iterator[Poly]:
    """What is at most p, up to a factor: n is replaced by d * (n // d), which is less.

    Only where all that varies then has a common divisor, so that rounding helps.
    """
    for number, atom in enumerate(context.atoms):
        if not isinstance(atom, Quotient):
            continue
        fact = atom.numerator - variable(number).scaled(atom.divisor)
        for m, e in atom.numerator.varying.terms:
            times, over = divmod(p.coefficient(m), e)
            if times > 0 and not over:
                rest = p.plus(fact, -times)
                if rest.content > 1:
                    yield tightened(rest)


def _divisors(context: Normal, p: Poly) -> list[Poly]:
    """What p divides by: at least 1, as every divisor (without constant factors)."""
    found: dict[Poly, None] = {}
    for number in sorted(p.atoms()):
        match context.atoms[number]:
            case Ratio(denominator=q):
                one = len(q.terms) == 1 and q.terms[0][1] > 0
                found[Poly(((q.terms[0][0], 1),)) if one else q] = None
            case Deficit(value=v):
                found |= dict.fromkeys(_divisors(context, v))
            case Symbol() | Part() | Share() | Quotient() | Xor() | Chosen():
                pass
    return list(found)


def nonzero(context: Normal, p: Poly) -> bool:
    """Whether p != 0 was shown: by sign, or because no multiple of the gcd fits."""
    if p.content and p.constant % p.content:
        return True
    return at_least(context, p, 1) or at_least(context, -p, 1)


def lower(context: Normal, p: Poly, enough: Bound = inf) -> Bound:
    """A bound that p never goes below; stops looking once it is `enough`.

    Looks less far where nothing is enough.
    """
    steps = STEPS if enough != inf else STEPS // 4
    return _Search(context, enough, steps).lower(p, DEPTH, 1)


class _Search:
    def __init__(self, context: Normal, enough: Bound, steps: int) -> None:
        self.context = context
        self.enough = enough
        self.steps = steps
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
            for fact, e in self._facts_with(p, m, c):
                common = gcd(c, e)
                ours, theirs = abs(e) // common, abs(c) // common
                rest = p.scaled(ours).plus(fact, -theirs)
                found = self.lower(rest, depth - 1, factor * ours)
                if found != -inf:
                    # ours * p >= rest >= found
                    best = max(best, found if found == inf else -(-found // ours))
                if best >= self.enough * factor:
                    return best
                if self.steps <= 0:
                    return best
        # Last, because a quotient by a minimum is best cancelled as it is.
        return max(best, self._by_minimum(p, depth, factor))

    def _by_minimum(self, p: Poly, depth: int, factor: int) -> Bound:
        """The worse of both cases where p has a minimum."""
        for number in p.atoms():
            atom = self.context.atoms[number]
            if isinstance(atom, Deficit):
                without_it = _put_in(p, number, constant(0))
                with_it = _put_in(p, number, atom.value)
                found = self.lower(without_it, depth - 1, factor)
                if found == -inf:
                    return found
                return min(found, self.lower(with_it, depth - 1, factor))
        return -inf

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

    def _facts_with(self, p: Poly, m: Monomial, c: int) -> Iterator[tuple[Poly, int]]:
        """Polynomials >= 0 that have the term with the sign of c."""
        for fact in self._facts(p, m, c > 0):
            e = fact.coefficient(m)
            if e and (e > 0) == (c > 0):
                yield fact, e

    def _facts(self, p: Poly, m: Monomial, positive: bool) -> Iterator[Poly]:
        """Polynomials >= 0; those that are made have the term with this sign."""
        context = self.context
        yield from context.at_least_zero
        for number in p.atoms():
            yield from _about(context, number)
        for number in dict.fromkeys(m):
            for fact in _about(context, number):
                yield from self._times(fact, number, m, positive)
            if len(m) == 1:
                continue
            for fact in context.at_least_zero:
                yield from self._times(fact, number, m, positive)
            where = context.range_of_atom(number)
            itself = variable(number)
            if isinstance(where.hi, int):
                yield from self._times(constant(where.hi) - itself, number, m, positive)
            if isinstance(where.lo, int):
                yield from self._times(itself - constant(where.lo), number, m, positive)

    def _times(
        self, fact: Poly, number: int, m: Monomial, positive: bool
    ) -> Iterator[Poly]:
        """The fact times what makes one of its terms with the atom the monomial m."""
        for part, e in fact.terms:
            if number not in part or (e > 0) != positive:
                continue
            others = without(m, part)
            if others is None:
                continue
            if all(self.context.range_of_atom(a).lo >= 0 for a in others):
                yield fact * Poly(((others, 1),))


def _put_in(p: Poly, number: int, value: Poly) -> Poly:
    """The polynomial with an atom replaced."""
    total = constant(0)
    for m, c in p.terms:
        product = constant(c)
        for a in m:
            product = product * (value if a == number else variable(a))
        total = total + product
    return total


def _about(context: Normal, number: int) -> list[Poly]:
    """What an atom says about itself, as polynomials >= 0."""
    found = context.about.get(number)
    if found is None:
        found = context.about[number] = _made_about(context, number)
    return found


def _made_about(context: Normal, number: int) -> list[Poly]:
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
        case Symbol() | Part() | Share() | Xor() | Chosen():
            return []
