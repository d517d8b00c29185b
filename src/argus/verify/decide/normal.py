"""Normal forms under facts, unique for most equal expressions.

A fact `x == e` replaces x; `x % d == 0` replaces x by d times a new atom; comparisons
with one atom are its range. Other facts are kept as polynomials >= 0 for
`inequality.py`. What the form of an expression is: `forms.py`.

Nothing here decides anything, and nothing here can time out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.verify.decide.atoms import (
    PLAIN,
    Chosen,
    Deficit,
    Part,
    Quotient,
    Ratio,
    Share,
    Symbol,
    Xor,
)
from argus.verify.decide.evaluation import Unmodelled
from argus.verify.decide.forms import COMPARISONS, Forms
from argus.verify.decide.polynomial import Interval, Poly, constant, tightened, variable

__all__ = ["Normal"]


class Normal(Forms):
    """Normal forms under a set of facts, which are given as conjuncts.

    ``at_least_zero`` are the facts that remain as polynomials; ``contradiction`` says
    that no values satisfy the facts. Facts that cannot be read are left out: that is
    sound for proofs. ``prover`` shows that a polynomial is at least 1 under the facts
    read so far, where ranges do not say so.
    """

    def __init__(
        self, facts: Sequence[Expr], prover: Callable[[Normal, Poly], bool]
    ) -> None:
        super().__init__()
        self.at_least_zero: list[Poly] = []
        self.contradiction = False
        self.about: dict[int, list[Poly]] = {}
        """What atoms say about themselves, where that was asked (`inequality.py`)."""
        self._prover = prover
        self._read(facts)

    def positive(self, p: Poly) -> bool:
        """Whether p >= 1 was shown."""
        return super().positive(p) or self._prover(self, p)

    # ------------------------------------------------------------------ facts

    def _read(self, facts: Sequence[Expr]) -> None:
        """Definitions and divisors first, then ranges, until nothing changes."""
        comparisons = [f for f in facts if isinstance(f, Binary | Sym)]
        # What divides a symbol first: definitions are then written with its parts.
        comparisons.sort(key=_order)
        for _ in range(8):
            changed = False
            for fact in comparisons:
                changed |= self._absorb(fact)
            changed |= self._collect(comparisons)
            if not changed:
                break
            self.known.clear()

    def _collect(self, facts: Sequence[Expr]) -> bool:
        """Keep facts as polynomials; whether that made a difference."""
        polys = [self.rewritten(p) for p in self.at_least_zero]
        for fact in facts:
            polys.extend(self.fact_polys(fact))
        found: dict[Poly, None] = {}
        for p in map(tightened, polys):
            where = self.range_of(p)
            self.contradiction |= where.hi < 0
            if where.lo < 0:
                found[p] = None
        changed = list(found) != self.at_least_zero
        self.at_least_zero = list(found)
        return changed

    def fact_polys(self, fact: Expr) -> list[Poly]:
        """Polynomials that a true comparison makes >= 0; [] for other forms."""
        try:
            match fact:
                case Sym(type="bool"):
                    return [self.of(fact) - constant(1)]
                case Binary(op="!=", left=a, right=b):
                    return self._beside(self.of(a) - self.of(b))
                case Binary(op=op, left=a, right=b) if op in COMPARISONS:
                    return self.sides(op, a, b)
                case Const() | Sym() | Binary() | Select():
                    return []
                case _:
                    assert_never(fact)
        except Unmodelled:
            return []

    def _beside(self, p: Poly) -> list[Poly]:
        """What p != 0 says where 0 is an end of the range of p."""
        where = self.range_of(p)
        if where.lo == 0:
            return [p - constant(1)]
        return [-p - constant(1)] if where.hi == 0 else []

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
            case "!=":
                return []
            case _:
                raise ValueError(f"{op} compares nothing")

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
        if bound.lo > self.ranges[atom].hi or bound.hi < self.ranges[atom].lo:
            self.contradiction = True
            return False
        return self.narrow(atom, bound)

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
            solvable = isinstance(self.atoms[atom], PLAIN)
            rest = p - Poly(((m, c),))
            if solvable and atom not in self._reached(rest):
                value = rest.scaled(-c)
                for bound in self._bounds_as_facts(atom, value):
                    self._narrow(bound)
                self._replace(atom, value)
                return True
        return self._solve_divisor(p)

    def _replace(self, atom: int, value: Poly) -> None:
        self.replaced[atom] = value
        self.known.clear()

    def _bounds_as_facts(self, atom: int, value: Poly) -> list[Poly]:
        """The range of a replaced atom says something about its value."""
        where = self.ranges[atom]
        found: list[Poly] = []
        if where.lo != -inf:
            found.append(value - constant(int(where.lo)))
        if where.hi != inf:
            found.append(constant(int(where.hi)) - value)
        self.at_least_zero.extend(found)
        return found

    def _solve_divisor(self, p: Poly) -> bool:
        """Read x - d * (x // d) == 0, up to a factor; d may be a polynomial."""
        for m, c in p.terms:
            if len(m) != 1 or not isinstance(self.atoms[m[0]], PLAIN):
                continue
            x = variable(m[0])
            for number in p.atoms():
                part = self._divided_by(m[0], number)
                if part is None or p != (x - part[1] * variable(number)).scaled(c):
                    continue
                share, divisor = part
                value = self.rewritten(share * divisor)
                if m[0] in value.atoms():
                    continue
                self._replace(m[0], value)
                return True
        return False

    def _divided_by(self, x: int, number: int) -> tuple[Poly, Poly] | None:
        """If an atom is x // d: the atom for x / d as a whole number, and d."""
        where = self.ranges[x]
        match self.atoms[number]:
            case Quotient(numerator=n, divisor=d) if n == variable(x):
                lo = where.lo if isinstance(where.lo, float) else -(-where.lo // d)
                inner = Interval(lo, where.floor_divided(d).hi)
                return self.atom(Part(x, d), inner), constant(d)
            case Ratio(numerator=n, denominator=q) if n == variable(
                x
            ) and x not in self._reached(q):
                # x and q are at least 1, and so is what they have between them.
                inner = where if where.lo >= 1 else Interval(-inf, inf)
                hi = inner.hi
                share = self.atom(Share(x, q), Interval(min(inner.lo, 1), hi))
                return share, q
            case (
                Symbol() | Part() | Share() | Quotient() | Ratio() | Xor() | Deficit()
                | Chosen()
            ):  # fmt: skip
                return None

    def reached(self, atom: int) -> set[int]:
        """The symbols inside an atom, or the parts of them that stand for them."""
        inside = {x: self.atoms[x] for x in self._reached(variable(atom))}
        whole = {a.of for a in inside.values() if isinstance(a, Part)}
        return {
            x
            for x, a in inside.items()
            if isinstance(a, Symbol | Part) and x not in whole
        }

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
                case Share(of=of, by=by):
                    pending.append(of)
                    pending.extend(by.atoms())
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


def _order(fact: Expr) -> int:
    """Facts about what divides a symbol, then equalities, then the others."""
    match fact:
        case Binary(op="==", left=Binary(op="%", left=Sym(), right=Const())):
            return 0
        case Binary(op="==", left=Binary(op="%", left=Sym(), right=Sym())):
            return 1
        case Binary(op="=="):
            return 2
        case Const() | Sym() | Binary() | Select():
            return 3
        case _:
            assert_never(fact)
