"""Which scalars an operation, or one after it, may still read.

A counter that nobody reads again makes no difference between two states of a walk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Expr, symbols
from argus.ir.program import Program
from argus.verify.order.events import event_expressions, has_events

__all__ = ["alive"]


def alive(program: Program, names: frozenset[str]) -> dict[int, frozenset[str]]:
    """By identity of an operation: scalars among ``names`` that matter from there on.

    For a loop, at the head of each of its iterations.
    """
    study = _Alive(names)
    study.before(program.body, frozenset())
    return study.at


class _Alive:
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.at: dict[int, frozenset[str]] = {}

    def before(self, block: o.Block, after: frozenset[str]) -> frozenset[str]:
        """What matters before a block, given what does after it."""
        for op in reversed(block.ops):
            after = self._before(op, after)
        return after

    def _of(self, expressions: Iterable[Expr]) -> frozenset[str]:
        found = frozenset(s.name for e in expressions for s in symbols(e))
        return found & self.names

    def _before(self, op: o.AnyOp, after: frozenset[str]) -> frozenset[str]:
        match op:
            case o.Let():
                if op.sym.name not in after:
                    return after
                return after - {op.sym.name} | self._of([op.value])
            case o.LoadScalar():
                if op.sym.name not in after:
                    return after
                return after - {op.sym.name} | self._of(op.coords)
            case o.Extract():
                return after - {op.sym.name}
            case o.For():
                return self._loop(op, after)
            case o.If():
                merged = frozenset(m.result.name for m in op.scalars)
                rest = after - merged
                then = rest | self._of(m.then for m in op.scalars)
                other = rest | self._of(m.other for m in op.scalars)
                found = self.before(op.then, then) | self.before(op.other, other)
                found |= self._of([op.cond])
                self.at[id(op)] = found
                return found
            case o.Roles():
                for role in op.roles:
                    after |= self.before(role.body, frozenset())
                return after
            case (
                o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                found = after | self._of(event_expressions(op))
                self.at[id(op)] = found
                return found
            case _:
                assert_never(op)

    def _loop(self, op: o.For, after: frozenset[str]) -> frozenset[str]:
        results = frozenset(c.result.name for c in op.scalars)
        own = frozenset(c.arg.name for c in op.scalars) | {op.var.name}
        left = after - results
        head = left | frozenset(
            c.arg.name for c in op.scalars if c.result.name in after
        )
        while True:
            carried = [c.yielded for c in op.scalars if c.arg.name in head]
            inside = self.before(op.body, (head - own) | self._of(carried))
            if inside <= head:
                break
            head |= inside
        self.at[id(op)] = head
        begun = [c.init for c in op.scalars if c.arg.name in head]
        bounds = [op.start, op.step] if op.var.name in head else []
        if not has_events(op.body):
            bounds = [op.start, op.stop, op.step]
        return (head - own) | self._of([*begun, *bounds])
