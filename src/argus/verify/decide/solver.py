"""Z3, on unbounded integers.

The translation is exact: Z3 divides with a remainder that is never negative, we round
down, so negative divisors are turned around. An xor whose one side is bounded becomes
a sum of bits.

Z3 is imported at the first question, since most need none. It has no type stubs: its
objects are Any here and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Any, assert_never

from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, divisor
from argus.verify.decide.evaluation import FLOATS, MISTYPED, Unmodelled
from argus.verify.decide.facts import Skimmed, range_of, symbols_of
from argus.verify.decide.polynomial import Interval

__all__ = ["SolverAnswer", "Translation", "solve", "z3_module"]

METHOD = "z3 integers"
XOR_BITS = 24
"""Widest bounded side of an xor."""


@dataclass(frozen=True)
class SolverAnswer:
    """What the solver says; a model where the goal does not hold."""

    holds: bool | None
    method: str
    reason: str = ""
    model: dict[str, int] | None = None


@cache
def z3_module() -> Any:
    """Z3's module, which has no types."""
    return importlib.import_module("z3")


def solve(
    goal: Expr, facts: Sequence[Expr], known: Skimmed, timeout_ms: int
) -> SolverAnswer:
    """Decide within a time limit in milliseconds."""
    z3 = z3_module()
    translation = Translation(known.ranges)
    solver = z3.Solver()
    solver.set("timeout", max(1, timeout_ms))
    # Its handler leaves SIGINT behind so that it no longer ends a wait of Python's.
    solver.set("ctrl_c", False)
    try:
        for fact in facts:
            truth, defined = translation.condition(fact)
            solver.add(z3.And(truth, defined))
        truth, defined = translation.condition(goal)
    except Unmodelled as why:
        return SolverAnswer(None, METHOD, str(why))
    solver.add(z3.Not(z3.And(truth, defined)))
    for sym in symbols_of(goal, facts):
        where = known.ranges[sym.name]
        x = translation.symbol(sym)
        if isinstance(where.lo, int):
            solver.add(x >= where.lo)
        if isinstance(where.hi, int):
            solver.add(x <= where.hi)
    found = solver.check()
    if found == z3.unsat:
        return SolverAnswer(True, METHOD)
    if found == z3.unknown:
        why = str(solver.reason_unknown())
        slow = why in ("timeout", "canceled")
        reason = f"timeout after {timeout_ms} ms" if slow else f"Z3 gave up: {why}"
        return SolverAnswer(None, METHOD, reason)
    values = solver.model()
    model = {
        name: int(values.eval(x, model_completion=True).as_long())
        for name, x in translation.symbols.items()
    }
    return SolverAnswer(False, METHOD, model=model)


def _bounded(where: Interval) -> bool:
    return where.lo >= 0 and where.hi < (1 << XOR_BITS)


class Translation:
    """Expressions as Z3 terms, each with the condition under which it is defined.

    ``floats``: floating-point numbers are real ones; else they raise Unmodelled.
    """

    def __init__(self, ranges: dict[str, Interval], *, floats: bool = False) -> None:
        self.ranges = ranges
        self.floats = floats
        self.symbols: dict[str, Any] = {}
        self._done: dict[Expr, tuple[Any, Any]] = {}

    def symbol(self, sym: Sym) -> Any:
        """The Z3 constant of a symbol."""
        if sym.name not in self.symbols:
            z3 = z3_module()
            make = z3.Real if sym.type == "float" else z3.Int
            self.symbols[sym.name] = make(sym.name)
        return self.symbols[sym.name]

    def condition(self, e: Expr) -> tuple[Any, Any]:
        """As a Z3 Bool, and when it is defined."""
        z3 = z3_module()
        match e:
            case Binary(op="and" | "or", left=a, right=b):
                left, left_known = self.condition(a)
                right, right_known = self.condition(b)
                if e.op == "and":
                    skip, value = z3.Not(left), z3.And(left, right)
                else:
                    skip, value = left, z3.Or(left, right)
                return value, z3.And(left_known, z3.Or(skip, right_known))
            case Binary(op="==" | "!=" | "<" | "<=" | ">" | ">=" as op):
                a, a_known = self.term(e.left)
                b, b_known = self.term(e.right)
                return _compared(op, a, b), z3.And(a_known, b_known)
            case Const() | Sym() | Binary() | Select():
                value, known = self.term(e)
                return value != 0, known
            case _:
                assert_never(e)

    def term(self, e: Expr) -> tuple[Any, Any]:
        """As a Z3 number, and when it is defined."""
        found = self._done.get(e)
        if found is None:
            found = self._term(e)
            self._done[e] = found
        return found

    def _term(self, e: Expr) -> tuple[Any, Any]:
        z3 = z3_module()
        always = z3.BoolVal(True)
        match e:
            case Const(value=v):
                if isinstance(v, float):
                    if not isfinite(v):
                        raise Unmodelled(FLOATS)
                    return z3.RealVal(self._real(repr(v))), always
                return z3.IntVal(int(v)), always
            case Sym():
                if e.type == "float":
                    self._real(e.name)
                return self.symbol(e), always
            case Select():
                c, c_known = self.condition(e.cond)
                a, a_known = self.term(e.then)
                b, b_known = self.term(e.other)
                return z3.If(c, a, b), z3.And(c_known, z3.If(c, a_known, b_known))
            case Binary() if e.type == "bool":
                c, known = self.condition(e)
                return z3.If(c, z3.IntVal(1), z3.IntVal(0)), known
            case Binary():
                a, a_known = self.term(e.left)
                b, b_known = self.term(e.right)
                known = z3.And(a_known, b_known)
                if e.op in ("//", "%") and not isinstance(e.right, Const):
                    known = z3.And(known, b != 0)
                return self._binary(e, a, b), known
            case _:
                raise TypeError(f"{MISTYPED}: {e!r}")

    def _binary(self, e: Binary, a: Any, b: Any) -> Any:
        z3 = z3_module()
        match e.op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "//":
                return self._divided(a, b, e.right)[0]
            case "%":
                return self._divided(a, b, e.right)[1]
            case "^":
                return self._xor(a, b, e)
            case "min":
                return z3.If(a <= b, a, b)
            case "max":
                return z3.If(a >= b, a, b)
            case "/":
                return z3.ToReal(a) / b if z3.is_int(self._real(a)) else a / b
            case "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
                raise AssertionError("conditions are not numbers")
            case _:
                assert_never(e.op)

    def _real(self, value: Any) -> Any:
        if not self.floats:
            raise Unmodelled(FLOATS)
        return value

    def _divided(self, a: Any, b: Any, by: Expr) -> tuple[Any, Any]:
        """Quotient and remainder, rounded down; anything for b == 0."""
        where = range_of(by, self.ranges)
        if where.lo >= 0:
            return a / b, a % b
        if where.hi <= 0:
            return (-a) / (-b), -((-a) % (-b))
        positive = b > 0
        choose = z3_module().If
        return (
            choose(positive, a / b, (-a) / (-b)),
            choose(positive, a % b, -((-a) % (-b))),
        )

    def _xor(self, a: Any, b: Any, e: Binary) -> Any:
        """The bits of the bounded side, one by one; the others are those of a."""
        left, right = range_of(e.left, self.ranges), range_of(e.right, self.ranges)
        low = divisor(e.right, {})
        if not _bounded(right):
            if not _bounded(left):
                raise Unmodelled("an xor of two values without a bound")
            a, b, right, low = b, a, left, divisor(e.left, {})
        total = a
        for bit in range(low.bit_length() - 1, int(right.hi).bit_length()):
            weight = 1 << bit
            in_a, in_b = (a / weight) % 2, (b / weight) % 2
            # Where b has the bit, that of a is turned over: + weight or - weight.
            total = total + z3_module().If(in_b == 1, weight * (1 - 2 * in_a), 0)
        return total


def _compared(op: BinaryOp, a: Any, b: Any) -> Any:
    match op:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case _:
            raise AssertionError(f"{op} is no comparison")
