"""Moves between global memory, shared memory and registers.

A load gives each element the coordinates it was loaded from; an element that may lie
outside its tensor is a hole with the fill value. A store must find, at the place of
each coordinate, the element that has it (AG0305), complete (AG0308), not padded
(AG0310). Vectors are aligned and stay in their row (AG0320), TMA keeps its rules, and
shared accesses stay inside the stage (AG0313).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TmaBox, TmaPlan, VectorPlan
from argus.ir.program import CLUSTER_RANK
from argus.isa.boxes import box_offsets
from argus.verify.tags.alignment import check_box, check_vectors
from argus.verify.tags.compare import Agreement
from argus.verify.tags.loads import elements, loaded
from argus.verify.tags.memory import StageWrite
from argus.verify.tags.operands import inside_stage, read_stage, stage_exists
from argus.verify.tags.shared_tags import without
from argus.verify.tags.slots import overlay, scatter, slots_of
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
    moved,
)
from argus.verify.verdict import Verdict

__all__ = ["copy_in", "copy_out", "load_global", "load_shared", "store_global",
           "store_shared"]  # fmt: skip


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
    if op.plan is not None:
        check_vectors(state, op, op.plan, op.view, placed)
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
    if op.plan is not None:
        check_vectors(state, op, op.plan, op.view, placed)
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
    _check_vector_slots(state, op, op.plan, offsets, op.view)
    return replace(value, mask=None)


def store_shared(state: WalkState, op: o.StoreShared) -> None:
    """A register tile to shared memory."""
    if op.plan is None:
        return
    offsets = slots_of(op.plan, op.view)
    if offsets is None:
        _symbolic_origin(state, op)
        return
    if not inside_stage(state, op, op.view.alloc, offsets):
        return
    stage_exists(state, op, op.view)
    _check_vector_slots(state, op, op.plan, offsets, op.view)
    who = op.plan.layout.owner_mask() if op.plan.unique else None
    value = state.get(op.src).with_step(f"stored into {op.view.alloc.name}", op.span)
    _write(state, op, op.view, scatter(value, offsets // op.view.dtype.bytes,
                                       _slots(op.view), who))  # fmt: skip


def _check_vector_slots(
    state: WalkState, op: o.AnyOp, plan: VectorPlan, offsets: Ints, view: SharedView
) -> None:
    """The elements of one vector access lie behind each other, aligned."""
    if "matrix" in plan.instruction or plan.width == 1:
        return
    size = view.dtype.bytes
    grouped = offsets.reshape(offsets.shape[0], -1, plan.width)
    steps = grouped - grouped[:, :, :1]
    wanted = np.arange(plan.width) * size
    base = view.alloc.offset or 0
    ok = bool((steps == wanted).all())
    ok &= not ((grouped[:, :, 0] + base) % (plan.width * size)).any()
    ok &= view.alloc.stages == 1 or view.alloc.stage_bytes % (plan.width * size) == 0
    verdict = Verdict.PROVED if ok else Verdict.REFUTED
    state.report(
        "AG0320",
        "vector accesses to shared memory are aligned and contiguous",
        op.span,
        Agreement(verdict, "enumeration", "", state.scope.some_point()),
        "a vector access to shared memory that is not aligned or not contiguous",
        f"{plan.width} elements at once",
    )


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
    if offsets is None:
        _symbolic_origin(state, op)
        return
    if not inside_stage(state, op, op.dst.alloc, offsets):
        return
    stage_exists(state, op, op.dst)
    table = plan.layout.table().astype(np.int64)
    coordinate = [table[:, :, i] for i in range(table.shape[2])]
    placed = elements(state, op.src, coordinate)
    check_vectors(state, op, plan, op.src, placed)
    _check_vector_slots(state, op, plan, offsets, op.dst)
    value = loaded(state, op.src, placed, table.shape[:2], 0.0, op)
    who = plan.layout.owner_mask() if plan.unique else None
    slots = offsets // op.dst.dtype.bytes
    _write(state, op, op.dst, scatter(value, slots, _slots(op.dst), who))


def _tma_in(state: WalkState, op: o.CopyAsync, plan: TmaPlan) -> None:
    stage_exists(state, op, op.dst)
    content: AbstractValue | None = None
    ranks = range(plan.multicast) if plan.multicast > 1 else (None,)
    for rank in ranks:
        for box in plan.boxes:
            part = _box(state, op, plan, box, op.src, op.dst, rank)
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
        part = _box(state, op, op.plan, box, op.dst, op.src, None)
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
    op: o.CopyAsync | o.CopyOut,
    plan: TmaPlan,
    box: TmaBox,
    view: GlobalView,
    shared: SharedView,
    rank: int | None,
) -> tuple[Ints, tuple[Tag, ...]] | None:
    """Slots of a box, and the tensor coordinates of its elements.

    ``rank``: the block of the cluster that issues it, for multicast.
    """
    env: Mapping[str, Expr] = {} if rank is None else {CLUSTER_RANK.name: Const(rank)}
    world = state.world
    bases = [world.replace(state.close(c), env) for c in box.coords]
    offset = world.replace(state.close(box.offset), env)
    if not isinstance(offset, Const):
        _symbolic_origin(state, op)
        return None
    if not check_box(state, op, plan, bases, view, shared, int(offset.value)):
        return None
    size = view.dtype.bytes
    offsets = box_offsets(plan.map.box, size, plan.map.swizzle) + int(offset.value)
    if not inside_stage(state, op, shared.alloc, offsets):
        return None
    index = np.indices(plan.map.box, dtype=np.int64)
    coords = tuple(Coord(b, i) for b, i in zip(bases, index, strict=True))
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


def _symbolic_origin(state: WalkState, op: o.AnyOp) -> None:
    state.report(
        "AG0313",
        "the place in shared memory is known",
        op.span,
        Agreement(Verdict.UNKNOWN, "", "a view with a symbolic origin"),
    )


def load_scalar(state: WalkState, op: o.LoadScalar) -> None:
    """A single element is read without a mask: its coordinates must be inside."""
    for coord, extent, name in zip(
        op.coords, op.tensor.shape, op.tensor.dims, strict=True
    ):
        where = state.close(coord)
        limit = state.close(extent)
        goals = (binary(">=", where, 0), binary("<", where, limit))
        decided = state.scope.all_hold(goals)
        state.report(
            "AG0312",
            f"the element read from {op.tensor.name} exists along {name}",
            op.span,
            Agreement(decided.verdict, decided.method, decided.reason, decided.model),
            f"an element outside {op.tensor.name} is read",
            f"{name} is outside of {op.tensor.name}",
        )
