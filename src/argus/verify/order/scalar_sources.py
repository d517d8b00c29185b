"""Where the values of a program's named scalars come from.

    sources = ScalarSources(program)
    sources.of("n")        every expression that the value of n depends on
    sources.values("n")    those that n takes over: what selects between them left out

A scalar is a Let, an element of a table or of a tile, a loop's variable, a counter that
a loop carries (inside the loop, or after it), or what a branch merges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Expr, Select, Sym, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.order.events import has_events

__all__ = ["ScalarSources"]

_Several = dict[str, tuple[Expr, ...]]


class ScalarSources:
    """The sources of all named scalars, by name.

    ``lets``: the one value of each Let. ``merged``: what a branch leaves, as one
    expression. ``loads``: elements of tables; ``constants``: names of those that nobody
    changes, the same for whoever loads them. ``data``: names of all elements, of tables
    and of tiles. ``variables``: start, stop and step of each loop, by its variable.
    ``varying``: what changes from iteration to iteration.
    """

    def __init__(self, program: Program) -> None:
        self.lets: dict[str, Expr] = {}
        self.merged: dict[str, Select] = {}
        self.loads: dict[str, o.LoadScalar] = {}
        self.data: set[str] = set()
        self.variables: _Several = {}
        self.varying: set[str] = set()
        self._carried: _Several = {}
        """First value, and the one that an iteration hands on."""
        self._turns: _Several = {}
        """Bounds of a loop without events, by what is left of its counters."""
        ops = list(walk(program.body))
        for op in ops:
            self._note(op)
        written = {tensor for op in ops for tensor in _written(op)}
        self.constants = frozenset(
            name for name, op in self.loads.items() if op.tensor not in written
        )

    def _note(self, op: o.AnyOp) -> None:
        match op:
            case o.Let():
                self.lets[op.sym.name] = op.value
            case o.LoadScalar():
                self.loads[op.sym.name] = op
                self.data.add(op.sym.name)
            case o.Extract():
                self.data.add(op.sym.name)
            case o.For():
                bounds = (op.start, op.stop, op.step)
                self.variables[op.var.name] = bounds
                self.varying.add(op.var.name)
                for carry in op.scalars:
                    handed = (carry.init, carry.yielded)
                    self._carried[carry.arg.name] = handed
                    self._carried[carry.result.name] = handed
                    if not has_events(op.body):
                        # How often a loop with events iterates is followed by itself.
                        self._turns[carry.result.name] = bounds
                    self.varying.add(carry.arg.name)
            case o.If():
                for merge in op.scalars:
                    chosen = Select(op.cond, merge.then, merge.other)
                    self.merged[merge.result.name] = chosen
            case (
                o.Roles() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)

    # ------------------------------------------------------------- of one scalar

    def of(self, name: str, *, places: bool = False) -> tuple[Expr, ...]:
        """Everything that a scalar's value depends on; () for sizes and the like.

        ``places``: of an element of a table, its coordinates; else it may be anything.
        """
        if name in self.merged:
            return (self.merged[name],)
        if name in self.variables:
            return self.variables[name]
        if name in self.loads:
            return tuple(self.loads[name].coords) if places else ()
        return (*self.values(name), *self._turns.get(name, ()))

    def __contains__(self, name: str) -> bool:
        """Whether a program makes this scalar; sizes and the like are given."""
        several = (self.lets, self.merged, self.variables, self.data, self._carried)
        return any(name in one for one in several)

    def values(self, name: str) -> tuple[Expr, ...]:
        """What a Let, a counter or what a branch merges takes over; () for others."""
        if name in self.lets:
            return (self.lets[name],)
        if name in self.merged:
            chosen = self.merged[name]
            return chosen.then, chosen.other
        return self._carried.get(name, ())

    # ------------------------------------------------------------ of expressions

    def closure(
        self, expressions: Iterable[Expr], *, places: bool = False, asked: bool = True
    ) -> set[Sym]:
        """Every symbol that some expressions depend on.

        ``places``: as of `of`. ``asked``: also through what is asked to choose between
        values, or how often a loop without events iterates; else through values alone.
        """
        found: dict[str, Sym] = {}
        todo = list(expressions)
        while todo:
            for sym in symbols(todo.pop()):
                if sym.name in found:
                    continue
                found[sym.name] = sym
                made = () if asked else self.values(sym.name)
                todo += made or self.of(sym.name, places=places)
        return set(found.values())

    def varies(self, expressions: Iterable[Expr]) -> bool:
        """Whether a value changes from iteration to iteration of a loop."""
        return any(s.name in self.varying for s in self.closure(expressions))

    def elements(self, expressions: Iterable[Expr]) -> bool:
        """Whether values are made of an element, not only chosen by one."""
        return any(s.name in self.data for s in self.closure(expressions, asked=False))


def _written(op: o.AnyOp) -> set[GlobalTensor]:
    """What an operation writes in global memory."""
    match op:
        case o.StoreGlobal():
            return {op.view.tensor}
        case o.CopyOut():
            return {op.dst.tensor}
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.LoadGlobal()
            | o.LoadShared() | o.StoreShared() | o.CopyAsync() | o.Synchronisation()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return set()
        case _:
            assert_never(op)
