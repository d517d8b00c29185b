"""Trip counts as functions of one number.

    for k in range(0, K, 32)      (K + 31) // 32 iterations
    for k in range(0, K, 64)      (K + 63) // 64
    for _ in range(1, 2 * n)      2 * n - 1

A role that drains two slots in each iteration makes half as many iterations as the one
that fills them. A count is ``c + sum of a * ((b * n + d) // m)`` that never falls as n
rises; so "does the loop iterate once more" asks whether n is larger than a bound, of
every loop alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from argus.verify.decide.atoms import Quotient
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Monomial, Poly

__all__ = ["TripCount", "related"]

_SHORT = 64
"""The values of a count that repeats later are not gone through one by one."""
_MOST = 4096
"""A count that repeats later is not looked at."""


@dataclass(frozen=True)
class TripCount:
    """A function of whole numbers, also of negative ones.

    ``terms``: (a, b, d, m) of each ``a * ((b * n + d) // m)``.
    """

    terms: tuple[tuple[int, int, int, int], ...]
    constant: int

    def of(self, n: int) -> int:
        """Its value; a loop with less than 0 iterates 0 times."""
        return self.constant + sum(a * ((b * n + d) // m) for a, b, d, m in self.terms)

    @cached_property
    def period(self) -> int:
        """``of(n + period) == of(n) + growth``."""
        return lcm(*(m for *_, m in self.terms))

    @cached_property
    def growth(self) -> int:
        """How much it rises in a period."""
        return self.of(self.period) - self.of(0)

    @property
    def repeats(self) -> bool:
        """Whether it goes through the same values again and again."""
        return self.growth == 0 and 1 < self.period <= _SHORT

    @property
    def rises(self) -> bool:
        """Whether it never falls, and is not constant."""
        if self.period > _MOST or self.growth <= 0:
            return False
        return all(self.of(n) <= self.of(n + 1) for n in range(self.period))

    def last(self, iterations: int) -> int:
        """The largest n with no more iterations than that."""
        first = (iterations - self.of(0)) // self.growth * self.period
        low, high = first, first + self.period
        while high - low > 1:
            middle = (low + high) // 2
            if self.of(middle) <= iterations:
                low = middle
            else:
                high = middle
        return low


def related(
    context: Normal, forms: Sequence[Poly], loops: int
) -> list[tuple[Poly, TripCount]]:
    """Of each trip count the number it is a function of, and the function.

    The number is the count itself, without factor and constant, unless rounding that is
    undone makes two counts functions of the same. The first ``loops`` forms are trip
    counts, which have to rise; a branch may ask for what repeats.
    """
    whole = [_whole(form) for form in forms]
    parts = [_divided(context, form) for form in forms]
    seen: Counter[Poly] = Counter({number for number, _ in whole})
    for number, plain in {(p[0], w[0]) for p, w in zip(parts, whole, strict=True) if p}:
        seen[number] += number != plain
    found: list[tuple[Poly, TripCount]] = []
    for i, (one, part) in enumerate(zip(whole, parts, strict=True)):
        fits = part is not None and (part[1].rises or i >= loops)
        found.append(part if part and fits and seen[part[0]] > 1 else one)
    return found


def _whole(form: Poly) -> tuple[Poly, TripCount]:
    factor = max(form.content, 1)
    return form.varying.exact(factor), TripCount(((factor, 1, 0, 1),), form.constant)


def _divided(context: Normal, form: Poly) -> tuple[Poly, TripCount] | None:
    """As a function of what some of its quotients divide, if that is one number."""
    quotients: dict[Monomial, tuple[Poly, tuple[int, int, int, int]]] = {}
    for monomial, factor in form.varying.terms:
        atom = context.atoms[monomial[0]]
        if len(monomial) == 1 and isinstance(atom, Quotient):
            by = max(atom.numerator.content, 1)
            number = atom.numerator.varying.exact(by)
            term = (factor, by, atom.numerator.constant, atom.divisor)
            quotients[monomial] = number, term
    for number, _ in quotients.values():
        mine = {m: term for m, (other, term) in quotients.items() if other == number}
        terms = list(mine.values())
        rest = Poly(tuple(t for t in form.varying.terms if t[0] not in mine))
        if rest.terms:
            factor = rest.content if rest == number.scaled(rest.content) else 0
            if rest == number.scaled(-rest.content):
                factor = -rest.content
            if not factor:
                continue
            terms.append((factor, 1, 0, 1))
        count = TripCount(tuple(terms), form.constant)
        if count.rises or count.repeats:
            return number, count
    return None
