"""Atoms: what polynomials are made of, and where their values lie.

A quotient n // d alone is a poor thing to bound; what it stands next to says more:

    x - 8*(x // 8)           0 .. 7
    x // 2 - 4*(x // 8)      0 .. 3: (x // 2) % 4
    a + min(0, b - a)        at most what a and b are

So the range of a polynomial is found term by term, and again with each of these
patterns put in, and the narrowest answer is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from argus.ir.expr import Expr
from argus.verify.decide.polynomial import (
    EVERYTHING,
    Bound,
    Interval,
    Monomial,
    Poly,
    Terms,
    constant,
    variable,
)

__all__ = [
    "Atom",
    "Atoms",
    "Chosen",
    "Deficit",
    "Part",
    "Quotient",
    "Ratio",
    "Share",
    "Symbol",
    "Xor",
]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """The integer x with of == divisor * x, where a fact says that there is one."""

    of: int
    divisor: int


@dataclass(frozen=True, slots=True)
class Share:
    """The integer x with of == by * x, where a fact says that there is one."""

    of: int
    by: Poly


@dataclass(frozen=True, slots=True)
class Quotient:
    """numerator // divisor, divisor > 1."""

    numerator: Poly
    divisor: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """numerator // denominator of anything by anything."""

    numerator: Poly
    denominator: Poly


@dataclass(frozen=True, slots=True)
class Xor:
    """left ^ right, in the order of their terms."""

    left: Poly
    right: Poly


@dataclass(frozen=True, slots=True)
class Deficit:
    """min(0, value)."""

    value: Poly


@dataclass(frozen=True, slots=True)
class Chosen:
    """value where the condition holds, else 0."""

    condition: Expr
    value: Poly


Atom = Symbol | Part | Share | Quotient | Ratio | Xor | Deficit | Chosen

PLAIN = Symbol | Part | Share
"""Atoms that say nothing about themselves, and that facts may replace."""


class Atoms:
    """Numbered atoms with ranges; atoms that facts replace by polynomials."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.ranges: dict[int, Interval] = {}
        self.replaced: dict[int, Poly] = {}
        self._numbers: dict[Atom, int] = {}
        self._found: dict[tuple[Terms, int], Interval] = {}
        self._products: dict[Monomial, Interval] = {}
        """Where products of atoms lie, as long as the ranges of atoms stay."""

    def atom(self, atom: Atom, where: Interval) -> Poly:
        """The polynomial of an atom whose value lies in a range."""
        number = self._numbers.get(atom)
        if number is None:
            number = len(self.atoms)
            self.atoms.append(atom)
            self._numbers[atom] = number
            self.ranges[number] = where
        else:
            self.narrow(number, where)
        if number in self.replaced:
            return self.rewritten(self.replaced[number])
        lo, hi = self.ranges[number].ends
        if lo == hi:
            return constant(int(lo))
        return variable(number)

    def narrow(self, number: int, to: Interval) -> bool:
        """Restrict an atom's range; whether that made a difference."""
        before = self.ranges[number]
        after = before.meet(to)
        if after == before:
            return False
        self.ranges[number] = after
        self._found.clear()
        self._products.clear()
        return True

    def rewritten(self, p: Poly) -> Poly:
        """A polynomial with replaced symbols put in, as far as there are any."""
        while True:
            hit = next((a for a in p.atoms() if a in self.replaced), None)
            if hit is None:
                return p
            total = constant(0)
            for m, c in p.terms:
                product = constant(c)
                for a in m:
                    product = product * (self.replaced[a] if a == hit else variable(a))
                total = total + product
            p = total

    def range_of_atom(self, number: int) -> Interval:
        """Where an atom's value lies."""
        return self.ranges[number]

    def range_of(self, p: Poly, depth: int = 4) -> Interval:
        """Where a polynomial's value lies: intervals of terms, remainders, cases."""
        found = self._found.get((p.terms, depth))
        if found is None:
            found = self._range_of(p, depth)
            self._found[p.terms, depth] = found
        return found

    def _range_of(self, p: Poly, depth: int) -> Interval:
        lo: Bound = 0
        hi: Bound = 0
        for m, c in p.terms:
            where = self.ranges[m[0]] if len(m) == 1 else self.range_of_monomial(m)
            least, most = (where.lo, where.hi) if c > 0 else (where.hi, where.lo)
            lo += least * c
            hi += most * c
        total = Interval(lo, hi)
        if depth == 0 or total.lo == total.hi:
            return total
        for m, c in p.terms:
            if len(m) == 1 and not isinstance(self.atoms[m[0]], PLAIN):
                total = total.meet(self._range_by_atom(p, m[0], c, depth - 1))
            elif any(isinstance(self.atoms[a], Ratio) for a in m):
                total = total.meet(self._range_by_ratio(p, m, c, depth - 1))
        return total

    def _range_by_atom(self, p: Poly, number: int, c: int, depth: int) -> Interval:
        """Where p lies by what the atom is, c being its coefficient."""
        rest = p.plus(variable(number), -c)
        match self.atoms[number]:
            case Quotient(numerator=n, divisor=d):
                return self._range_by_quotient(rest, n, d, c, depth)
            case Deficit(value=v):
                a = self.range_of(rest, depth)
                b = self.range_of(rest.plus(v, c), depth)
                # It is the lesser of the two, or the greater for a negative factor.
                if c > 0:
                    return Interval(min(a.lo, b.lo), min(a.hi, b.hi))
                return Interval(max(a.lo, b.lo), max(a.hi, b.hi))
            case Chosen(value=v):
                taken = self.range_of(rest.plus(v, c), depth)
                return self.range_of(rest, depth).hull(taken)
            case Symbol() | Part() | Share() | Ratio() | Xor():
                return EVERYTHING

    def _range_by_quotient(
        self, rest: Poly, n: Poly, d: int, c: int, depth: int
    ) -> Interval:
        """Bound rest + c * (n // d) where rest has the dividend of a remainder."""
        found = EVERYTHING
        if c % d == 0:
            k = -c // d
            without = rest.plus(n, -k)
            if len(without.terms) < len(rest.terms):
                found = self.range_of(without, depth) + Interval(0, d - 1).scaled(k)
        for m, e in rest.terms:
            inner = self.atoms[m[0]] if len(m) == 1 else None
            if not isinstance(inner, Quotient) or d % inner.divisor:
                continue
            # n // d == (n // i) // f, and n // i is the inner quotient plus a constant.
            factor = d // inner.divisor
            apart = n - inner.numerator
            if apart.is_constant() and not apart.constant % inner.divisor:
                if c != -e * factor:
                    continue
                shift = apart.constant // inner.divisor
                without = rest - Poly(((m, e),)) - constant(e * shift)
                digit = Interval(0, factor - 1).scaled(e)
                found = found.meet(self.range_of(without, depth) + digit)
        return found

    def _range_by_ratio(self, p: Poly, m: Monomial, c: int, depth: int) -> Interval:
        """Bound p where it has k * (n - q * (n // q)), which is in k * (0 .. q - 1)."""
        found = EVERYTHING
        for number in {a for a in m if isinstance(self.atoms[a], Ratio)}:
            ratio = self.atoms[number]
            assert isinstance(ratio, Ratio)
            product = ratio.denominator * variable(number)
            e = product.coefficient(m)
            if e == 0 or c % e:
                continue
            k = -c // e
            remainder = ratio.numerator - product
            rest = p.plus(remainder, -k)
            if len(rest.terms) < len(p.terms):
                most = self.range_of(ratio.denominator, depth).hi - 1
                digit = Interval(0, max(0, most)).scaled(k)
                found = found.meet(self.range_of(rest, depth) + digit)
        return found

    def range_of_monomial(self, m: Monomial) -> Interval:
        """Where a product of atoms lies."""
        if len(m) == 1:
            return self.ranges[m[0]]
        known = self._products.get(m)
        if known is not None:
            return known
        product = Interval(1, 1)
        for a in m:
            product = product * self.ranges[a]
        if len(m) == 2 and m[0] == m[1]:
            product = product.meet(Interval(0, inf))
        self._products[m] = product
        return product
