"""What facts say about single symbols: ranges, divisors, definitions.

A light reading of the facts, shared by the layers that try values. It only skims: a
fact in a form that is not recognised here stays a condition to be checked.

    0 <= x, x < 8, x % 4 == 0     range 0..7, step 4
    m == bm * 128                 m is defined by bm: it need not be guessed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import assert_never

from argus.extents import LEAST_EXTENT
from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, symbols
from argus.ir.program import GRID_SIZE
from argus.verify.decide.polynomial import EVERYTHING, Interval

__all__ = [
    "Skimmed",
    "conjuncts",
    "implicit_range",
    "range_of",
    "skim",
    "symbols_of",
]


def symbols_of(goal: Expr, facts: Iterable[Expr]) -> tuple[Sym, ...]:
    """Every symbol once, in the order of their occurrence."""
    return tuple(dict.fromkeys(s for e in (goal, *facts) for s in symbols(e)))


def implicit_range(sym: Sym) -> Interval:
    """What the kind of a symbol promises: no size is 0, and no index negative."""
    if sym.type == "bool":
        return Interval(0, 1)
    if sym.kind == "dim":
        return Interval(LEAST_EXTENT, inf)
    if sym.kind == "sms" or sym.name == GRID_SIZE.name:
        return Interval(1, inf)
    return Interval(0, inf) if sym.nonneg else EVERYTHING


def conjuncts(given: Iterable[Expr]) -> tuple[Expr, ...]:
    """Facts with conjunctions taken apart and true ones left out."""
    found: list[Expr] = []
    for fact in given:
        if isinstance(fact, Binary) and fact.op == "and":
            found.extend(conjuncts((fact.left, fact.right)))
        elif fact != Const(True):
            found.append(fact)
    return tuple(dict.fromkeys(found))


@dataclass
class Skimmed:
    """Ranges of all symbols by name; definitions in an order that can be evaluated."""

    ranges: dict[str, Interval]
    steps: dict[str, int] = field(default_factory=dict[str, int])
    definitions: dict[str, Expr] = field(default_factory=dict[str, Expr])

    @property
    def free(self) -> list[str]:
        """Symbols that are not defined by others."""
        return [name for name in self.ranges if name not in self.definitions]


def skim(goal: Expr, facts: Sequence[Expr]) -> Skimmed:
    """Read the symbols of a goal and of facts (conjuncts)."""
    ranges: dict[str, Interval] = {}
    for e in (goal, *facts):
        for s in symbols(e):
            known = ranges.get(s.name, EVERYTHING)
            ranges[s.name] = known.meet(implicit_range(s))
    found = Skimmed(ranges)
    for fact in facts:
        match fact:
            case Sym(type="bool"):
                _narrow(found, fact.name, Interval(1, 1))
            case Binary(left=Sym(name=name), op=op, right=Const(value=int(v))):
                _narrow(found, name, _side(op, v))
            case Binary(left=Const(value=int(v)), op=op, right=Sym(name=name)):
                _narrow(found, name, _side(_MIRRORED.get(op, op), v))
            case Binary(
                op="==",
                left=Binary(op="%", left=Sym(name=name), right=Const(value=int(v))),
                right=Const(value=0),
            ) if v > 0:
                found.steps[name] = max(found.steps.get(name, 1), v)
            case (
                Binary(op="==", left=Sym() as s, right=e)
                | Binary(op="==", left=e, right=Sym() as s)
            ):
                _define(found, s.name, e)
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(fact)
    found.definitions = _sorted(found.definitions)
    for name, value in found.definitions.items():
        _narrow(found, name, range_of(value, found.ranges))
    return found


_MIRRORED: dict[BinaryOp, BinaryOp] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _side(op: BinaryOp, v: int) -> Interval:
    match op:
        case "<":
            return Interval(-inf, v - 1)
        case "<=":
            return Interval(-inf, v)
        case ">":
            return Interval(v + 1, inf)
        case ">=":
            return Interval(v, inf)
        case "==":
            return Interval(v, v)
        case (
            "!=" | "+" | "-" | "*" | "//" | "%" | "/" | "^" | "min" | "max" | "and"
            | "or"
        ):  # fmt: skip
            return EVERYTHING


def _narrow(found: Skimmed, name: str, to: Interval) -> None:
    found.ranges[name] = found.ranges[name].meet(to)


def _define(found: Skimmed, name: str, value: Expr) -> None:
    """Add a definition unless it would be the second one or lead back to its name."""
    if name in found.definitions or isinstance(value, Const):
        return
    if name not in _reached(value, found.definitions):
        found.definitions[name] = value


def _reached(e: Expr, definitions: dict[str, Expr]) -> set[str]:
    """Symbols of an expression and of the definitions behind them."""
    pending = [s.name for s in symbols(e)]
    seen: set[str] = set()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in definitions:
            pending.extend(s.name for s in symbols(definitions[at]))
    return seen


def _sorted(definitions: dict[str, Expr]) -> dict[str, Expr]:
    """The definitions, each after those it uses; there is no cycle."""
    order: dict[str, Expr] = {}

    def visit(name: str) -> None:
        if name in definitions and name not in order:
            for s in symbols(definitions[name]):
                visit(s.name)
            order[name] = definitions[name]

    for name in definitions:
        visit(name)
    return order


def range_of(e: Expr, ranges: dict[str, Interval]) -> Interval:
    """Where the value of an integer expression lies, by interval arithmetic only.

    Covers every branch of selections, so no evaluation meets a value outside.
    """
    match e:
        case Const(value=v):
            if isinstance(v, float):
                return EVERYTHING
            return Interval(int(v), int(v))
        case Sym():
            return ranges.get(e.name, EVERYTHING)
        case Select():
            return range_of(e.then, ranges).hull(range_of(e.other, ranges))
        case Binary():
            a, b = range_of(e.left, ranges), range_of(e.right, ranges)
            return _binary(e.op, a, b)
        case _:
            assert_never(e)


def _binary(op: BinaryOp, a: Interval, b: Interval) -> Interval:
    match op:
        case "+":
            return a + b
        case "-":
            return a + b.scaled(-1)
        case "*":
            return a * b
        case "min":
            return Interval(min(a.lo, b.lo), min(a.hi, b.hi))
        case "max":
            return Interval(max(a.lo, b.lo), max(a.hi, b.hi))
        case "//":
            if b.lo >= 1 and b.lo == b.hi:
                return a.floor_divided(int(b.lo))
            if b.lo >= 1:
                return Interval(min(a.lo, 0), max(a.hi, 0))
            # |a // b| <= |a| for integers with b nonzero (a // -1 == -a).
            most = max(abs(a.lo), abs(a.hi))
            return Interval(-most, most)
        case "%":
            # The sign is that of the divisor.
            hi = max(b.hi - 1, 0)
            if a.lo >= 0 and b.lo >= 1:
                hi = min(hi, a.hi)
            return Interval(min(b.lo + 1, 0), hi)
        case "^":
            if a.lo >= 0 and b.lo >= 0:
                most = max(a.hi, b.hi)
                if isinstance(most, int):
                    return Interval(0, (1 << most.bit_length()) - 1)
                return Interval(0, inf)
            ends = [*a.ends, *b.ends]
            if all(isinstance(x, int) for x in ends):
                bits = max(int(x).bit_length() for x in ends)
                return Interval(-(1 << bits), (1 << bits) - 1)
            return EVERYTHING
        case "/":
            return EVERYTHING
        case "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
            return Interval(0, 1)
