"""What becomes of an exponential that may overflow.

That exp(x) is too large where x is says nothing yet: 1 / (1 + exp(-x)) is 0 then, as it
should be. Wrong is what makes a number that should be finite into none: infinity
divided by infinity, or the logarithm of infinity. So each tile has the exponentials of
which it may be infinite, and those of whose infinity it is the inverse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.functions import FUNCTIONS
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import blocks, used

__all__ = ["Misuse", "misused"]

_PASSES = 4
"""Passes over a loop: what a turn carries on is known in the next."""
_Ops = frozenset[o.Elementwise]
_NONE: _Ops = frozenset()


@dataclass(frozen=True)
class Misuse:
    """An exponential, and the operation that makes its infinity no number."""

    exponential: o.Elementwise
    use: o.Elementwise


@dataclass(frozen=True)
class _Taint:
    """Exponentials of which a tile may be infinite, or the inverse of infinity.

    ``broken``: what makes it no number. ``data``: it depends on elements of tensors,
    so that a choice by it is a guard.
    """

    large: _Ops = _NONE
    small: _Ops = _NONE
    broken: frozenset[Misuse] = frozenset()
    data: bool = False

    def joined(self, other: _Taint) -> _Taint:
        """Either of both."""
        return _Taint(
            self.large | other.large,
            self.small | other.small,
            self.broken | other.broken,
            self.data or other.data,
        )

    def without(self, op: o.Elementwise, misused: _Ops) -> _Taint:
        """Finite, but for what is broken by the infinity of these."""
        made = frozenset(Misuse(x, op) for x in misused)
        return _Taint(broken=self.broken | made, data=self.data)


@dataclass
class _Flow:
    wide: Collection[o.Elementwise]
    tiles: dict[o.Tile, _Taint] = field(default_factory=dict[o.Tile, _Taint])
    shared: dict[SharedAlloc, _Taint] = field(default_factory=dict[SharedAlloc, _Taint])
    found: dict[Misuse, None] = field(default_factory=dict[Misuse, None])

    def block(self, block: o.Block) -> None:
        """One pass over a block and what is inside of it."""
        for op in block.ops:
            self.op(op)
            for inner in blocks(op):
                self.block(inner)
            self.after(op)

    def op(self, op: o.AnyOp) -> None:
        """What an operation makes of its operands."""
        match op:
            case o.Elementwise():
                self.put(op.result, self.elementwise(op))
            case o.LoadGlobal():
                self.put(op.result, _Taint(data=True))
            case o.LoadShared():
                made = self.shared.get(op.view.alloc, _Taint())
                self.put(op.result, replace(made, data=True))
            case o.StoreShared():
                old = self.shared.get(op.view.alloc, _Taint())
                self.shared[op.view.alloc] = old.joined(self.get(op.src))
            case o.Dot():
                parts = [self.get(x) for x in used(op)]
                parts += [
                    self.shared.get(x.alloc, _Taint())
                    for x in (op.a, op.b)
                    if isinstance(x, SharedView)
                ]
                self.put(op.result, replace(_joined(parts), data=True))
            case o.StoreGlobal():
                self.stored(self.get(op.src))
            case o.CopyOut():
                self.stored(self.shared.get(op.src.alloc, _Taint()))
            case o.For():
                for carry in op.tiles:
                    self.put(carry.arg, self.get(carry.init))
            case o.RegisterOp():
                self.put(op.result, _joined(self.get(x) for x in used(op)))
            case (
                o.Let() | o.LoadScalar() | o.If() | o.Roles() | o.CopyAsync()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass  # it makes no tile, or in the blocks inside
            case _:
                assert_never(op)

    def after(self, op: o.AnyOp) -> None:
        """What comes out of a loop or branch."""
        match op:
            case o.For():
                for carry in op.tiles:
                    self.put(carry.arg, self.get(carry.yielded))
                    self.put(carry.result, self.get(carry.yielded))
                    self.put(carry.result, self.get(carry.init))
            case o.If():
                for merge in op.tiles:
                    self.put(merge.result, self.get(merge.then))
                    self.put(merge.result, self.get(merge.other))
            case (
                o.Let() | o.LoadScalar() | o.Roles() | o.RegisterOp() | o.Dot()
                | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                | o.Annotation()
            ):  # fmt: skip
                pass  # nothing comes out of it
            case _:
                assert_never(op)

    def get(self, tile: object) -> _Taint:
        """What is known of a tile; of a scalar nothing."""
        return self.tiles.get(tile, _Taint()) if isinstance(tile, o.Tile) else _Taint()

    def put(self, tile: o.Tile, made: _Taint) -> None:
        """Add to what is known of a tile."""
        self.tiles[tile] = self.get(tile).joined(made)

    def stored(self, made: _Taint) -> None:
        """Note what is stored and may be no number."""
        for misuse in sorted(made.broken, key=lambda x: x.exponential.span.line):
            self.found.setdefault(misuse)

    def elementwise(self, op: o.Elementwise) -> _Taint:
        """What an element-wise function makes of its operands."""
        args = [self.get(a) for a in op.args]
        law = FUNCTIONS[op.fn].law
        every = _joined(args)
        if op in self.wide:
            return _Taint(frozenset({op}), data=True)
        if op.fn == "where":
            chosen = _joined(args[1:])
            # A choice by data guards what is chosen; one by positions is a mask.
            return _Taint(data=True) if args[0].data else chosen
        if law == "log" or op.fn in ("log1p",):
            return every.without(op, every.large)
        if law == "div":
            above, below = args
            made = every.without(op, _both(above.large, below.large))
            return replace(made, large=above.large, small=below.large | above.small)
        if op.fn in ("rcp", "rsqrt"):
            return replace(every, large=_NONE, small=every.large)
        if law == "mul":
            first, second = args
            both = _both(first.large, second.small)
            both |= _both(first.small, second.large)
            return every.joined(every.without(op, both))
        if law == "exp" or op.fn in ("tanh", "tanh_approx", "minimum"):
            return every.without(op, _NONE)
        return every


def _both(one: _Ops, other: _Ops) -> _Ops:
    """All of two kinds, where there are some of each."""
    return one | other if one and other else _NONE


def _joined(parts: Iterable[_Taint]) -> _Taint:
    found = _Taint()
    for part in parts:
        found = found.joined(part)
    return found


def misused(program: Program, wide: Collection[o.Elementwise]) -> list[Misuse]:
    """Uses of exponentials, each of which may be infinite, that give no number."""
    flow = _Flow(wide)
    for _ in range(_PASSES):
        flow.block(program.body)
    return list(flow.found)
