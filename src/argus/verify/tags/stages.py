"""Accesses to shared memory: inside of their stage, aligned, by rules of descriptors.

AG0313 and AG0320. Which bytes an access touches follows from its plan and its view, and
which stage it is from scalars.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.access import matrix_rows
from argus.ir.expr import Const, Expr, binary
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.placement import MatrixOperand, VectorPlan
from argus.isa import ldmatrix
from argus.verify.refinement.shared_tiles import fixed_views
from argus.verify.tags.alignment import divisors
from argus.verify.tags.compare import Agreement
from argus.verify.tags.operands import operand_offsets
from argus.verify.tags.place import WalkPlace
from argus.verify.tags.slots import at_stage_zero, leaving, slots_of
from argus.verify.tags.values import Ints
from argus.verify.verdict import Verdict

__all__ = ["check_operand", "check_slots", "inside_stage", "stage_exists"]


def check_slots(
    place: WalkPlace, op: o.AnyOp, plan: VectorPlan | None, view: SharedView
) -> None:
    """Report whether an access by registers, or of cp.async, stays inside, aligned."""
    if plan is None:
        return
    views = [view] if at_stage_zero(view) else _views(place, op, view)
    for one in views:
        offsets = slots_of(plan, one)
        if offsets is None or not inside_stage(place, op, view.alloc, offsets):
            return
        _check_vectors(place, op, plan, offsets, one)
    stage_exists(place, op, view)


def _views(place: WalkPlace, op: o.AnyOp, view: SharedView) -> list[SharedView]:
    """The view at each origin that it may have; none: reported."""
    origin = tuple(place.close(x) for x in view.origin)
    extents = dict(zip(view.axes, view.shape, strict=True))
    goals: list[Expr] = []
    for axis, (size, x) in enumerate(zip(view.alloc.shape, origin, strict=True)):
        goals.append(binary(">=", x, 0))
        goals.append(binary("<=", x, size - extents.get(axis, 1)))
    decided = place.scope.all_hold(goals)
    place.report(
        "AG0313",
        f"the view is a part of {view.alloc.name}",
        op.span,
        Agreement(decided.verdict, decided.method, decided.reason, decided.model),
        f"a view that leaves {view.alloc.name}",
        f"outside of {view.alloc.name}",
    )
    if decided.verdict is not Verdict.PROVED:
        return []
    facts = divisors(place.world.program)
    found = fixed_views(replace(view, origin=origin), facts)
    if found is None:
        symbolic_origin(place, op, "the place in shared memory is known")
    return found or []


def check_operand(
    place: WalkPlace,
    op: o.AnyOp,
    operand: MatrixOperand,
    view: SharedView,
    rows: int,
    depth: int,
    warpgroups: int,
) -> None:
    """Report whether descriptors keep their rules, and read inside the stage."""
    read = operand_offsets(operand, view, rows, depth, warpgroups)
    if read is None:
        symbolic_origin(place, op, "the operand's place in shared memory is known")
        return
    broken, offsets = read
    outcome = Agreement(Verdict.PROVED, "enumeration")
    if broken:
        outcome = Agreement(
            Verdict.REFUTED, "enumeration", "", place.scope.some_point()
        )
    place.report(
        "AG0320",
        "matrix descriptors keep the rules of the hardware",
        op.span,
        outcome,
        f"a matrix descriptor that the hardware does not accept: {broken}",
        broken,
    )
    if not broken and inside_stage(place, op, view.alloc, offsets):
        stage_exists(place, op, view)


def inside_stage(
    place: WalkPlace, op: o.AnyOp, alloc: SharedAlloc, offsets: Ints
) -> bool:
    """Report whether byte offsets lie inside one stage, on whole elements (AG0313)."""
    wrong = leaving(alloc, offsets)
    outcome = Agreement(Verdict.PROVED, "enumeration")
    text = ""
    if wrong.any():
        at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        element = tuple(int(i) for i in at)
        model = place.scope.some_point()
        outcome = Agreement(Verdict.REFUTED, "enumeration", "", model, element)
        size = alloc.dtype.bytes
        for extent in alloc.shape:
            size *= extent
        text = f"byte {int(offsets[element])} of a stage of {size} bytes"
    place.report(
        "AG0313",
        f"accesses stay inside {alloc.name}",
        op.span,
        outcome,
        f"an access leaves the stage of {alloc.name}",
        text,
    )
    return not wrong.any()


def stage_exists(place: WalkPlace, op: o.AnyOp, view: SharedView) -> None:
    """Report whether the stage number is one of the buffer (AG0313)."""
    stage = place.stage(view)
    goal = binary("and", binary(">=", stage, 0), binary("<", stage, view.alloc.stages))
    decided = place.scope.decide(goal)
    place.report(
        "AG0313",
        f"the stage is one of the {view.alloc.stages} of {view.alloc.name}",
        op.span,
        Agreement(decided.verdict, decided.method, decided.reason, decided.model),
        f"a stage that {view.alloc.name} does not have",
        f"{view.alloc.name} has {view.alloc.stages} stages",
    )


def symbolic_origin(place: WalkPlace, op: o.AnyOp, claim: str) -> None:
    """Report that it is not known where a view of shared memory begins (AG0313)."""
    reason = "a view with a symbolic origin"
    place.report("AG0313", claim, op.span, Agreement(Verdict.UNKNOWN, "", reason))


def _check_vectors(
    place: WalkPlace, op: o.AnyOp, plan: VectorPlan, offsets: Ints, view: SharedView
) -> None:
    """The elements of one access lie behind each other, aligned.

    Of ldmatrix and stmatrix that is said of the rows whose addresses lanes supply.
    """
    matrix = "matrix" in plan.instruction
    if not matrix and plan.width == 1:
        return
    if matrix:
        rows = matrix_rows(plan, replace(view, stage=Const(0)), {})
        bytes_ = ldmatrix.ROW_BYTES
        ok = not (rows % bytes_).any()
        what, text = f"rows for {plan.instruction}", f"rows of {bytes_} bytes"
    else:
        size = view.dtype.bytes
        bytes_ = plan.width * size
        grouped = offsets.reshape(offsets.shape[0], -1, plan.width)
        steps = grouped - grouped[:, :, :1]
        ok = bool((steps == np.arange(plan.width) * size).all())
        ok &= not ((grouped[:, :, 0] + (view.alloc.offset or 0)) % bytes_).any()
        what, text = "vector accesses", f"{plan.width} elements at once"
    ok &= view.alloc.stages == 1 or view.alloc.stage_bytes % bytes_ == 0
    verdict = Verdict.PROVED if ok else Verdict.REFUTED
    place.report(
        "AG0320",
        f"{what} in shared memory are aligned and contiguous",
        op.span,
        Agreement(verdict, "enumeration", "", place.scope.some_point()),
        f"{what} in shared memory that are not aligned or not contiguous",
        text,
    )
