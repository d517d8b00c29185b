"""Branches on uniform scalars: each side is read where its condition holds.

After a branch a tile or scalar has the one side's value where the condition holds, and
the other's elsewhere. What the sides write to memory stays under its condition.

An operation for which a number has to be one integer is a branch, too, where that
depends on a condition: of ``ag.where(e > 0, e, N)`` as the end of a loop, say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from argus.ir import ops as o
from argus.ir.walk import bound, defined
from argus.terms import IndexSet, Unknown, Value
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.counts import counted, counted_in
from argus.verify.denotation.memory import merge_memory
from argus.verify.denotation.scalars import scalar, truth
from argus.verify.denotation.state import Context, RoleValues

__all__ = ["Side", "merge_scalars", "read_branch", "read_by_cases", "split"]


@dataclass(frozen=True)
class Side:
    """One side of a branch: where it is taken, and the state at its end.

    ``state`` None: nothing ever comes here.
    """

    where: IndexSet
    state: RoleValues | None


Run = Callable[[Context, o.Block], None]


def read_branch(context: Context, op: o.If, run: Run) -> None:
    """Both sides of a branch, and what it leaves. Raises Unknown."""
    sides = split(context, truth(context, op.cond), (op.then, op.other), run)
    merge_scalars(context, op.scalars, (op.then, op.other), sides)
    _merge_tiles(context, op.tiles, sides)
    _merge_writes(context, sides)


def read_by_cases(context: Context, op: o.AnyOp, where: IndexSet, run: Run) -> None:
    """An operation where a set holds, and where it does not. Raises Unknown."""
    whole = o.Block([op])
    sides = split(context, where, (whole, whole), run)
    scalars = [o.ScalarMerge(sym, sym, sym) for sym in bound(op)]
    merge_scalars(context, scalars, (whole, whole), sides)
    _merge_tiles(context, [o.TileMerge(t, t, t) for t in defined(op)], sides)
    _merge_writes(context, sides)


def split(
    context: Context, condition: IndexSet, blocks: tuple[o.Block, o.Block], run: Run
) -> tuple[Side, Side]:
    """Run one block where a condition holds and another one elsewhere.

    Both begin in the state before it, which stays. Raises Unknown.
    """
    before = context.state
    sides: list[Side] = []
    for where, block in zip((condition, ~condition), blocks, strict=True):
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


def merge_scalars(
    context: Context,
    scalars: Sequence[o.ScalarMerge],
    blocks: tuple[o.Block, o.Block],
    sides: tuple[Side, Side],
) -> None:
    """Define the scalars that a branch leaves, and its counts."""
    made: dict[str, Value | Unknown] = {}
    for merge in scalars:
        ends = (merge.then, merge.other)
        made[merge.result.name] = _joined(
            context, sides, lambda i, ends=ends: scalar(context, ends[i])
        )
    for name, is_count in (x for b in blocks for x in counted_in(context, b)):
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


def _merge_tiles(
    context: Context, tiles: Sequence[o.TileMerge], sides: tuple[Side, Side]
) -> None:
    """Define the tiles that a branch leaves."""
    for merge in tiles:
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


def _merge_writes(context: Context, sides: tuple[Side, Side]) -> None:
    """Put what both sides write, which exclude each other, after what was written."""
    shared = context.state.shared
    before = {alloc: len(writes) for alloc, writes in shared.items()}
    ends = [side.state for side in sides if side.state is not None]
    for end in ends:
        for alloc, writes in end.shared.items():
            new = writes[before.get(alloc, 0) :]
            shared[alloc] = (*shared.get(alloc, ()), *new)
    merge_memory(context, [end.memory for end in ends])
