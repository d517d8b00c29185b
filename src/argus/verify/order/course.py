"""The course of a block: how often its loops iterate, and which branches it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const
from argus.ir.program import (
    BLOCK_INDEX,
    CLUSTER_RANK,
    GRID_SIZE,
    Program,
)
from argus.verify.order.events import has_events
from argus.verify.order.scalars import Scalars

__all__ = ["ITERATIONS", "Courses", "Table", "used"]

Table = Callable[[str, tuple[int, ...]], int]
"""An element of a run-time table, by the table's name and coordinates.

An element of a tile is one of a table of its own, by the iterations around it.
"""
ITERATIONS = "iterations"
"""What the course of a loop begins with; that of each iteration follows."""
_COURSE = o.For | o.If | o.Roles
"""What has iterations or branches."""


def used(name: str, coords: tuple[int, ...]) -> int:
    """A table whose every tile is used."""
    del name, coords
    return 1


def _step(carry: o.ScalarCarry) -> int | None:
    """What each iteration adds to what it carries, a number; None for another way."""
    made = carry.yielded
    if made == carry.arg:
        return 0
    if not isinstance(made, Binary) or made.op != "+" or made.left != carry.arg:
        return None
    step = made.right
    if not isinstance(step, Const) or not isinstance(step.value, int):
        return None
    return step.value


class Courses:
    """The courses of a program's blocks, at any sizes."""

    def __init__(self, program: Program, scalars: Scalars) -> None:
        self.program = program
        self.scalars = scalars
        self._events: dict[int, bool] = {}
        """By identity of a loop, whether anything in it has a place in the order."""

    def trips(
        self,
        env: Mapping[str, int | float],
        block: int,
        rank: int,
        table: Table,
        counts: dict[int, int] | None = None,
    ) -> object:
        """The course of a block: iterations of each loop and branches taken, nested.

        ``counts``: the most iterations of each loop so far, by its identity.
        """
        values = {
            **env,
            BLOCK_INDEX.name: block,
            CLUSTER_RANK.name: rank,
            GRID_SIZE.name: env[GRID_SIZE.name],
        }
        made = {} if counts is None else counts
        return self._course(self.program.body, values, table, made)

    def _course(
        self,
        block: o.Block,
        env: dict[str, int | float],
        table: Table,
        counts: dict[int, int],
        around: tuple[int, ...] = (),
    ) -> object:
        value = self.scalars.value
        found: list[object] = []
        for op in block.ops:
            match op:
                case o.Let():
                    env[op.sym.name] = value(op.value, env)
                case o.LoadScalar():
                    coords = tuple(int(value(c, env)) for c in op.coords)
                    env[op.sym.name] = table(op.tensor.name, coords)
                case o.Extract():
                    at = (int(env[CLUSTER_RANK.name]), *around)
                    env[op.sym.name] = table(f"%{op.sym.name}", at)
                case o.For():
                    if self._has_events(op):
                        found.append(self._iterations(op, env, table, counts, around))
                    elif op.scalars:
                        self._iterations(op, env, table, counts, around)
                case o.If():
                    taken = bool(value(op.cond, env))
                    side = op.then if taken else op.other
                    inside = self._course(side, env, table, counts, around)
                    found.append((taken, inside))
                    for merge in op.scalars:
                        chosen = merge.then if taken else merge.other
                        env[merge.result.name] = value(chosen, env)
                case o.Roles():
                    found += [
                        self._course(r.body, dict(env), table, counts) for r in op.roles
                    ]
                case (
                    o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)
        return tuple(found)

    def _has_events(self, op: o.For) -> bool:
        found = self._events.get(id(op))
        if found is None:
            found = self._events[id(op)] = has_events(op.body)
        return found

    def _iterations(
        self,
        op: o.For,
        env: dict[str, int | float],
        table: Table,
        counts: dict[int, int],
        around: tuple[int, ...],
    ) -> object:
        value = self.scalars.value
        start, stop, step = (int(value(e, env)) for e in (op.start, op.stop, op.step))
        turns = range(start, stop, max(step, 1))
        steps = [_step(c) for c in op.scalars]
        if None not in steps and not any(isinstance(x, _COURSE) for x in op.body.ops):
            # No iteration has a course of its own, and what is carried is counted.
            for carry, each in zip(op.scalars, steps, strict=True):
                assert each is not None
                env[carry.result.name] = value(carry.init, env) + len(turns) * each
            counts[id(op)] = max(counts.get(id(op), 0), len(turns))
            return (ITERATIONS, *((),) * len(turns))
        scalars = [value(c.init, env) for c in op.scalars]
        found: list[object] = []
        for iteration, index in enumerate(turns):
            env[op.var.name] = index
            for carry, number in zip(op.scalars, scalars, strict=True):
                env[carry.arg.name] = number
            found.append(
                self._course(op.body, env, table, counts, (*around, iteration))
            )
            scalars = [value(c.yielded, env) for c in op.scalars]
        for carry, number in zip(op.scalars, scalars, strict=True):
            env[carry.result.name] = number
        counts[id(op)] = max(counts.get(id(op), 0), len(found))
        return (ITERATIONS, *found)
