"""The element of a shared view: by the rule that applies to its buffer."""

from __future__ import annotations

from collections.abc import Sequence

from argus.ir.expr import Const
from argus.ir.memory import Ring, SharedAlloc, SharedView
from argus.terms import Integer, Unknown, Value
from argus.verify.denotation.counts import waited
from argus.verify.denotation.fills import drained
from argus.verify.denotation.meetings import last_write
from argus.verify.denotation.scalars import integer, scalars
from argus.verify.denotation.shared import fill_number, program_order
from argus.verify.denotation.state import Context, integers

__all__ = ["shared_element", "shared_value"]


def shared_value(context: Context, view: SharedView) -> Value:
    """A shared tile at the axes of its shape. Raises Unknown."""
    return shared_element(context, view, integers(context.axes(view.shape)))


def shared_element(
    context: Context, view: SharedView, indices: Sequence[Integer]
) -> Value:
    """The element of a view at indices, as a read at this place finds it.

    Raises Unknown.
    """
    coords = list(scalars(context, view.origin))
    for axis, index in zip(view.axes, indices, strict=True):
        coords[axis] = coords[axis] + index
    alloc = view.alloc
    number = fill_number(context, view.stage, alloc.stages)
    ring = context.buffers.ring.get(alloc)
    if ring is not None:
        if number is None:
            number = _last_drain(context, ring, view)
        return drained(context, ring, alloc, number, coords)
    if alloc in context.buffers.turning:
        if number is None and isinstance(view.stage, Const):
            raise Unknown(f"which write of `{alloc.name}` a constant stage is")
        if number is None:
            raise Unknown(f"a stage of `{alloc.name}` that is not `number % stages`")
        return drained(context, alloc, alloc, number, coords)
    own = context.buffers.is_own(context.role, view)
    if own or alloc in context.buffers.taken:
        return program_order(context, alloc, integer(context, view.stage), coords)
    if alloc in context.buffers.handed:
        number = _handed_over(context, alloc)
    else:
        number = last_write(context, alloc)
    return drained(context, alloc, alloc, number, coords)


def _last_drain(context: Context, ring: Ring, view: SharedView) -> Integer:
    """The fill that was waited for: what a constant stage means."""
    number = waited(context, ring)
    stage = integer(context, view.stage)
    world = context.world
    slot = world.remainder(number, ring.stages)
    if not world.is_subset(context.state.where, world.compare(slot, "==", stage)):
        raise Unknown(f"a slot of `{ring.name}` that is not the one waited for")
    return number


def _handed_over(context: Context, alloc: SharedAlloc) -> Integer:
    """The phase of the barrier that a buffer of one stage is handed over by.

    Copies into the buffer all complete on one barrier, for which the writer alone
    expects. One role alone is told of it, or several, of which this one waits for
    nothing else: so what a wait for phase n has seen is the n-th copy, and nobody else
    can have seen a later one on this role's behalf.
    """
    barrier = context.buffers.handed[alloc]
    waiting = context.buffers.waiting.get(barrier, set())
    alone = waiting == {context.role}
    if not alone and not context.meetings.awaits_only(context.role, barrier):
        raise Unknown(f"`{barrier.name}` is waited for by several roles")
    return waited(context, barrier)
