"""Where the values of whole-number scalars lie, and which of them a launch bounds.

A scalar means an exact number of at most 64 bits. This says which numbers it can be, in
a program as it stands, so that

    lower/wraps.py   makes the program say where a number of more than 64 bits wraps,
    codegen          computes in 32 bits what has no more, and in 64 bits all else.

Three kinds of symbols are told apart:

- *of the launch*: sizes, i32 arguments, block indices, and what is computed of them.
  Every launch checks that their sums and products fit 32 bits (codegen/overflow.py), so
  here they do.
- *counters*: what a loop carries and advances by small constants, such as the number of
  the next fill of a ring. No launch can bound how often loops iterate; that they stay
  below :data:`~argus.ir.counters.COUNTED` is an assumption of every proof.
- *free*: numbers from tables and from gathered tiles, i64 arguments, strides, and what
  depends on them. They have their whole type, and what is computed of them is bounded
  by interval arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from argus.extents import LEAST_EXTENT, MOST_EXTENT
from argus.ir import ops as o
from argus.ir.counters import COUNTED, counters
from argus.ir.dtypes import DType, i32, i64
from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, symbols
from argus.ir.program import BLOCK_INDEX, Program, ScalarParam
from argus.ir.scalar_flow import ScalarFlow

__all__ = [
    "I32",
    "I64",
    "Bounded",
    "Range",
    "Ranges",
    "arguments",
    "fits",
    "joined",
    "selected",
    "study",
]

Range = tuple[int, int]
"""Least and greatest value."""

Bounded = tuple[Range, bool]
"""A range, and whether every launch bounds the value to 32 bits."""

I32: Range = i32.integers
I64: Range = i64.integers
_BOOL: Range = (0, 1)


def fits(inner: Range, outer: Range) -> bool:
    """Whether all values of one range are in the other."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


@dataclass
class Ranges:
    """Values of symbols by name; names of those that no launch bounds."""

    known: dict[str, Range] = field(default_factory=dict[str, Range])
    free: set[str] = field(default_factory=set[str])
    counters: set[str] = field(default_factory=set[str])

    def by_launch(self, e: Expr) -> bool:
        """Whether every launch bounds the value: neither free nor a counter."""
        return not any(
            s.name in self.free or s.name in self.counters or s.kind in _FREE
            for s in symbols(e)
        )

    def depends(self, e: Expr) -> bool:
        """Whether a free symbol takes part."""
        return any(s.name in self.free or s.kind in _FREE for s in symbols(e))

    def of(self, e: Expr) -> Range:
        """Where a whole number or a truth value lies, with no wrapping anywhere.

        Covers every branch of selections, whether their conditions can be or not.
        """
        return self.bounded(e)[0]

    def bounded(self, e: Expr) -> Bounded:
        """The range, and whether a launch bounds it."""
        match e:
            case Const() | Sym():
                return self.leaf(e)
            case Select(cond=cond, then=then, other=other):
                return selected(*(self.bounded(x) for x in (cond, then, other)))
            case Binary(op=op, left=left, right=right):
                return joined(op, self.bounded(left), self.bounded(right))
            case _:
                assert_never(e)

    def leaf(self, e: Const | Sym) -> Bounded:
        """As :meth:`bounded`, of a literal or a symbol."""
        if isinstance(e, Sym):
            return self.symbol(e), self.by_launch(e)
        value = 0 if isinstance(e.value, float) else int(e.value)
        return (value, value), True

    def symbol(self, sym: Sym) -> Range:
        """The values of a symbol."""
        if sym.type == "bool":
            return _BOOL
        found = self.known.get(sym.name) or _KINDS.get(sym.kind, I32)
        return (max(found[0], 0), max(found[1], 0)) if sym.nonneg else found


def joined(op: BinaryOp, left: Bounded, right: Bounded) -> Bounded:
    """Where ``left op right`` lies; of a fraction it says nothing."""
    (a, x), (b, y) = left, right
    if op in _CONDITIONS:
        return _BOOL, x and y
    found = _apply(op, a, b)
    narrow = fits(a, I32) and fits(b, I32)
    if x and y and narrow and op in ("+", "-", "*"):
        # The launch refuses sizes with which it would be another one.
        return clipped(found), True
    return found, x and y


def selected(cond: Bounded, then: Bounded, other: Bounded) -> Bounded:
    """Where one of two values lies."""
    return hull(then[0], other[0]), cond[1] and then[1] and other[1]


_CONDITIONS = ("==", "!=", "<", "<=", ">", ">=", "and", "or")
_FREE = ("gather", "stride")
_KINDS: dict[str, Range] = {
    "dim": (LEAST_EXTENT, MOST_EXTENT),
    "stride": (0, I64[1]),
    "block": (0, I32[1]),
    "rank": (0, 15),
    "sms": (1, 4096),
    "axis": (0, I32[1]),
    "thread": (0, 1023),
}


def hull(a: Range, b: Range) -> Range:
    """The least range with both."""
    return min(a[0], b[0]), max(a[1], b[1])


def clipped(a: Range, to: Range = I32) -> Range:
    """Values of ``a`` that are in a range."""
    low, high = max(a[0], to[0]), min(a[1], to[1])
    return (low, high) if low <= high else to


def _apply(op: BinaryOp, a: Range, b: Range) -> Range:
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case "//":
            return _quotient(a, b)
        case "%":
            return _remainder(a, b)
        case "^":
            return _xor(a, b)
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "/":
            return 0, 0
        case "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
            return _BOOL


def _quotient(a: Range, b: Range) -> Range:
    """Of all divisors but 0, by which nothing is divided."""
    ends = [e for e in (b[0], b[1], -1, 1) if e and b[0] <= e <= b[1]]
    values = [x // y for x in a for y in ends]
    if a[0] < 0 <= a[1]:
        values.append(0)
    return (min(values), max(values)) if values else (0, 0)


def _remainder(a: Range, b: Range) -> Range:
    """The sign is that of the divisor."""
    low, high = min(b[0] + 1, 0), max(b[1] - 1, 0)
    if a[0] >= 0 and b[0] >= 0:
        high = min(high, a[1])
    return low, high


def _xor(a: Range, b: Range) -> Range:
    bits = max(x.bit_length() for x in (*a, *b))
    low = 0 if a[0] >= 0 and b[0] >= 0 else -(1 << bits)
    return low, (1 << bits) - 1


# ------------------------------------------------------------------- a program


def arguments(program: Program, values: Mapping[str, int] | None = None) -> Ranges:
    """Values of what a program is given.

    ``values``: sizes and strides that are known.
    """
    ranges = Ranges({name: (value, value) for name, value in (values or {}).items()})
    for param in program.params:
        if isinstance(param, ScalarParam) and param.dtype == "i64":
            ranges.known[param.sym.name] = I64
            ranges.free.add(param.sym.name)
    return ranges


def study(program: Program, values: Mapping[str, int] | None = None) -> Ranges:
    """Values of everything that a program names, wherever it is named.

    ``values``: sizes and strides that are known.
    """
    ranges = arguments(program, values)
    blocks = ranges.of(program.grid)[1]
    ranges.known[BLOCK_INDEX.name] = 0, min(max(blocks - 1, 0), I32[1])
    ranges.counters = counters(program)
    _Study(ranges).block(program.body)
    return ranges


class _Study(ScalarFlow):
    """Adds to ``ranges`` what a block names."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.made: dict[str, Expr] = {}
        """What names stand for that have one value."""

    def data(self, sym: Sym, dtype: DType) -> None:
        if sym.type == "int":
            self.ranges.known[sym.name] = dtype.integers
        self.ranges.free.add(sym.name)

    def bind(self, sym: Sym, values: tuple[Expr, ...]) -> None:
        ranges = self.ranges
        self._inherit(sym, values)
        if len(values) == 1:
            self.made[sym.name] = values[0]
        if sym.type == "int":
            found = ranges.of(values[0])
            for value in values[1:]:
                found = hull(found, ranges.of(value))
            ranges.known[sym.name] = found if fits(found, I64) else I64

    def _inherit(self, sym: Sym, values: tuple[Expr, ...]) -> None:
        """What no launch bounds is none of what is made of it."""
        if any(map(self.ranges.depends, values)):
            self.ranges.free.add(sym.name)
        elif not all(map(self.ranges.by_launch, values)):
            self.ranges.counters.add(sym.name)

    def loop(self, op: o.For) -> None:
        ranges = self.ranges
        start, stop = ranges.of(op.start), ranges.of(op.stop)
        iterations = max(stop[1] - start[0], 0)
        self._inherit(op.var, (op.start, op.stop, op.step))
        last = max(stop[1] - 1, start[0])
        step = ranges.of(op.step)
        if start[0] == start[1] and step[0] == step[1] > 0:
            last -= (last - start[0]) % step[0]
        variable = start[0], last
        ranges.known[op.var.name] = variable if fits(variable, I64) else I64
        others: list[o.ScalarCarry] = []
        for c in op.scalars:
            if c.arg.name in ranges.counters:
                low = min(ranges.of(c.init)[0], 0)
                ranges.known[c.arg.name] = ranges.known[c.result.name] = low, COUNTED
                continue
            ranges.free |= {c.arg.name, c.result.name}
            if c.arg.type == "int":
                ranges.known[c.arg.name] = ranges.of(c.init)
                others.append(c)
        self._carried(op, others, iterations)

    def _carried(
        self, op: o.For, carried: list[o.ScalarCarry], iterations: int
    ) -> None:
        """Ranges with which an iteration begins: larger ones, until it ends within."""
        ranges = self.ranges
        tried = dict.fromkeys((c.arg.name for c in carried), 0)
        grown = True
        while grown:
            self.block(op.body)
            grown = False
            for c in carried:
                now, after = ranges.known[c.arg.name], ranges.of(c.yielded)
                if now == I64 or fits(after, now):
                    continue
                added = self._sum(c, iterations)
                if added is not None and fits(added, now):
                    continue  # that is where it ends after all iterations
                tried[c.arg.name] += 1
                wider = hull(now, after)
                if tried[c.arg.name] > 2:
                    in_type = I32 if fits(wider, I32) and wider != I32 else I64
                    wider = hull(wider, added) if added is not None else in_type
                last = tried[c.arg.name] > 5 or not fits(wider, I64)
                ranges.known[c.arg.name] = I64 if last else wider
                grown = True
        for c in carried:
            ranges.known[c.result.name] = ranges.known[c.arg.name]

    def _sum(self, c: o.ScalarCarry, iterations: int) -> Range | None:
        """Where a carried number lies that each iteration adds to; None of others."""
        added = self._added(c.yielded, c.arg)
        if added is None or c.arg in symbols(added):
            return None
        start, each = self.ranges.of(c.init), self.ranges.of(added)
        low, high = min(each[0], 0) * iterations, max(each[1], 0) * iterations
        return start[0] + low, start[1] + high

    def _added(self, y: Expr, a: Sym) -> Expr | None:
        """``y - a`` where ``a`` is one of the terms of ``y``."""
        match y:
            case Sym() if y == a:
                return Const(0)
            case Sym() if y.name in self.made:
                return self._added(self.made[y.name], a)
            case Binary(op="+", left=left, right=right):
                for one, other in ((left, right), (right, left)):
                    inner = self._added(one, a)
                    if inner is not None:
                        return Binary("+", inner, other)
                return None
            case Binary(op="-", left=left, right=right):
                inner = self._added(left, a)
                return None if inner is None else Binary("-", inner, right)
            case Const() | Sym() | Binary() | Select():
                return None
            case _:
                assert_never(y)
