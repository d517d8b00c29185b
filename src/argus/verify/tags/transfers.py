"""Moves between global memory, shared memory and registers.

A load gives each element the coordinates it was loaded from; an element that may lie
outside its tensor is a hole with the fill value. A store must find, at the place of
each coordinate, the element that has it (AG0305), complete (AG0308), not padded
(AG0310). Whether accesses are inside and aligned is asked by `accesses.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TmaBox, TmaPlan, VectorPlan
from argus.isa.boxes import box_offsets
from argus.verify.tags.boxes import box_place, ranks_of
from argus.verify.tags.loads import elements, loaded
from argus.verify.tags.memory import StageWrite
from argus.verify.tags.moving import moved
from argus.verify.tags.operands import read_stage
from argus.verify.tags.shared_tags import without
from argus.verify.tags.slots import leaving, overlay, scatter, slots_of
from argus.verify.tags.spread import ViewCoordinates
from argus.verify.tags.state import WalkState
from argus.verify.tags.storing import check_store
from argus.verify.tags.values import (
    AbstractValue,
    Bools,
    Coord,
    Ints,
    Kind,
    Loaded,
    Tag,
    Vague,
    known_number,
)

__all__ = [
    "AnyCopy", "CopyEnds", "copy_in", "copy_out", "ends_of", "load_global",
    "load_shared", "store_global", "store_shared",
]  # fmt: skip

AnyCopy: TypeAlias = o.CopyAsync | o.CopyOut


@dataclass(frozen=True)
class CopyEnds:
    """Between which memories a copy moves elements; ``stored``: into global memory."""

    plan: TmaPlan | VectorPlan | None
    view: GlobalView
    shared: SharedView
    stored: bool


def ends_of(op: AnyCopy) -> CopyEnds:
    """The ends of a copy."""
    match op:
        case o.CopyAsync():
            return CopyEnds(op.plan, op.src, op.dst, stored=False)
        case o.CopyOut():
            return CopyEnds(op.plan, op.dst, op.src, stored=True)
        case _:
            assert_never(op)


# -------------------------------------------------------------------- registers


def load_global(state: WalkState, op: o.LoadGlobal) -> AbstractValue:
    """The value of a tile loaded from global memory."""
    table = state.table(op.result)
    coordinate = [table[:, :, i].astype(np.int64) for i in range(table.shape[2])]
    placed = elements(state, op.view, coordinate)
    fill = state.close(op.fill)
    kind: Kind = "junk"
    if isinstance(fill, Const):
        kind = known_number(fill.value)
    shape = state.shape(op.result)
    value = loaded(state, op.view, placed, shape, kind, op)
    if op.result.dtype.kind == "int":
        known = tuple(c for c in placed.coords)
        value = replace(value, number=Loaded(op.view.tensor.name, known))
    if not op.result.shape:  # of which no coordinate says how often it is held
        value = moved(value, shape, lambda a: np.broadcast_to(a, shape))
    return value


def store_global(state: WalkState, op: o.StoreGlobal) -> None:
    """A register tile to global memory."""
    table = state.table(op.src)
    coordinate = [table[:, :, i].astype(np.int64) for i in range(table.shape[2])]
    placed = elements(state, op.view, coordinate)
    value = state.get(op.src)
    mask = None if op.mask is None else state.get(op.mask).mask or ()
    who: Bools | None = None
    if op.plan is not None and op.plan.unique:
        who = op.plan.layout.owner_mask()
    check_store(state, op, op.view, placed, value, mask, who)


def load_shared(state: WalkState, op: o.LoadShared) -> AbstractValue:
    """The value of a tile read by ld.shared or ldmatrix."""
    if op.plan is None:
        return state.vague(op.result, "a load without a plan")
    offsets = slots_of(op.plan, op.view)
    if offsets is None:
        return state.vague(op.result, "a view with a symbolic origin")
    value = read_stage(state, op, op.view, offsets)
    if value is None:
        return state.vague(op.result, "what is read is not known")
    return replace(value, mask=None)


def store_shared(state: WalkState, op: o.StoreShared) -> None:
    """A register tile to shared memory."""
    if op.plan is None:
        return
    offsets = slots_of(op.plan, op.view)
    if offsets is None or leaving(op.view.alloc, offsets).any():
        return
    who = op.plan.layout.owner_mask() if op.plan.unique else None
    value = state.get(op.src).with_step(f"stored into {op.view.alloc.name}", op.span)
    _write(state, op, op.view, scatter(value, offsets // op.view.dtype.bytes,
                                       _slots(op.view), who))  # fmt: skip


# ----------------------------------------------------------------------- copies


def copy_in(state: WalkState, op: o.CopyAsync) -> None:
    """An asynchronous copy into shared memory."""
    match op.plan:
        case TmaPlan():
            _tma_in(state, op, op.plan)
        case VectorPlan():
            _cp_async(state, op, op.plan)
        case None:
            return


def _cp_async(state: WalkState, op: o.CopyAsync, plan: VectorPlan) -> None:
    offsets = slots_of(plan, op.dst)
    if offsets is None or leaving(op.dst.alloc, offsets).any():
        return
    table = plan.layout.table().astype(np.int64)
    coordinate = [table[:, :, i] for i in range(table.shape[2])]
    placed = elements(state, op.src, coordinate)
    value = loaded(state, op.src, placed, table.shape[:2], 0.0, op)
    who = plan.layout.owner_mask() if plan.unique else None
    slots = offsets // op.dst.dtype.bytes
    _write(state, op, op.dst, scatter(value, slots, _slots(op.dst), who))


def _tma_in(state: WalkState, op: o.CopyAsync, plan: TmaPlan) -> None:
    content: AbstractValue | None = None
    for rank in ranks_of(plan):
        for box in plan.boxes:
            part = _box(state, plan, box, op.src, op.dst, rank)
            if part is None:
                return
            slots, coords = part
            placed = ViewCoordinates(coords, (), {})
            made = loaded(state, op.src, placed, slots.shape, 0.0, op)
            laid = scatter(made, slots, _slots(op.dst))
            content = overlay(content, laid, state.scope)
    if content is not None:
        _write(state, op, op.dst, content)


def copy_out(state: WalkState, op: o.CopyOut) -> None:
    """A TMA store: each box is compared with the coordinates it goes to."""
    if op.plan is None:
        return
    for number, box in enumerate(op.plan.boxes):
        part = _box(state, op.plan, box, op.dst, op.src, None)
        if part is None:
            return
        slots, coords = part
        value = read_stage(state, op, op.src, slots * op.src.dtype.bytes)
        if value is None:
            # It is stored nonetheless: coverage asks where, not what.
            unknown = Vague("what is read is not known")
            value = AbstractValue(
                slots.shape, dict.fromkeys(op.dst.tensor.dims, unknown)
            )
        placed = ViewCoordinates(coords, (), {})
        check_store(state, op, op.dst, placed, value, None, None, number)


def _box(
    state: WalkState,
    plan: TmaPlan,
    box: TmaBox,
    view: GlobalView,
    shared: SharedView,
    rank: int | None,
) -> tuple[Ints, tuple[Tag, ...]] | None:
    """Slots of a box, and the tensor coordinates of its elements; None: not known.

    ``rank``: the block of the cluster that issues it, for multicast.
    """
    bases, offset = box_place(state, box, rank)
    if offset is None:
        return None
    size = view.dtype.bytes
    offsets = box_offsets(plan.map.box, size, plan.map.swizzle) + offset
    if leaving(shared.alloc, offsets).any():
        return None
    index = np.indices(plan.map.box, dtype=np.int64)
    steps = plan.map.all_steps
    coords = tuple(Coord(b, i * s) for b, i, s in zip(bases, index, steps, strict=True))
    return offsets // size, coords


def _write(
    state: WalkState, op: o.AnyOp, view: SharedView, content: AbstractValue
) -> None:
    state.tagged = without(state.tagged, {view.alloc})
    state.memory.write(
        StageWrite(
            op,
            view.alloc,
            state.stage(view),
            state.fill_number(view),
            state.scope,
            state.role,
            content,
        )
    )


def _slots(view: SharedView) -> int:
    count = 1
    for extent in view.alloc.shape:
        count *= extent
    return count
