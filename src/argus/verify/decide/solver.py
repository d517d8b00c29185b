"""Z3: integers, or bit vectors where an xor meets bounded values.

The translation is exact: Z3 divides with a remainder that is never negative, we round
down, so negative divisors are turned around. An xor whose one side is bounded becomes
sums of bits on integers of any size; where everything is bounded, bit vectors wide
enough that nothing overflows serve better and are tried first.

Z3 is imported at the first question, since most need none. It has no type stubs: its
objects are Any here and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, assert_never

from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, divisor
from argus.verify.decide.evaluation import FLOATS, MISTYPED, Unmodelled
from argus.verify.decide.facts import Skimmed, range_of, symbols_of
from argus.verify.decide.polynomial import Interval

__all__ = ["SolverAnswer", "has_xor", "solve"]

XOR_BITS = 24
"""Widest bounded side of an xor on integers."""


@dataclass(frozen=True)
class SolverAnswer:
    """What the solver says; a model where the goal does not hold."""

    holds: bool | None
    method: str
    reason: str = ""
    model: dict[str, int] | None = None


@cache
def _z3() -> Any:
    return importlib.import_module("z3")


def has_xor(e: Expr) -> bool:
    """Whether an xor occurs."""
    match e:
        case Binary():
            return e.op == "^" or has_xor(e.left) or has_xor(e.right)
        case Select():
            return any(has_xor(x) for x in (e.cond, e.then, e.other))
        case Const() | Sym():
            return False
        case _:
            assert_never(e)


def solve(
    goal: Expr,
    facts: Sequence[Expr],
    known: Skimmed,
    timeout_ms: int,
    kinds: Sequence[str] = ("bits", "integers"),
) -> SolverAnswer:
    """Decide within a time limit in milliseconds.

    ``kinds``: bit vectors are used where an xor occurs and everything is bounded.
    """
    everything = (goal, *facts)
    width = _width(everything, known.ranges) if "bits" in kinds else None
    translations: list[_Numbers] = []
    if width is not None and any(map(has_xor, everything)):
        translations.append(_Bits(width, known.ranges))
    if "integers" in kinds:
        translations.append(_Integers(known.ranges))
    answer = SolverAnswer(None, "z3", "no translation to the solver")
    for numbers in translations:
        limit = max(1, timeout_ms // len(translations))
        answer = _ask(goal, facts, known, numbers, limit)
        if answer.holds is not None:
            return answer
    return answer


def _ask(
    goal: Expr,
    facts: Sequence[Expr],
    known: Skimmed,
    numbers: _Numbers,
    timeout_ms: int,
) -> SolverAnswer:
    z3 = _z3()
    translation = _Translation(numbers)
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    # Its handler leaves SIGINT behind so that it no longer ends a wait of Python's.
    solver.set("ctrl_c", False)
    try:
        for fact in facts:
            truth, defined = translation.condition(fact)
            solver.add(z3.And(truth, defined))
        truth, defined = translation.condition(goal)
    except Unmodelled as why:
        return SolverAnswer(None, numbers.method, str(why))
    solver.add(z3.Not(z3.And(truth, defined)))
    for sym in symbols_of(goal, facts):
        where = known.ranges[sym.name]
        x = translation.symbol(sym.name)
        if isinstance(where.lo, int):
            solver.add(x >= numbers.number(where.lo))
        if isinstance(where.hi, int):
            solver.add(x <= numbers.number(where.hi))
    for extra in translation.conditions:
        solver.add(extra)
    found = solver.check()
    if found == z3.unsat:
        return SolverAnswer(True, numbers.method)
    if found == z3.unknown:
        why = str(solver.reason_unknown())
        slow = why in ("timeout", "canceled")
        reason = f"timeout after {timeout_ms} ms" if slow else f"Z3 gave up: {why}"
        return SolverAnswer(None, numbers.method, reason)
    values = solver.model()
    model = {
        name: int(numbers.value(values.eval(x, model_completion=True)))
        for name, x in translation.symbols.items()
    }
    return SolverAnswer(False, numbers.method, model=model)


def _width(everything: Sequence[Expr], ranges: dict[str, Interval]) -> int | None:
    """Bits in which every intermediate value fits, 32 or 64, or None."""
    for width in (32, 64):
        limit = 1 << (width - 2)
        if all(_within(e, ranges, limit) for e in everything):
            return width
    return None


def _within(e: Expr, ranges: dict[str, Interval], limit: int) -> bool:
    if not range_of(e, ranges).within(-limit, limit):
        return False
    match e:
        case Binary():
            return _within(e.left, ranges, limit) and _within(e.right, ranges, limit)
        case Select():
            return all(_within(x, ranges, limit) for x in (e.cond, e.then, e.other))
        case Const() | Sym():
            return True
        case _:
            assert_never(e)


# ----------------------------------------------------------------- number systems


class _Numbers(Protocol):
    """How integers are written for Z3."""

    method: str
    ranges: dict[str, Interval]

    def symbol(self, name: str) -> Any: ...
    def number(self, value: int) -> Any: ...
    def value(self, numeral: Any) -> int: ...
    def divide(self, a: Any, b: Any, by: Expr) -> tuple[Any, Any]: ...
    def xor(self, a: Any, b: Any, e: Binary) -> Any: ...


class _Integers:
    """Unbounded integers."""

    method = "z3 integers"

    def __init__(self, ranges: dict[str, Interval]) -> None:
        self.ranges = ranges

    def symbol(self, name: str) -> Any:
        return _z3().Int(name)

    def number(self, value: int) -> Any:
        return _z3().IntVal(value)

    def value(self, numeral: Any) -> int:
        return int(numeral.as_long())

    def divide(self, a: Any, b: Any, by: Expr) -> tuple[Any, Any]:
        """Quotient and remainder, rounded down; anything for b == 0."""
        where = range_of(by, self.ranges)
        if where.lo >= 0:
            return a / b, a % b
        if where.hi <= 0:
            return (-a) / (-b), -((-a) % (-b))
        positive = b > 0
        choose = _z3().If
        return (
            choose(positive, a / b, (-a) / (-b)),
            choose(positive, a % b, -((-a) % (-b))),
        )

    def xor(self, a: Any, b: Any, e: Binary) -> Any:
        """The bits of the bounded side, one by one; the others are those of a."""
        left, right = range_of(e.left, self.ranges), range_of(e.right, self.ranges)
        low = divisor(e.right, {})
        if not _bounded(right):
            if not _bounded(left):
                raise Unmodelled("an xor of two values without a bound")
            a, b, right, low = b, a, left, divisor(e.left, {})
        z3 = _z3()
        total = a
        for bit in range(low.bit_length() - 1, int(right.hi).bit_length()):
            weight = 1 << bit
            in_a, in_b = (a / weight) % 2, (b / weight) % 2
            # Where b has the bit, that of a is turned over: + weight or - weight.
            total = total + z3.If(in_b == 1, weight * (1 - 2 * in_a), 0)
        return total


def _bounded(where: Interval) -> bool:
    return where.lo >= 0 and where.hi < (1 << XOR_BITS)


class _Bits:
    """Bit vectors wide enough that nothing overflows, signed."""

    def __init__(self, width: int, ranges: dict[str, Interval]) -> None:
        self.ranges = ranges
        self.width = width
        self.method = f"z3 {width}-bit vectors"

    def symbol(self, name: str) -> Any:
        return _z3().BitVec(name, self.width)

    def number(self, value: int) -> Any:
        return _z3().BitVecVal(value, self.width)

    def value(self, numeral: Any) -> int:
        return int(numeral.as_signed_long())

    def divide(self, a: Any, b: Any, by: Expr) -> tuple[Any, Any]:
        z3 = _z3()
        match by:
            case Const(value=v) if isinstance(v, int) and v > 0 and v & (v - 1) == 0:
                shift = self.number(v.bit_length() - 1)
                return a >> shift, a & self.number(v - 1)
            case Const() | Sym() | Binary() | Select():
                # Z3's signed division rounds to 0, its smod has the divisor's sign.
                remainder = a - b * (a / b)
                zero = self.number(0)
                apart = z3.And(remainder != zero, (remainder < zero) != (b < zero))
                quotient = z3.If(apart, a / b - 1, a / b)
                return quotient, a - b * quotient
            case _:
                assert_never(by)

    def xor(self, a: Any, b: Any, e: Binary) -> Any:
        return a ^ b


# ------------------------------------------------------------------- translation


class _Translation:
    """Expressions as Z3 terms, each with the condition under which it is defined."""

    def __init__(self, numbers: _Numbers) -> None:
        self.numbers = numbers
        self.symbols: dict[str, Any] = {}
        self.conditions: list[Any] = []
        self._done: dict[Expr, tuple[Any, Any]] = {}

    def symbol(self, name: str) -> Any:
        """The Z3 constant of a symbol."""
        if name not in self.symbols:
            self.symbols[name] = self.numbers.symbol(name)
        return self.symbols[name]

    def condition(self, e: Expr) -> tuple[Any, Any]:
        """As a Z3 Bool, and when it is defined."""
        z3 = _z3()
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
                return value != self.numbers.number(0), known
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
        z3 = _z3()
        always = z3.BoolVal(True)
        match e:
            case Const(value=v):
                if isinstance(v, float):
                    raise Unmodelled(FLOATS)
                return self.numbers.number(int(v)), always
            case Sym():
                if e.type == "float":
                    raise Unmodelled(FLOATS)
                return self.symbol(e.name), always
            case Select():
                c, c_known = self.condition(e.cond)
                a, a_known = self.term(e.then)
                b, b_known = self.term(e.other)
                return z3.If(c, a, b), z3.And(c_known, z3.If(c, a_known, b_known))
            case Binary() if e.type == "bool":
                c, known = self.condition(e)
                return z3.If(c, self.numbers.number(1), self.numbers.number(0)), known
            case Binary():
                a, a_known = self.term(e.left)
                b, b_known = self.term(e.right)
                known = z3.And(a_known, b_known)
                if e.op in ("//", "%") and not isinstance(e.right, Const):
                    known = z3.And(known, b != self.numbers.number(0))
                return self._binary(e, a, b), known
            case _:
                raise TypeError(f"{MISTYPED}: {e!r}")

    def _binary(self, e: Binary, a: Any, b: Any) -> Any:
        z3 = _z3()
        match e.op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "//":
                return self.numbers.divide(a, b, e.right)[0]
            case "%":
                return self.numbers.divide(a, b, e.right)[1]
            case "^":
                return self.numbers.xor(a, b, e)
            case "min":
                return z3.If(a <= b, a, b)
            case "max":
                return z3.If(a >= b, a, b)
            case "/":
                raise Unmodelled(FLOATS)
            case "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
                raise AssertionError("conditions are not numbers")
            case _:
                assert_never(e.op)


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
