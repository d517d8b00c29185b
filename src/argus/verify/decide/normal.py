"""Normal form: an expression as a polynomial over atoms, unique for most equal ones.

Atoms are symbols, quotients by a constant, and what has no better form; a is p // d:

    p % d                          p - d*a
    (6*q + r) // 4                 q + (2*q + r) // 4, then by ranges
    (x // 4 + 2) // 8              (x + 8) // 32
    (16*x + 4*y + z) // 8          2*x + y // 2      where 0 <= z < 4
    m ^ m // 128 % 8 * 16          only the bits that the right side can have
    max(x, y)                      x - min(0, x - y)

All rewriting is exact for floor division on all integers; what depends on ranges uses
those that the facts give. A fact `x == e` replaces x; `x % d == 0` replaces x by d
times a new atom. Other facts are kept as polynomials >= 0 for `inequality.py`.

Nothing here decides anything, and nothing here can time out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, inf

from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.verify.decide.evaluation import FLOATS, MISTYPED, Unmodelled
from argus.verify.decide.facts import implicit_range
from argus.verify.decide.polynomial import (
    EVERYTHING,
    Interval,
    Monomial,
    Poly,
    constant,
    variable,
)

__all__ = ["Atom", "Normal"]

MAX_TERMS = 300
"""Products with more terms than this are left to Z3."""


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


Atom = Symbol | Part | Quotient | Ratio | Xor | Deficit | Chosen


class Normal:
    """Normal forms under a set of facts, which are given as conjuncts.

    ``at_least_zero`` are the facts that remain as polynomials; ``contradiction`` says
    that no values satisfy the facts. Facts that cannot be read are left out: that is
    sound for proofs.
    """

    def __init__(self, facts: Sequence[Expr]) -> None:
        self.atoms: list[Atom] = []
        self.at_least_zero: list[Poly] = []
        self.contradiction = False
        self._numbers: dict[Atom, int] = {}
        self._ranges: dict[int, Interval] = {}
        self._replaced: dict[int, Poly] = {}
        self._known: dict[Expr, Poly] = {}
        self._read(facts)

    # ------------------------------------------------------------------ atoms

    def _atom(self, atom: Atom, where: Interval) -> Poly:
        """The polynomial of an atom whose value lies in a range."""
        number = self._numbers.get(atom)
        if number is None:
            number = len(self.atoms)
            self.atoms.append(atom)
            self._numbers[atom] = number
            self._ranges[number] = where
        else:
            self._ranges[number] = self._ranges[number].meet(where)
        if number in self._replaced:
            return self._rewritten(self._replaced[number])
        lo, hi = self._ranges[number].ends
        if lo == hi:
            return constant(int(lo))
        return variable(number)

    def _rewritten(self, p: Poly) -> Poly:
        """A polynomial with replaced symbols put in, as far as there are any."""
        while True:
            hit = next((a for a in p.atoms() if a in self._replaced), None)
            if hit is None:
                return p
            total = constant(0)
            for m, c in p.terms:
                product = constant(c)
                for a in m:
                    product = product * (self._replaced[a] if a == hit else variable(a))
                total = total + product
            p = total

    def range_of_atom(self, number: int) -> Interval:
        """Where an atom's value lies."""
        return self._ranges[number]

    def range_of(self, p: Poly, depth: int = 4) -> Interval:
        """Where a polynomial's value lies: intervals of terms, remainders, cases."""
        total = Interval(0, 0)
        for m, c in p.terms:
            total = total + self.range_of_monomial(m).scaled(c)
        if depth == 0 or total.lo == total.hi:
            return total
        for m, c in p.terms:
            if len(m) == 1 and not isinstance(self.atoms[m[0]], Symbol | Part):
                total = total.meet(self._range_by_atom(p, m[0], c, depth - 1))
            elif any(isinstance(self.atoms[a], Ratio) for a in m):
                total = total.meet(self._range_by_ratio(p, m, c, depth - 1))
        return total

    def _range_by_atom(self, p: Poly, number: int, c: int, depth: int) -> Interval:
        """Where p lies by what the atom is, c being its coefficient."""
        rest = p - variable(number).scaled(c)
        match self.atoms[number]:
            case Quotient(numerator=n, divisor=d):
                return self._range_by_quotient(rest, n, d, c, depth)
            case Deficit(value=v):
                a = self.range_of(rest, depth)
                b = self.range_of(rest + v.scaled(c), depth)
                # It is the lesser of the two, or the greater for a negative factor.
                if c > 0:
                    return Interval(min(a.lo, b.lo), min(a.hi, b.hi))
                return Interval(max(a.lo, b.lo), max(a.hi, b.hi))
            case Chosen(value=v):
                taken = self.range_of(rest + v.scaled(c), depth)
                return self.range_of(rest, depth).hull(taken)
            case Symbol() | Part() | Ratio() | Xor():
                return EVERYTHING

    def _range_by_quotient(
        self, rest: Poly, n: Poly, d: int, c: int, depth: int
    ) -> Interval:
        """Bound rest + c * (n // d) where rest has the dividend of a remainder."""
        found = EVERYTHING
        if c % d == 0:
            k = -c // d
            without = rest - n.scaled(k)
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
            rest = p - remainder.scaled(k)
            if len(rest.terms) < len(p.terms):
                most = self.range_of(ratio.denominator, depth).hi - 1
                digit = Interval(0, max(0, most)).scaled(k)
                found = found.meet(self.range_of(rest, depth) + digit)
        return found

    def range_of_monomial(self, m: Monomial) -> Interval:
        """Where a product of atoms lies."""
        product = Interval(1, 1)
        for a in m:
            product = product * self._ranges[a]
        if len(m) == 2 and m[0] == m[1]:
            product = product.meet(Interval(0, inf))
        return product

    # ------------------------------------------------------------------ facts

    def _read(self, facts: Sequence[Expr]) -> None:
        """Definitions and divisors first, then ranges, until nothing changes."""
        comparisons = [f for f in facts if isinstance(f, Binary | Sym)]
        for _ in range(8):
            changed = False
            for fact in comparisons:
                changed |= self._absorb(fact)
            if not changed:
                break
            self._known.clear()
        polys = [self._rewritten(p) for p in self.at_least_zero]
        for fact in comparisons:
            polys.extend(self.fact_polys(fact))
        found: dict[Poly, None] = {}
        for p in polys:
            where = self.range_of(p)
            self.contradiction |= where.hi < 0
            if where.lo < 0:
                found[p] = None
        self.at_least_zero = list(found)

    def fact_polys(self, fact: Expr) -> list[Poly]:
        """Polynomials that a true comparison makes >= 0; [] for other forms."""
        try:
            match fact:
                case Sym(type="bool"):
                    return [self.of(fact) - constant(1)]
                case Binary(op=op, left=a, right=b) if op in _COMPARISONS:
                    return self.sides(op, a, b)
                case _:
                    return []
        except Unmodelled:
            return []

    def sides(self, op: str, a: Expr, b: Expr) -> list[Poly]:
        """As `fact_polys`, for an operator and its operands; [] for !=."""
        left, right = self.of(a), self.of(b)
        one = constant(1)
        match op:
            case "<":
                return [right - left - one]
            case "<=":
                return [right - left]
            case ">":
                return [left - right - one]
            case ">=":
                return [left - right]
            case "==":
                return [left - right, right - left]
            case _:
                return []

    def _absorb(self, fact: Expr) -> bool:
        """Use a fact to replace an atom or to narrow its range; whether it did."""
        if isinstance(fact, Binary) and fact.op == "==":
            try:
                p = self.of(fact.left) - self.of(fact.right)
            except Unmodelled:
                return False
            return self._solve(p)
        changed = False
        for p in self.fact_polys(fact):
            changed |= self._narrow(p)
        return changed

    def _narrow(self, p: Poly) -> bool:
        """Read c*x + k >= 0 as a range of x."""
        varying = p.varying.terms
        if len(varying) != 1 or len(varying[0][0]) != 1:
            return False
        ((atom,), c) = varying[0]
        k = p.constant
        # c*x >= -k: x >= ceil(-k / c), or for negative c, x <= floor(k / -c).
        bound = Interval(-(k // c), inf) if c > 0 else Interval(-inf, k // -c)
        before = self._ranges[atom]
        after = before.meet(bound)
        self._ranges[atom] = after
        if after.lo > after.hi:
            self.contradiction = True
            self._ranges[atom] = before
            return False
        return after != before

    def _solve(self, p: Poly) -> bool:
        """Read p == 0: a definition of a symbol, a divisor, or a value."""
        if p.is_constant():
            self.contradiction |= p.constant != 0
            return False
        content = p.content
        if p.constant % content:
            self.contradiction = True
            return False
        p = p.exact(content)
        for m, c in p.terms:
            if len(m) != 1 or abs(c) != 1:
                continue
            atom = m[0]
            solvable = isinstance(self.atoms[atom], Symbol | Part)
            rest = p - Poly(((m, c),))
            if solvable and atom not in self._reached(rest):
                value = rest.scaled(-c)
                for bound in self._bounds_as_facts(atom, value):
                    self._narrow(bound)
                self._replaced[atom] = value
                return True
        return self._solve_divisor(p)

    def _bounds_as_facts(self, atom: int, value: Poly) -> list[Poly]:
        """The range of a replaced atom says something about its value."""
        where = self._ranges[atom]
        found: list[Poly] = []
        if where.lo != -inf:
            found.append(value - constant(int(where.lo)))
        if where.hi != inf:
            found.append(constant(int(where.hi)) - value)
        self.at_least_zero.extend(found)
        return found

    def _solve_divisor(self, p: Poly) -> bool:
        """Read x - d * (x // d) == 0, up to a factor."""
        if len(p.terms) != 2 or any(len(m) != 1 for m, _ in p.terms):
            return False
        for (x, c), (y, e) in (p.terms, p.terms[::-1]):
            quotient = self.atoms[y[0]]
            base = self.atoms[x[0]]
            if (
                isinstance(quotient, Quotient)
                and isinstance(base, Symbol | Part)
                and quotient.numerator == variable(x[0])
                and e == -c * quotient.divisor
            ):
                d = quotient.divisor
                where = self._ranges[x[0]]
                lo = where.lo if isinstance(where.lo, float) else -(-where.lo // d)
                inner = Interval(lo, where.floor_divided(d).hi)
                part = self._atom(Part(x[0], d), inner)
                self._replaced[x[0]] = part.scaled(d)
                return True
        return False

    def _reached(self, p: Poly) -> set[int]:
        """Atoms of a polynomial and of the atoms inside them."""
        found: set[int] = set()
        pending = list(p.atoms())
        while pending:
            number = pending.pop()
            if number in found:
                continue
            found.add(number)
            match self.atoms[number]:
                case Symbol():
                    pass
                case Part(of=of):
                    pending.append(of)
                case Quotient(numerator=n):
                    pending.extend(n.atoms())
                case Ratio(numerator=a, denominator=b) | Xor(left=a, right=b):
                    pending.extend(a.atoms() | b.atoms())
                case Deficit(value=v):
                    pending.extend(v.atoms())
                case Chosen():
                    # Its condition is not looked into: as if everything were inside.
                    pending.extend(range(len(self.atoms)))
        return found

    # ------------------------------------------------------------ expressions

    def of(self, e: Expr) -> Poly:
        """The normal form of an integer or bool expression; raises Unmodelled."""
        found = self._known.get(e)
        if found is None:
            found = self._of(e)
            self._known[e] = found
        return found

    def _of(self, e: Expr) -> Poly:
        match e:
            case Const(value=v):
                if isinstance(v, float):
                    raise Unmodelled(FLOATS)
                return constant(int(v))
            case Sym():
                if e.type == "float":
                    raise Unmodelled(FLOATS)
                return self._atom(Symbol(e.name), implicit_range(e))
            case Select():
                return self._select(e.cond, self.of(e.then), self.of(e.other))
            case Binary():
                return self._binary(e)
            case _:
                raise TypeError(f"{MISTYPED}: {e!r}")

    def _binary(self, e: Binary) -> Poly:
        if e.type == "bool":
            return self._select(e, constant(1), constant(0))
        a, b = self.of(e.left), self.of(e.right)
        match e.op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                if len(a.terms) * len(b.terms) > MAX_TERMS:
                    raise Unmodelled("a product with too many terms")
                return a * b
            case "//":
                return self.divided(a, b)
            case "%":
                return a - b * self.divided(a, b)
            case "^":
                return self._xor(a, b)
            case "min":
                return a + self._deficit(b - a)
            case "max":
                return a - self._deficit(a - b)
            case "/":
                raise Unmodelled(FLOATS)
            case _:
                raise AssertionError(f"{e.op} gives a condition")

    # --------------------------------------------------------------- division

    def divided(self, p: Poly, q: Poly) -> Poly:
        """The normal form of p // q; raises Unmodelled where q may be 0."""
        if q.is_constant():
            d = q.constant
            if d == 0:
                raise Unmodelled("division by zero")
            return self._quotient(p, d) if d > 0 else self._quotient(-p, -d)
        if self.range_of(q).lo < 1:
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
        positive = where.lo >= 0
        limit = Interval(0, where.hi) if positive else EVERYTHING
        return whole + self._atom(Ratio(p, q), limit)

    def _quotient(self, p: Poly, d: int) -> Poly:
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
                    return self._quotient(high + constant(int(steps.lo)), d // g)
        if len(p.varying.terms) == 1:
            (m, c) = p.varying.terms[0]
            inner = self.atoms[m[0]] if len(m) == 1 else None
            if c == 1 and isinstance(inner, Quotient):
                joined = inner.numerator + constant(p.constant * inner.divisor)
                return self._quotient(joined, inner.divisor * d)
        return self._atom(Quotient(p, d), where.floor_divided(d))

    # ------------------------------------------------------- other operations

    def _deficit(self, p: Poly) -> Poly:
        """min(0, p)."""
        where = self.range_of(p)
        if where.lo >= 0:
            return constant(0)
        if where.hi <= 0:
            return p
        if p.varying.terms[0][1] < 0:
            # One sign for both: min(0, p) = p + min(0, -p).
            limit = Interval(min(0, -where.hi), 0)
            return p + self._atom(Deficit(-p), limit)
        return self._atom(Deficit(p), Interval(where.lo, 0))

    def check(self, condition: Expr) -> None:
        """Raise Unmodelled where a part of a condition is or may be undefined.

        Stricter than evaluation: parts that might not be evaluated count, too.
        """
        match condition:
            case Binary(op="and" | "or", left=a, right=b):
                self.check(a)
                self.check(b)
            case Select(cond=c, then=a, other=b):
                for part in (c, a, b):
                    self.check(part)
            case Binary(op=op, left=a, right=b) if op in _COMPARISONS:
                self.of(a)
                self.of(b)
            case _:
                self.of(condition)

    def _select(self, condition: Expr, then: Poly, other: Poly) -> Poly:
        self.check(condition)
        difference = then - other
        if not difference.terms:
            return then
        if isinstance(condition, Const):
            return then if condition.value else other
        if isinstance(condition, Binary) and condition.op in _COMPARISONS:
            decided = self.compared(condition.op, condition.left, condition.right)
            if decided is not None:
                return then if decided else other
        limit = self.range_of(difference).hull(Interval(0, 0))
        return other + self._atom(Chosen(condition, difference), limit)

    def compared(self, op: str, a: Expr, b: Expr) -> bool | None:
        """What a comparison is by ranges alone, or None."""
        where = self.range_of(self.of(a) - self.of(b))
        match op:
            case "<":
                return _sign(where.hi < 0, where.lo >= 0)
            case "<=":
                return _sign(where.hi <= 0, where.lo > 0)
            case ">":
                return _sign(where.lo > 0, where.hi <= 0)
            case ">=":
                return _sign(where.lo >= 0, where.hi < 0)
            case "==":
                return _sign(where.lo == where.hi == 0, not where.lo <= 0 <= where.hi)
            case _:
                return _sign(not where.lo <= 0 <= where.hi, where.lo == where.hi == 0)

    def _xor(self, a: Poly, b: Poly) -> Poly:
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
        field = self._quotient(a, 1 << low)
        field = field - self._quotient(field, size).scaled(size)
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
        left, right = sorted((a, b), key=lambda p: p.terms)
        return self._atom(Xor(left, right), limit)

    def _bits(self, p: Poly) -> float:
        """Bits that a value can have; infinite where it may be negative or large."""
        where = self.range_of(p)
        if where.lo < 0 or not isinstance(where.hi, int):
            return inf
        return where.hi.bit_length()


_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def _sign(yes: bool, no: bool) -> bool | None:
    return True if yes else (False if no else None)


def _split_off(p: Poly, monomial: Monomial, factor: int) -> tuple[Poly, Poly]:
    """Split p into q * whole + rest, where q is one term."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in p.terms:
        left = _without(m, monomial)
        if left is None or c % factor:
            rest[m] = c
        else:
            whole[left] = c // factor
    return Poly.of(whole), Poly.of(rest)


def _without(m: Monomial, factor: Monomial) -> Monomial | None:
    """The monomial m divided by another, or None."""
    left = list(m)
    for a in factor:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)
