"""Branches on uniform scalars: each side is read where its condition holds.

After a branch a tile or scalar has the one side's value where the condition holds, and
the other's elsewhere. What the sides write to memory stays under its condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from argus.ir import ops as o
from argus.terms import IndexSet, Unknown, Value
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.counts import counted, counted_in
from argus.verify.denotation.scalars import scalar, truth
from argus.verify.denotation.state import Context, RoleValues

__all__ = ["Side", "merge_scalars", "merge_shared", "merge_tiles", "split"]


@dataclass(frozen=True)
class Side:
    """One side of a branch: where it is taken, and the state at its end.

    ``state`` None: nothing ever comes here.
    """

    where: IndexSet
    state: RoleValues | None


def split(
    context: Context, op: o.If, run: Callable[[Context, o.Block], None]
) -> tuple[Side, Side]:
    """Run both sides of a branch, from the state before it, which stays.

    Raises Unknown.
    """
    condition = truth(context, op.cond)
    before = context.state
    sides: list[Side] = []
    for where, block in ((condition, op.then), (~condition, op.other)):
        inside = before.where & where
        if context.world.is_empty(inside):
            sides.append(Side(where, None))
            continue
        context.state = replace(before.copy(), where=inside)
        try:
            run(context, block)
            sides.append(Side(where, context.state))
        finally:
            context.state = before
    return sides[0], sides[1]


def _joined(
    context: Context, sides: tuple[Side, Side], read: Callable[[int], Value]
) -> Value | Unknown:
    """What is read at the end of each side, under its condition."""
    cases: list[tuple[IndexSet, Value]] = []
    before = context.state
    for i, side in enumerate(sides):
        if side.state is None:
            continue
        context.state = side.state
        try:
            cases.append((side.where, read(i)))
        except Unknown as why:
            return why
        finally:
            context.state = before
    if len(cases) == 1:
        return cases[0][1]
    if not cases:
        return Unknown("what a branch leaves that is never reached")
    return chosen(context.world, cases)


def merge_scalars(context: Context, op: o.If, sides: tuple[Side, Side]) -> None:
    """Define the scalars that a branch leaves, and its counts."""
    made: dict[str, Value | Unknown] = {}
    for merge in op.scalars:
        ends = (merge.then, merge.other)
        made[merge.result.name] = _joined(
            context, sides, lambda i, ends=ends: scalar(context, ends[i])
        )
    for name, is_count in (
        *counted_in(context, op.then),
        *counted_in(context, op.other),
    ):
        made[name] = _joined(
            context, sides, lambda _, n=name, c=is_count: _count(context, n, c)
        )
    context.state.scalars.update(made)


def _count(context: Context, name: str, is_count: bool) -> Value:
    found = context.state.scalars.get(name)
    if found is None and is_count:
        found = counted(context, name)
    if found is None:
        raise Unknown("what was waited for in one side of a branch only")
    if isinstance(found, Unknown):
        raise found
    return found


def merge_tiles(context: Context, op: o.If, sides: tuple[Side, Side]) -> None:
    """Define the tiles that a branch leaves."""
    for merge in op.tiles:
        ends = (merge.then, merge.other)
        axes = context.axes(merge.result.shape)
        made = _joined(
            context,
            sides,
            lambda i, ends=ends, axes=axes: context.own(ends[i], axes),
        )
        if isinstance(made, Unknown):
            context.state.tiles[merge.result] = made
        else:
            context.put(merge.result, made)


def merge_shared(context: Context, sides: tuple[Side, Side]) -> None:
    """Put the writes of both sides, which exclude each other, after those before."""
    shared = context.state.shared
    before = {alloc: len(writes) for alloc, writes in shared.items()}
    for side in sides:
        if side.state is None:
            continue
        for alloc, writes in side.state.shared.items():
            new = writes[before.get(alloc, 0) :]
            shared[alloc] = (*shared.get(alloc, ()), *new)
