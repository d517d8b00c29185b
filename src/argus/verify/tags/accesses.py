"""What each access touches, whatever the elements mean: bounds, stages, alignment.

    for obligation in accessed(known): ...

Each role is walked once, with scalars in closed form; tiles have no values here. Shown
is what equality with a reference says nothing of: scalars are read inside of their
tensor (AG0312), accesses to shared memory stay in their stage (AG0313), vectors, boxes
and descriptors keep the rules of the hardware (AG0320), requirements and assumptions
can be true together (AG0318), and functions of scans are associative (AG0324).
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import binary
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TmaPlan, VectorPlan, WgmmaPlan
from argus.isa import wgmma
from argus.isa.boxes import box_offsets
from argus.isa.matrix import element
from argus.layout import Fragment
from argus.verify.combining import associative
from argus.verify.decide import negate
from argus.verify.tags import loops
from argus.verify.tags.alignment import check_box, check_vectors
from argus.verify.tags.annotated import contradiction, noted
from argus.verify.tags.boxes import box_place, ranks_of
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.findings import Findings
from argus.verify.tags.place import WalkPlace
from argus.verify.tags.program_scope import ProgramScope
from argus.verify.tags.spread import places
from argus.verify.tags.stages import (
    check_operand,
    check_slots,
    inside_stage,
    stage_exists,
    symbolic_origin,
)
from argus.verify.tags.transfers import AnyCopy, CopyEnds, ends_of
from argus.verify.tags.values import Vague
from argus.verify.verdict import Obligation, Verdict

__all__ = ["accessed"]


def accessed(known: ProgramScope) -> list[Obligation]:
    """Obligations of all accesses of a placed program."""
    program = known.program
    threads = program.target.warp_threads * program.warps
    place = WalkPlace(known.world, Findings(), known.scope, {}, "block", threads)
    contradiction(place, program.span)
    _walk(place, program.body, "m")
    return place.findings.all()


def _roles(place: WalkPlace, roles: o.Roles) -> None:
    scope, env = place.scope, place.env
    outer = place.role, place.threads
    for role in roles.roles:
        place.scope, place.env, place.role = scope, dict(env), role.name
        place.threads = place.world.program.target.warp_threads * role.warps
        _walk(place, role.body, role.name)
    place.scope, place.env = scope, env
    place.role, place.threads = outer


def _walk(place: WalkPlace, block: o.Block, label: str) -> None:
    count = 0
    for op in block.ops:
        match op:
            case o.For():
                count += 1
                _loop(place, op, f"{label}.{count}")
            case o.If():
                count += 1
                _branch(place, op, f"{label}.{count}")
            case o.Roles():
                _roles(place, op)
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                _operation(place, op)
            case _:
                assert_never(op)


def _loop(place: WalkPlace, op: o.For, label: str) -> None:
    entered = loops.enter(place.world, op, place.scope, place.env, label)
    outer = place.scope
    place.scope, place.env = entered.scope, dict(entered.inside)
    _walk(place, op.body, label)
    place.scope, place.env = outer, dict(entered.after)


def _branch(place: WalkPlace, op: o.If, label: str) -> None:
    cond = place.close(op.cond)
    scope, env = place.scope, place.env
    place.scope, place.env = scope.when(cond), dict(env)
    _walk(place, op.then, label + "t")
    then = place.env
    place.scope, place.env = scope.when(negate(cond)), dict(env)
    _walk(place, op.other, label + "e")
    other = place.env
    place.scope, place.env = scope, env
    loops.leave_if(place.world, op, then, other, env)


def _operation(place: WalkPlace, op: o.AnyOp) -> None:
    match op:
        case o.Binding():
            loops.let(place.world, op, place.scope, place.env)
            if isinstance(op, o.LoadScalar):
                _scalar(place, op)
        case o.Combining():
            _function(place, op)
        case o.Dot():
            _product(place, op)
        case o.LoadGlobal():
            _vectors(place, op, op.plan, op.view, op.result.layout)
        case o.StoreGlobal():
            _vectors(place, op, op.plan, op.view, op.src.layout)
        case o.LoadShared() | o.StoreShared():
            check_slots(place, op, op.plan, op.view)
        case o.Copy():
            _copy(place, op)
        case o.Annotation():
            noted(place, op)
        case (
            o.RegisterOp() | o.Synchronisation() | o.RingOp() | o.Structure()
        ):  # fmt: skip
            pass
        case _:
            assert_never(op)


def _vectors(
    place: WalkPlace,
    op: o.AnyOp,
    plan: VectorPlan | None,
    view: GlobalView,
    layout: Fragment | None,
) -> None:
    if plan is None or plan.width == 1 or layout is None:
        return
    table = layout.table().astype(np.int64)
    coordinate = [table[:, :, i] for i in range(table.shape[2])]
    gathered = {g.symbol.name: Vague("an entry of a table") for g in view.gathers}
    placed = places(view, coordinate, gathered, place.scope, place.env)
    check_vectors(place, op, plan, view, placed)


def _copy(place: WalkPlace, op: AnyCopy) -> None:
    ends = ends_of(op)
    if isinstance(ends.plan, TmaPlan):
        _boxes(place, op, ends.plan, ends)
    elif ends.plan is not None:
        check_slots(place, op, ends.plan, ends.shared)
        _vectors(place, op, ends.plan, ends.view, ends.plan.layout)


def _boxes(place: WalkPlace, op: o.AnyOp, plan: TmaPlan, ends: CopyEnds) -> None:
    view, shared = ends.view, ends.shared
    stage_exists(place, op, shared)
    for rank in (None,) if ends.stored else ranks_of(plan):
        for box in plan.boxes:
            bases, offset = box_place(place, box, rank)
            if offset is None:
                symbolic_origin(place, op, "the place in shared memory is known")
                return
            if not check_box(place, op, plan, bases, view, shared, offset):
                return
            swizzle = plan.map.swizzle
            offsets = box_offsets(plan.map.box, view.dtype.bytes, swizzle) + offset
            if not inside_stage(place, op, shared.alloc, offsets):
                return


def _product(place: WalkPlace, op: o.Dot) -> None:
    """Operands that descriptors read."""
    plan, of = op.plan, element(op.b.dtype)
    if not isinstance(plan, WgmmaPlan) or of is None:
        return
    groups = place.threads // wgmma.THREADS
    if isinstance(op.b, SharedView):
        check_operand(place, op, plan.b, op.b, plan.inst_n, of.depth, groups)
    if isinstance(op.a, SharedView) and plan.a is not None:
        check_operand(place, op, plan.a, op.a, wgmma.ROWS, of.depth, groups)


def _function(place: WalkPlace, op: o.Combining) -> None:
    types = tuple(x.dtype for x in op.srcs)
    reason = associative(op.combine, types)
    place.report(
        "AG0324",
        "the function of a scan is associative",
        op.span,
        Agreement(Verdict.PROVED) if reason is None else unknown(reason),
    )


def _scalar(place: WalkPlace, op: o.LoadScalar) -> None:
    """A single element is read without a mask: its coordinates must be inside."""
    for coord, extent, name in zip(
        op.coords, op.tensor.shape, op.tensor.dims, strict=True
    ):
        where = place.close(coord)
        limit = place.close(extent)
        goals = (binary(">=", where, 0), binary("<", where, limit))
        decided = place.scope.all_hold(goals)
        place.report(
            "AG0312",
            f"the element read from {op.tensor.name} exists along {name}",
            op.span,
            Agreement(decided.verdict, decided.method, decided.reason, decided.model),
            f"an element outside {op.tensor.name} is read",
            f"{name} is outside of {op.tensor.name}",
        )
