"""What roles put into shared memory: writes, and the fills of which they are parts.

A fill is what a role puts into a slot at once (`fills.py` says which fill is read). It
is recorded with its number and what was written.
"""

from __future__ import annotations

from dataclasses import replace

from argus.ir import ops as o
from argus.ir.memory import Ring, SharedAlloc, SharedView
from argus.terms import Integer, Unknown
from argus.verify.denotation.cases import free_variables
from argus.verify.denotation.counts import expected, filled, turned
from argus.verify.denotation.meetings import written as written_before
from argus.verify.denotation.scalars import integer
from argus.verify.denotation.shared import fill_number, make_write, overwrite
from argus.verify.denotation.state import (
    Context,
    Fill,
    Filling,
    Held,
    Write,
    placed,
)
from argus.verify.denotation.views import copied

__all__ = [
    "acquire",
    "copy",
    "lose_fill",
    "lose_write",
    "publish",
    "store",
]


def store(context: Context, op: o.StoreShared) -> None:
    """A role stores a tile that it holds. Raises Unknown."""
    try:
        held: Held | Unknown = context.held(op.src)
    except Unknown as why:
        held = why
    _write(context, op, op.view, held)


def copy(context: Context, op: o.CopyAsync) -> None:
    """A role copies a tile from global memory. Raises Unknown."""
    if op.multicast > 1:
        _check_multicast(context, op)
    try:
        held: Held | Unknown = Held(context.axes(op.src.shape), copied(context, op))
    except Unknown as why:
        held = placed(why, op)
    if isinstance(held, Held) and op.multicast > 1:
        rank = context.grid.rank
        value = held.value
        if rank is None or rank in free_variables(value):
            why = "a multicast of a tile that depends on the rank of the block"
            held = Unknown(why, op.span)
    _write(context, op, op.dst, held)


def _check_multicast(context: Context, op: o.CopyAsync) -> None:
    if op.multicast != context.program.cluster:
        raise Unknown("a multicast to a part of the cluster", op.span)
    around = context.state.where.variables()
    for variable in context.state.scope:
        if variable != context.grid.rank and variable.upper is not None:
            around |= variable.upper.variables()
    if context.grid.rank in around:
        raise Unknown("a multicast that depends on the rank of the block", op.span)


def _write(
    context: Context,
    op: o.StoreShared | o.CopyAsync,
    view: SharedView,
    held: Held | Unknown,
) -> None:
    alloc = view.alloc
    ring = context.buffers.ring.get(alloc)
    if ring is not None:
        _write_slot(context, ring, view, held)
        return
    overwrite(context, view, held)
    if alloc in context.buffers.turning:
        number = fill_number(context, view.stage, alloc.stages)
        if number is None:
            if context.state.scope != context.common:
                raise Unknown(
                    f"a stage of `{alloc.name}` that is not `number % stages`"
                )
            number = integer(context, view.stage)
        turns: Integer | Unknown = turned(context, op)
    elif alloc in context.buffers.handed:
        turns = number = expected(context, context.buffers.handed[alloc]) - 1
        if turned(context, op) != number:
            raise Unknown(f"which phase a copy into `{alloc.name}` belongs to")
    elif alloc in context.buffers.stored and isinstance(op, o.StoreShared):
        if not context.meetings.roles[context.role].named:
            return
        turns = number = written_before(context, op)
    else:
        return
    made = make_write(context, view, held)
    _record_fill(context, alloc, {alloc: (made,)}, number, turns, op)


def _write_slot(
    context: Context,
    ring: Ring,
    view: SharedView,
    held: Held | Unknown,
) -> None:
    filling = context.filling
    if filling is None or filling.ring is not ring:
        raise Unknown(f"`{ring.name}` is written outside of a fill")
    if filling.scope != context.state.scope:
        raise Unknown(f"a fill of `{ring.name}` that a loop makes in parts")
    number = fill_number(context, view.stage, ring.stages)
    if number is None:
        slot = context.world.remainder(filling.number, ring.stages)
        same = context.world.compare(slot, "==", integer(context, view.stage))
        if not context.world.is_subset(context.state.where, same):
            raise Unknown(f"a slot of `{ring.name}` that is not the one acquired")
    elif number != filling.number:
        raise Unknown(f"a slot of `{ring.name}` that is not the one acquired")
    write = make_write(context, view, held)
    filling.writes[view.alloc] = (*filling.writes.get(view.alloc, ()), write)


def acquire(context: Context, op: o.RingAcquire) -> None:
    """A fill begins. Raises Unknown."""
    if context.filling is not None:
        raise Unknown(f"a fill of `{op.ring.name}` inside of another")
    context.filling = Filling(op.ring, integer(context, op.n), {}, context.state.scope)


def publish(context: Context, op: o.RingPublish) -> None:
    """A fill ends, and is recorded. Raises Unknown."""
    filling, context.filling = context.filling, None
    if filling is None or filling.ring is not op.ring:
        raise Unknown(f"`{op.ring.name}` is published and was not acquired")
    number = integer(context, op.n)
    turns = filled(context, op.ring)
    same = number == filling.number and filling.scope == context.state.scope
    if not same or number != turns:
        raise Unknown(f"whether fills of `{op.ring.name}` are numbered 0, 1, 2, ...")
    _record_fill(context, op.ring, filling.writes, number, turns, op)


def _record_fill(
    context: Context,
    key: Ring | SharedAlloc,
    writes: dict[SharedAlloc, tuple[Write, ...]],
    number: Integer,
    turns: Integer | Unknown,
    op: o.AnyOp,
) -> None:
    if context.dry:
        return
    scope, where = context.state.scope, context.state.where
    made = Fill(context.role, scope, number, turns, where, writes, op.span)
    known = context.record.fills.setdefault(key, [])
    if known and _same_fill(known[-1], made):
        last = known.pop()
        both = {**last.writes}
        for alloc, parts in writes.items():
            both[alloc] = (*both.get(alloc, ()), *parts)
        made = replace(last, writes=both)
    known.append(made)


def lose_write(context: Context, alloc: SharedAlloc, why: Unknown) -> None:
    """What was written into a buffer is not known."""
    ring = context.buffers.ring.get(alloc)
    lose_fill(context, alloc if ring is None else ring, why)
    shared = context.state.shared
    shared[alloc] = (*shared.get(alloc, ()), why)


def lose_fill(context: Context, key: Ring | SharedAlloc, why: Unknown) -> None:
    """What a fill holds is not known."""
    context.filling = None
    if not context.dry:
        context.record.unfilled.setdefault(key, why)


def _same_fill(one: Fill, other: Fill) -> bool:
    """Whether two writes are parts of one fill."""
    return (
        one.scope == other.scope
        and one.number == other.number
        and one.turns == other.turns
        and one.where.same(other.where)
    )
