"""Which fill of a buffer an access belongs to.

Proofs about elements (`argus.verify.tags`) go by the numbers of fills: a stage that is
written ``x % S`` means fill x, and a constant stage the fill that was waited for. That
a read with number x really finds what the write with number x left there, and not what
another one did since, is for the walk to show: every access has its number with it.

The numbers are those of the other analysis, taken at one point of the walk. An access
has none where that analysis goes by program order: constant stages that one role alone
writes and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.memory import BarrierAlloc, SharedAlloc, SharedView
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa.effects import EffectsTable
from argus.verify.order.events import loops_with_events
from argus.verify.order.scalars import Scalars
from argus.verify.order.state import GroupState

__all__ = ["Fills", "bodies", "first_loops"]

Number = Callable[[GroupState], int | None]
_Made = dict[int, tuple[SharedView, Number | None]]


class Fills:
    """Numbers of the accesses of a program; each expression is looked at once."""

    def __init__(self, program: Program, scalars: Scalars) -> None:
        self.scalars = scalars
        self.effects = EffectsTable()
        self.lets: dict[str, Expr] = {}
        self.varying: dict[str, tuple[o.For, o.ScalarCarry]] = {}
        self.full: dict[SharedAlloc, BarrierAlloc] = {}
        self.empty: dict[SharedAlloc, BarrierAlloc] = {}
        self.writers: dict[SharedAlloc, set[str]] = {}
        self.moving: set[SharedAlloc] = set()
        """Buffers of which a write chooses the stage at run time."""
        self._made: dict[str, tuple[_Made, _Made]] = {}
        """By role: of reads and of writes."""
        for ring in program.rings:
            fields = ring.fields.values()
            if ring.full is not None:
                self.full.update(dict.fromkeys(fields, ring.full))
            if ring.empty is not None:
                self.empty.update(dict.fromkeys(fields, ring.empty))
        for role, body in bodies(program):
            self._study(role, body)

    def _study(self, role: str, body: o.Block) -> None:
        for op in walk(body):
            for touch in self.effects.of(op).writes:
                self._written(role, touch.view)
            match op:
                case o.Let():
                    self.lets[op.sym.name] = op.value
                case o.For():
                    for carry in op.scalars:
                        self.varying[carry.arg.name] = (op, carry)
                        self.varying[carry.result.name] = (op, carry)
                case o.CopyAsync() if op.barrier is not None:
                    self.full.setdefault(op.dst.alloc, op.barrier.alloc)
                case (
                    o.If() | o.Roles() | o.Binding() | o.RegisterOp() | o.Dot()
                    | o.Access() | o.Copy() | o.Synchronisation() | o.RingOp()
                    | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)

    def _written(self, role: str, view: SharedView) -> None:
        self.writers.setdefault(view.alloc, set()).add(role)
        if not isinstance(view.stage, Const):
            self.moving.add(view.alloc)

    # ------------------------------------------------------------------ numbers

    def number(self, group: GroupState, view: SharedView, write: bool) -> int | None:
        """The fill that an access belongs to; None where it goes by program order."""
        mine = self._made.get(group.name)
        if mine is None:
            mine = self._made[group.name] = ({}, {})
        found = mine[write].get(id(view))
        if found is None:
            # The view is kept, so that nobody else gets its identity.
            found = mine[write][id(view)] = (
                view,
                self._number(view, group.name, write),
            )
        return None if found[1] is None else found[1](group)

    def _number(self, view: SharedView, role: str, write: bool) -> Number | None:
        alloc, stages = view.alloc, view.alloc.stages
        running = self._running(view.stage, stages)
        if running is not None:
            return running
        fixed = isinstance(view.stage, Const)
        if fixed and self.own(view, role) and not write:
            return None
        barrier = (self.empty if write else self.full).get(alloc)

        def by_wait(group: GroupState) -> int | None:
            completion = None if barrier is None else group.waited.get(barrier)
            if completion is not None:
                lap = (completion + write) * stages
                return lap + int(self.scalars.value(view.stage, group.env))
            # What a loop writes again and again is not one fill.
            if not fixed or (write and group.iterations):
                return None
            return int(self.scalars.value(view.stage, group.env))

        return by_wait

    def running(self, e: Expr, stages: int) -> Expr | None:
        """The number of which ``e`` is the remainder, where no loop rotates it."""
        match e:
            case Binary(op="%", left=x, right=Const(value=m)) if m == stages:
                return self._within(x, stages)
            case Binary(op="-", left=Const(value=1), right=x) if stages == 2:
                found = self.running(x, stages)
                return None if found is None else binary("+", found, 1)
            case Sym() if e.name in self.lets:
                return self.running(self.lets[e.name], stages)
            case Const() | Sym() | Binary() | Select():
                return None
            case _:
                assert_never(e)

    def _within(self, e: Expr, stages: int) -> Expr:
        match e:
            case Binary(op="+" | "-" as op, left=x, right=Const(value=int(c))):
                return binary(op, self._within(x, stages), c)
            case Const() | Sym() | Binary() | Select():
                return self.running(e, stages) or e
            case _:
                assert_never(e)

    def rotates(self, e: Expr, stages: int) -> bool:
        """Whether a stage that goes round by itself is in an expression."""
        todo, seen = [e], set[str]()
        while todo:
            for sym in symbols(todo.pop()):
                if sym.name in seen:
                    continue
                seen.add(sym.name)
                if sym.name in self.lets:
                    todo.append(self.lets[sym.name])
                elif sym.name in self.varying and self._rotating(sym, stages):
                    return True
        return False

    def own(self, view: SharedView, role: str) -> bool:
        """Whether one role alone writes a buffer, to stages that do not change."""
        alloc = view.alloc
        return alloc not in self.moving and self.writers.get(alloc) == {role}

    def _running(self, e: Expr, stages: int) -> Number | None:
        """The number of which ``e`` is the remainder, if it is written as one."""
        match e:
            case Binary(op="%", left=x, right=Const(value=m)) if m == stages:
                return self._inside(x, stages)
            case Binary(op="-", left=Const(value=1), right=x) if stages == 2:
                return _plus(self._running(x, stages), 1)
            case Sym() if e.name in self.lets:
                return self._running(self.lets[e.name], stages)
            case Sym() if e.name in self.varying:
                return self._rotating(e, stages)
            case Const() | Sym() | Binary() | Select():
                return None
            case _:
                assert_never(e)

    def _inside(self, e: Expr, stages: int) -> Number:
        """A number: itself, or that of a remainder inside it."""
        match e:
            case Binary(op="+", left=x, right=Const(value=int(c))):
                return _sum(self._inside(x, stages), c)
            case Binary(op="-", left=x, right=Const(value=int(c))):
                return _sum(self._inside(x, stages), -c)
            case Const() | Sym() | Binary() | Select():
                found = self._running(e, stages)
                return found or (lambda group: int(self.scalars.value(e, group.env)))
            case _:
                assert_never(e)

    def _rotating(self, sym: Sym, stages: int) -> Number | None:
        """A carried stage that goes round: ``1 - s``, ``(s + d) % S``."""
        loop, carry = self.varying[sym.name]
        yielded = carry.yielded
        while isinstance(yielded, Sym) and yielded.name in self.lets:
            yielded = self.lets[yielded.name]
        match yielded:
            case Binary(op="-", left=Const(value=1), right=x) if stages == 2:
                step = 1
            case Binary(
                op="%",
                left=Binary(op="+", left=x, right=Const(value=int(step))),
                right=Const(value=m),
            ) if m == stages:
                pass
            case Const() | Sym() | Binary() | Select():
                return None
            case _:
                assert_never(yielded)
        if x != carry.arg:
            return None
        inside = sym == carry.arg

        def number(group: GroupState) -> int | None:
            iterations = _iterations(group, loop) if inside else group.left.get(loop)
            if iterations is None:
                return None
            value = int(self.scalars.value(sym, group.env))
            return (value - iterations * step) % stages + iterations * step

        return number


def bodies(program: Program) -> Iterator[tuple[str, o.Block]]:
    """What each role runs, by its name; "block" is what all run before and after."""
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            for role in op.roles:
                yield role.name, role.body
        else:
            yield "block", o.Block([op])


def first_loops(program: Program) -> dict[str, o.For]:
    """The first loop with events of each group, by the group's name."""
    found: dict[str, o.For] = {}
    for name, body in bodies(program):
        for op, _ in loops_with_events(body):
            found.setdefault(name, op)
    return found


def _iterations(group: GroupState, loop: o.For) -> int | None:
    """Which iteration of a loop a group is in."""
    for key, iteration in zip(group.loops, group.iterations, strict=True):
        if key == id(loop):
            return iteration
    return None


def _plus(number: Number | None, c: int) -> Number | None:
    return None if number is None else _sum(number, c)


def _sum(number: Number, c: int) -> Number:
    def moved(group: GroupState) -> int | None:
        found = number(group)
        return None if found is None else found + c

    return moved
