"""Which tiles are never infinite, whatever their elements are.

    finite = FiniteTiles.of(program)
    finite.is_number(op)        its result is never the difference of two infinities

A kernel that begins a maximum with a finite stand-in (-1e30) and masks with -ag.inf
subtracts a number from what may be infinite. In terms the stand-in is infinity, too:
that it is none here is read off the operations. Inputs are finite, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from math import inf, isnan
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import used, walk

__all__ = ["FiniteTiles"]


class _Is(Flag):
    """What a tile is everywhere. It may be no number where it is nothing of it."""

    NOTHING = 0
    ABOVE = auto()
    """Never minus infinity."""
    BELOW = auto()
    """Never plus infinity."""
    FINITE = ABOVE | BELOW


@dataclass(frozen=True)
class FiniteTiles:
    """What is known of the tiles of a program."""

    tiles: Mapping[o.Tile, _Is]

    @staticmethod
    def of(program: Program) -> FiniteTiles:
        """The most that holds together: what loops carry is finite until shown not."""
        flow = _Flow()
        while flow.changed:
            flow.changed = False
            for op in walk(program.body):
                flow.op(op)
        return FiniteTiles(flow.tiles)

    def is_number(self, op: o.Elementwise) -> bool:
        """Whether no element of the result is a difference of two infinities."""
        return bool(self.tiles.get(op.result, _Is.NOTHING))


class _Flow:
    def __init__(self) -> None:
        self.tiles: dict[o.Tile, _Is] = {}
        self.shared: dict[SharedAlloc, _Is] = {}
        self.changed = True

    def op(self, op: o.AnyOp) -> None:
        """What an operation makes of its operands."""
        match op:
            case o.Elementwise():
                args = [self.of(x) for x in op.args]
                self.put(op.result, _applied(op, args))
            case o.Full():
                self.put(op.result, self.of(op.value))
            case o.Combining():  # the author's function may say infinity itself
                self.put(op.result, _Is.NOTHING)
            case o.Reduce(fn="prod"):
                self.put(op.result, _all_finite([self.of(op.src)]))
            case o.RegisterOp():
                self.put(op.result, _every(self.of(x) for x in used(op)))
            case o.LoadGlobal():
                self.put(op.result, self.of(op.fill))
            case o.LoadShared():
                self.put(op.result, self.of(op.view))
            case o.StoreShared():
                old = self.shared.get(op.view.alloc, _Is.FINITE)
                made = old & self.of(op.src)
                self.changed = self.changed or made != old
                self.shared[op.view.alloc] = made
            case o.Dot():
                parts = [self.of(x) for x in (op.a, op.b)]
                parts += [] if op.acc is None else [self.of(op.acc)]
                self.put(op.result, _all_finite(parts))
            case o.For():
                for carry in op.tiles:
                    made = self.of(carry.init) & self.of(carry.yielded)
                    self.put(carry.arg, made)
                    self.put(carry.result, made)
            case o.If():
                for merge in op.tiles:
                    self.put(merge.result, self.of(merge.then) & self.of(merge.other))
            case o.Atomic():
                self.put(op.result, _Is.NOTHING)
            case (
                o.Binding() | o.Roles() | o.StoreGlobal() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it makes no tile; what is copied is data, or 0
            case _:
                assert_never(op)

    def of(self, x: o.Tile | SharedView | Expr) -> _Is:
        """What is known of an operand; a scalar that is no literal is finite."""
        match x:
            case o.Tile():
                return self.tiles.get(x, _Is.FINITE)
            case SharedView():
                return self.shared.get(x.alloc, _Is.FINITE)
            case Const(value=float() as value):
                if isnan(value):
                    return _Is.NOTHING
                return {inf: _Is.ABOVE, -inf: _Is.BELOW}.get(value, _Is.FINITE)
            case Const() | Sym() | Binary() | Select():
                return _Is.FINITE
            case _:
                assert_never(x)

    def put(self, tile: o.Tile, made: _Is) -> None:
        """Take away from what is known of a tile."""
        old = self.tiles.get(tile, _Is.FINITE)
        self.changed = self.changed or bool(old & ~made)
        self.tiles[tile] = old & made


def _applied(op: o.Elementwise, args: list[_Is]) -> _Is:
    """What a function makes of finite numbers is finite, and a few allow more."""
    law = FUNCTIONS[op.fn].law
    if law == "where":
        return args[1] & args[2]
    if law == "exp":
        return _Is.ABOVE | args[0] if args[0] else _Is.NOTHING
    if law == "neg":
        return _negative(args[0])
    if law == "add":
        return args[0] & args[1]
    if law == "sub":
        return args[0] & _negative(args[1])
    if law == "mul":
        return _times(op, args[0], args[1])
    if law in ("maximum", "minimum"):
        return _extreme(args[0], args[1], _Is.ABOVE if law == "maximum" else _Is.BELOW)
    return _all_finite(args)


def _times(op: o.Elementwise, x: _Is, y: _Is) -> _Is:
    """A product. A scalar that infinity is multiplied by is taken to be positive."""
    for infinite, factor, arg in ((x, y, op.args[1]), (y, x, op.args[0])):
        if factor == _Is.FINITE and not isinstance(arg, o.Tile):
            negative = isinstance(arg, Const) and arg.value < 0
            zero = isinstance(arg, Const) and arg.value == 0
            if not zero:
                return _negative(infinite) if negative else infinite
    return _all_finite([x, y])


def _extreme(x: _Is, y: _Is, either: _Is) -> _Is:
    """The larger (``either``: ABOVE) or the smaller of two numbers."""
    if not (x and y):
        return _Is.NOTHING
    return (x & y) | ((x | y) & either)


def _negative(x: _Is) -> _Is:
    made = _Is.NOTHING
    if _Is.ABOVE in x:
        made |= _Is.BELOW
    if _Is.BELOW in x:
        made |= _Is.ABOVE
    return made


def _every(parts: Iterable[_Is]) -> _Is:
    made = _Is.FINITE
    for part in parts:
        made &= part
    return made


def _all_finite(parts: Iterable[_Is]) -> _Is:
    return _Is.FINITE if _every(parts) == _Is.FINITE else _Is.NOTHING
