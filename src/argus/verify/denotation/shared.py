"""Shared memory: what a read finds there.

Which write a read sees follows from numbers, as `argus.verify.order` shows them: a
stage that is written ``x % S`` belongs to fill (drain) x, and the read with number x
finds what the fill with number x left (`fills.py`). A part of a constant stage that one
role alone writes holds what was written last in program order. What neither rule
covers is Unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.walk import walk
from argus.terms import IndexSet, Integer, Unknown, Value, Variable, union
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.left_shared import LeftTiles
from argus.verify.denotation.meetings import meets_others
from argus.verify.denotation.scalars import integer, scalars
from argus.verify.denotation.state import Context, Held, Write

__all__ = [
    "after_loop",
    "before_body",
    "fill_number",
    "found_in",
    "make_write",
    "meet",
    "overwrite",
    "program_order",
]


def fill_number(context: Context, stage: Expr, stages: int) -> Integer | None:
    """The number x of a stage that is written ``x % stages``; else None.

    Raises Unknown where that number is not known.
    """
    match stage:
        case Binary(op="%", left=x, right=Const(value=m)) if m == stages:
            return _inside(context, x, stages)
        case Binary(op="-", left=Const(value=1), right=x) if stages == 2:
            found = fill_number(context, x, stages)
            return None if found is None else found + 1
        case Sym() if stage.name in context.buffers.lets:
            return fill_number(context, context.buffers.lets[stage.name], stages)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(stage)


def _inside(context: Context, e: Expr, stages: int) -> Integer:
    """A number, or that of a remainder inside it: ``x % S + c`` is x + c."""
    match e:
        case Binary(op="+" | "-" as op, left=x, right=Const(value=int(c))):
            found = _inside(context, x, stages)
            return found + c if op == "+" else found - c
        case Const() | Sym() | Binary() | Select():
            found = fill_number(context, e, stages)
            return integer(context, e) if found is None else found
        case _:
            assert_never(e)


def make_write(context: Context, view: SharedView, held: Held | Unknown) -> Write:
    """A write of a tile to a view, at this place. Raises Unknown."""
    return Write(
        integer(context, view.stage),
        scalars(context, view.origin),
        view.axes,
        view.shape,
        held,
        context.state.where,
    )


def overwrite(context: Context, view: SharedView, held: Held | Unknown) -> None:
    """Write a tile in program order."""
    shared = context.state.shared
    try:
        made: Write | Unknown = make_write(context, view, held)
    except Unknown as why:
        made = why
    shared[view.alloc] = (*shared.get(view.alloc, ()), made)


def meet(context: Context) -> None:
    """From here on other roles may have written what they share.

    A buffer that roles use in turns holds for each of them what it has written itself
    since it met others: a write of another role that came in between would be ordered
    after the one and before the other, by what this role does meanwhile.
    """
    for alloc in context.buffers.taken:
        before = context.state.shared.get(alloc, ())
        if not before or not isinstance(before[-1], Unknown):
            why = Unknown(f"which role has written `{alloc.name}` last")
            context.state.shared[alloc] = (*before, why)


def program_order(
    context: Context, alloc: SharedAlloc, stage: Integer, coords: Sequence[Integer]
) -> Value:
    """The element that the writes of this role left at coordinates. Raises Unknown."""
    made = context.state.shared.get(alloc, ())
    return found_in(context, alloc.name, made, stage, coords, context.state.where)


def found_in(
    context: Context,
    name: str,
    made: Sequence[Write | Unknown],
    stage: Integer | None,
    coords: Sequence[Integer],
    where: IndexSet,
    *,
    apart: bool = False,
) -> Value:
    """What writes leave at coordinates, the last one first; ``stage`` None: any.

    ``apart``: the writes are parts that do not overlap, in no order. Raises Unknown
    where they do, and where something is read that none of them wrote.
    """
    world = context.world
    rest, taken = where, IndexSet.nothing
    cases: list[tuple[IndexSet, Value]] = []
    for write in reversed(made):
        if isinstance(write, Unknown):
            raise write
        hit = _covered(context, write, stage, coords)
        if apart and not world.is_empty(where & hit & taken):
            raise Unknown(f"`{name}` is written twice in one fill")
        if world.is_empty(rest & hit):
            continue  # a part that is not read, or nothing that is still left
        if isinstance(write.held, Unknown):
            raise write.held
        inner = [coords[axis] - write.origin[axis] for axis in write.axes]
        value = context.at(write.held, inner)
        if world.is_empty(rest - hit) and (not apart or write is made[0]):
            return chosen(world, [*cases, (~taken, value)])
        cases.append((hit - taken, value))
        rest, taken = rest - hit, taken | hit
    if cases and world.is_empty(rest):
        *first, (_, value) = cases
        return chosen(world, [*first, (~union(s for s, _ in first), value)])
    raise Unknown(f"`{name}` is read where nothing is known to have been written")


def _covered(
    context: Context, write: Write, stage: Integer | None, coords: Sequence[Integer]
) -> IndexSet:
    """Where an element at coordinates is one of those that a write wrote."""
    world = context.world
    found = write.where
    if stage is not None:
        found = found & world.compare(write.stage, "==", stage)
    for axis, (coord, first) in enumerate(zip(coords, write.origin, strict=True)):
        if axis in write.axes:
            extent = write.shape[write.axes.index(axis)]
            found = found & world.compare(coord - first, ">=", 0)
            found = found & world.compare(coord - first, "<", extent)
        else:
            found = found & world.compare(coord, "==", first)
    return found


# ------------------------------------------------------------------------- loops


def before_body(
    context: Context, body: o.Block, left: LeftTiles | None = None
) -> dict[SharedAlloc, tuple[int, int]]:
    """At the start of an iteration, what the body writes is what an earlier one left.

    ``left``: where that is known. Returns how many writes of each buffer are older than
    the loop, and than the iteration.
    """
    shared, older = context.state.shared, dict[SharedAlloc, tuple[int, int]]()
    for op in walk(body):
        view = op.filled()
        changed = [] if view is None else [view.alloc]
        if meets_others(op):
            changed += context.buffers.taken
        for alloc in changed:
            if alloc in older:
                continue
            why = f"`{alloc.name}` is read as an earlier iteration left it"
            before = shared.get(alloc, ())
            found = (left or {}).get(alloc, (Unknown(why, op.span),))
            shared[alloc] = (*before, *found)
            older[alloc] = len(before), len(shared[alloc])
    return older


def after_loop(
    context: Context,
    older: Mapping[SharedAlloc, tuple[int, int]],
    counter: Variable,
    trips: Integer,
) -> None:
    """After a loop, what its last iteration wrote, if there was one.

    A write that covers the same elements in each iteration leaves the last iteration's;
    of other writes only what the last iteration wrote is known.
    """
    world, shared = context.world, context.state.shared
    some = world.compare(trips, ">=", 1)
    last = {counter: trips - 1}
    for alloc, (before, count) in older.items():
        old, own = shared[alloc][:before], shared[alloc][count:]
        made: list[Write | Unknown] = []
        for write in own:
            if isinstance(write, Unknown):
                made = [write]
                continue
            moving = any(counter in x.variables() for x in (write.stage, *write.origin))
            if moving or counter in write.where.variables():
                made.append(Unknown(f"what all iterations leave in `{alloc.name}`"))
            held = write.held
            if isinstance(held, Held):
                held = Held(held.axes, world.substitute(held.value, last))
            where = world.substitute(write.where, last) & some
            origin = tuple(world.substitute(x, last) for x in write.origin)
            stage = world.substitute(write.stage, last)
            made.append(
                replace(write, stage=stage, origin=origin, held=held, where=where)
            )
        shared[alloc] = (*old, *made)
