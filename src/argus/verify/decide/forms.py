"""The normal form of expressions: polynomials over atoms.

Atoms are symbols, quotients by a constant, and what has no better form; a is p // d:

    p % d                          p - d*a
    (6*q + r) // 4                 q + (2*q + r) // 4, then by ranges
    (x // 4 + 2) // 8              (x + 8) // 32
    (16*x + 4*y + z) // 8          2*x + y // 2      where 0 <= z < 4
    m ^ m // 128 % 8 * 16          only the bits that the right side can have
    max(x, y)                      x - min(0, x - y)

All rewriting is exact for floor division on all integers; what depends on ranges uses
those that are known (`rewriting.py`). Nothing here decides anything, and nothing here
can time out.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.verify.decide.atoms import Chosen, Symbol
from argus.verify.decide.evaluation import FLOATS, MISTYPED, Unmodelled
from argus.verify.decide.facts import implicit_range
from argus.verify.decide.polynomial import Interval, Poly, constant
from argus.verify.decide.rewriting import Rewriting

__all__ = ["COMPARISONS", "Forms"]

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MOST_TERMS = 300
"""Products with more terms than this are left to Z3."""


class Forms(Rewriting):
    """Normal forms of expressions, with what is known of their atoms."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[Expr, Poly] = {}

    def of(self, e: Expr) -> Poly:
        """The normal form of an integer or bool expression; raises Unmodelled."""
        found = self.known.get(e)
        if found is None:
            found = self._of(e)
            self.known[e] = found
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
                return self.atom(Symbol(e.name), implicit_range(e))
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
                if len(a.terms) * len(b.terms) > _MOST_TERMS:
                    raise Unmodelled("a product with too many terms")
                return a * b
            case "//":
                return self.divided(a, b)
            case "%":
                return a - b * self.divided(a, b)
            case "^":
                return self.xor(a, b)
            case "min":
                return a + self.deficit(b - a)
            case "max":
                return a - self.deficit(a - b)
            case "/":
                raise Unmodelled(FLOATS)
            case _:
                raise AssertionError(f"{e.op} gives a condition")

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
            case Binary(op=op, left=a, right=b) if op in COMPARISONS:
                self.of(a)
                self.of(b)
            case Const() | Sym() | Binary():
                self.of(condition)
            case _:
                assert_never(condition)

    def _select(self, condition: Expr, then: Poly, other: Poly) -> Poly:
        self.check(condition)
        difference = then - other
        if not difference.terms:
            return then
        if isinstance(condition, Const):
            return then if condition.value else other
        if isinstance(condition, Binary) and condition.op in COMPARISONS:
            decided = self.compared(condition.op, condition.left, condition.right)
            if decided is not None:
                return then if decided else other
        limit = self.range_of(difference).hull(Interval(0, 0))
        return other + self.atom(Chosen(condition, difference), limit)

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
            case "!=":
                return _sign(not where.lo <= 0 <= where.hi, where.lo == where.hi == 0)
            case _:
                raise ValueError(f"{op} compares nothing")


def _sign(yes: bool, no: bool) -> bool | None:
    return True if yes else (False if no else None)
