"""What a launch has to check so that indices fit 32 bits, in which they are computed.

Sizes have 31 bits each, but sums and products of them may not: `(N + 63) // 64`, the
last `n += 64` of a loop, `i * 128 + row`. For each integer operation that is printed as
``int``, the greatest and least value over all blocks, iterations and elements is an
expression over what a launch knows. Those that could leave 32 bits become requirements
of the launch. What no launch can bound is not computed so (`argus.ir.ranges`): numbers
from tables, and what loops carry, but for counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import assert_never

from argus.codegen.errors import CodegenError
from argus.codegen.scalars import ScalarTypes
from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, substitute
from argus.ir.memory import GlobalView
from argus.ir.program import (
    BLOCK_INDEX,
    CLUSTER_RANK,
    GRID_SIZE,
    SM_COUNT,
    LaunchRequirement,
    Program,
)
from argus.ir.walk import expressions, plan_expressions

__all__ = ["WHY", "guards"]

WHY = "an index is computed in 32 bits"
"""The reason of these requirements."""

_LEAST, _MOST = -(2**31), 2**31 - 1
_MULTIPROCESSORS = 4096
"""More than any device has."""


@dataclass(frozen=True)
class _Range:
    """Least and greatest value at the sizes of a launch; None where not known.

    ``natural``: it is known not to be negative, whatever the sizes.
    """

    low: Expr | None
    high: Expr | None
    natural: bool


_UNKNOWN = _Range(None, None, False)
_Ranges = dict[str, _Range]


def guards(program: Program, scalars: ScalarTypes) -> tuple[LaunchRequirement, ...]:
    """Requirements of a launch; ``scalars`` says what is computed in which type."""
    return tuple(_Study(program, scalars).requirements())


class _Study:
    def __init__(self, program: Program, scalars: ScalarTypes) -> None:
        self.scalars = scalars
        self.most: dict[Expr, tuple[int, Span]] = {}
        """Expressions, how much more than each is reached, and where."""
        self.least: dict[Expr, tuple[int, Span]] = {}
        self.span = program.span
        many: dict[str, Expr] = {SM_COUNT.name: Const(_MULTIPROCESSORS)}
        self.grid = substitute(program.grid, many)
        ranges: _Ranges = {
            GRID_SIZE.name: _Range(Const(1), self.grid, True),
            BLOCK_INDEX.name: _Range(Const(0), self.grid - 1, True),
            CLUSTER_RANK.name: _Range(Const(0), Const(program.cluster - 1), True),
        }
        self.block(program.body, ranges)

    def requirements(self) -> Iterator[LaunchRequirement]:
        """A condition for each value that may be too large or too small."""
        for e, (more, span) in self.most.items():
            yield LaunchRequirement(binary("<=", e + more, _MOST), WHY, span)
        for e, (more, span) in self.least.items():
            yield LaunchRequirement(binary(">=", e + more, _LEAST), WHY, span)

    # ---------------------------------------------------------------- the program

    def block(self, block: o.Block, ranges: _Ranges) -> None:
        for op in block.ops:
            self.span = op.span
            match op:
                case o.Let():
                    ranges[op.sym.name] = self.range(op.value, ranges)
                case o.For():
                    self.loop(op, ranges)
                case o.If():
                    self.branch(op, ranges)
                case o.Roles():
                    for role in op.roles:
                        self.block(role.body, dict(ranges))
                case (
                    o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    inner = ranges | _axes(op)
                    for e in (*expressions(op), *plan_expressions(op)):
                        self.range(e, inner)
                case _:
                    assert_never(op)

    def loop(self, op: o.For, ranges: _Ranges) -> None:
        start, stop, step = (
            self.range(e, ranges) for e in (op.start, op.stop, op.step)
        )
        for carry in op.scalars:
            self.range(carry.init, ranges)
        inner = dict(ranges)
        last = None if stop.high is None else stop.high - 1
        inner[op.var.name] = _Range(start.low, last, start.natural)
        self.block(op.body, inner)
        for carry in op.scalars:
            self.range(carry.yielded, inner)
        self.span = op.span
        if self.narrow(op.var) and last is not None and step.high is not None:
            self.reaches(last + step.high)  # the counter after the last iteration

    def branch(self, op: o.If, ranges: _Ranges) -> None:
        self.range(op.cond, ranges)
        then, other = dict(ranges), dict(ranges)
        self.block(op.then, then)
        self.block(op.other, other)
        for merge in op.scalars:
            pair = (self.range(merge.then, then), self.range(merge.other, other))
            ranges[merge.result.name] = _either(*pair)

    # --------------------------------------------------------------------- values

    def narrow(self, e: Expr) -> bool:
        """Whether the code computes it as ``int`` because the launch bounds it."""
        return self.scalars.ctype(e) == "int" and self.scalars.ranges.by_launch(e)

    def range(self, e: Expr, ranges: Mapping[str, _Range]) -> _Range:
        """The values of an expression; what they need is kept."""
        match e:
            case Const():
                return _Range(e, e, e.value >= 0)
            case Sym():
                found = ranges.get(e.name) or _given(e)
                if e.nonneg and not found.natural:
                    return _Range(Const(0), found.high, True)
                return found
            case Select():
                self.range(e.cond, ranges)
                return _either(self.range(e.then, ranges), self.range(e.other, ranges))
            case Binary():
                a, b = self.range(e.left, ranges), self.range(e.right, ranges)
                found = _apply(e, a, b)
                if e.op in ("+", "-", "*") and self.narrow(e):
                    if found.low is None or found.high is None:
                        raise CodegenError(f"no launch bounds {e}")
                    # The operands have 32 bits: they are asked for by themselves.
                    less = b.natural if e.op == "-" else False
                    sums = a.natural or (e.op == "+" and b.natural)
                    more = found.natural or (e.op != "*" and sums)
                    self.reaches(None if less else found.high)
                    self.sinks(None if more else found.low)
                return found
            case _:
                assert_never(e)

    def reaches(self, high: Expr | None) -> None:
        """A value of the program may be as large as this."""
        if high is not None and not isinstance(high, Const):
            e, more = _parts(high)
            if not (_single(e) and more <= 0) and not (_half(e) and more < _MOST // 2):
                before = self.most.get(e)
                if before is None or before[0] < more:
                    self.most[e] = more, self.span

    def sinks(self, low: Expr | None) -> None:
        """A value of the program may be as small as this."""
        if low is not None and not isinstance(low, Const):
            e, more = _parts(low)
            if not _single(e):
                before = self.least.get(e)
                if before is None or before[0] > more:
                    self.least[e] = more, self.span


def _given(sym: Sym) -> _Range:
    """The values of a symbol that the program does not bind."""
    match sym.kind:
        case "dim":
            return _Range(sym, sym, True)
        case "param" if sym.type == "int":
            return _Range(sym, sym, False)
        case (
            "param" | "stride" | "block" | "rank" | "sms" | "loop" | "let" | "axis"
            | "gather" | "tag" | "thread"
        ):  # fmt: skip
            return _UNKNOWN


def _axes(op: o.AnyOp) -> _Ranges:
    """The axes of the view of global memory that an operation has."""
    views = [getattr(op, f.name) for f in fields(op)]
    return {
        f"%{axis}": _Range(Const(0), Const(extent - 1), True)
        for view in views
        if isinstance(view, GlobalView)
        for axis, extent in enumerate(view.shape)
    }


def _either(a: _Range, b: _Range) -> _Range:
    low = None if a.low is None or b.low is None else binary("min", a.low, b.low)
    high = None if a.high is None or b.high is None else binary("max", a.high, b.high)
    return _Range(low, high, a.natural and b.natural)


def _apply(e: Binary, a: _Range, b: _Range) -> _Range:
    """The values of an operation, from those of its operands."""
    both = a.natural and b.natural
    if e.op == "%" and b.natural:
        high = None if b.high is None else b.high - 1
        return _Range(Const(0), high, True)
    if e.type == "bool":
        return _Range(Const(0), Const(1), True)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return _UNKNOWN
    match e.op:
        case "+":
            return _Range(a.low + b.low, a.high + b.high, both)
        case "-":
            return _Range(a.low - b.high, a.high - b.low, False)
        case "*" if both or (b.natural and b.low == b.high):
            return _Range(a.low * b.low, a.high * b.high, both)
        case "*" if a.natural and a.low == a.high:
            return _Range(a.low * b.low, a.high * b.high, False)
        case "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            low = high = ends[0]
            for end in ends[1:]:
                low, high = binary("min", low, end), binary("max", high, end)
            return _Range(low, high, False)
        case "min" | "max":
            low, high = binary(e.op, a.low, b.low), binary(e.op, a.high, b.high)
            some = e.op == "max" and (a.natural or b.natural)
            return _Range(low, high, both or some)
        case "//" if both:  # nothing is divided by 0
            least, most = binary("max", b.low, 1), binary("max", b.high, 1)
            return _Range(a.low // most, a.high // least, True)
        case "//" if b.natural:  # of 0 and nothing, 0; else it lies at ends of b
            ends = dict.fromkeys(binary("max", x, 1) for x in (b.low, b.high))
            low = high = Const(0)
            for end in ends:
                low = binary("min", a.low // end, low)
                high = binary("max", a.high // end, high)
            return _Range(low, high, False)
        case "^" if both:
            return _Range(Const(0), a.high + b.high, True)
        case "//":
            most = _size(a)
            return _Range(-1 * most, most, False)
        case "%":
            # The sign is that of the divisor.
            low, high = binary("min", b.low + 1, 0), binary("max", b.high - 1, 0)
            return _Range(low, high, False)
        case "^":
            most = _size(a) + _size(b)
            return _Range(-1 * most - 1, most, False)
        case "/" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or":
            return _UNKNOWN


def _size(a: _Range) -> Expr:
    """The largest absolute value."""
    assert a.low is not None and a.high is not None
    return binary("max", a.high, -1 * a.low)


def _parts(e: Expr) -> tuple[Expr, int]:
    """An expression as another one and a constant."""
    match e:
        case Binary(op="+", left=x, right=Const(value=int(c))):
            return x, c
        case Binary(op="-", left=x, right=Const(value=int(c))):
            return x, -c
        case Const() | Sym() | Binary() | Select():
            return e, 0
        case _:
            assert_never(e)


def _single(e: Expr) -> bool:
    """Whether it is an argument of the launch, which has 32 bits by itself."""
    return isinstance(e, Sym)


def _half(e: Expr) -> bool:
    """Whether it is at most half of what has 32 bits, or less than a small constant."""
    match e:
        case Binary(op="//", right=Const(value=int(c))):
            return c >= 2
        case Binary(op="min", left=x, right=y):
            return any(isinstance(z, Const) and z.value < _MOST // 2 for z in (x, y))
        case Const() | Sym() | Binary() | Select():
            return False
        case _:
            assert_never(e)
