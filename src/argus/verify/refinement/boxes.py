"""Asynchronous copies: what they write where is what their views name.

A TMA copy is a list of boxes. Its boxes, those of all blocks of a multicast together,
must bring each element of the shared view once, from the place in the tensor that the
global view gives it. A coordinate of a view that TMA can copy is a start plus one axis
of the tile, or a digit of one; equality of starts is decided for all sizes
(`verify/decide`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.divisors import Facts
from argus.ir.expr import Const, Expr, axis, binary, evaluate, substitute, symbols
from argus.ir.memory import GlobalView, SharedView
from argus.ir.placement import TmaBox, TmaPlan, VectorPlan
from argus.ir.program import CLUSTER_RANK
from argus.isa.boxes import box_offsets
from argus.verify.decide import equal
from argus.verify.refinement.gaps import Gap
from argus.verify.refinement.shared_tiles import elements_at, fixed_view, vector_gap
from argus.verify.verdict import Verdict

__all__ = ["copy_gaps"]

_NUMBERS = (0, 1, 1 << 20)
"""What symbols are where steps are counted, one after the other."""


@dataclass(frozen=True)
class Steps:
    """How far a coordinate is from its first one, for each element of a tile axis."""

    axis: int | None
    steps: NDArray[np.int64]


def copy_gaps(op: o.CopyAsync | o.CopyOut, cluster: int, facts: Facts) -> list[Gap]:
    """What is not shown of a copy; ``cluster``: blocks of a cluster.

    ``facts``: what divides scalars.
    """
    match op.plan:
        case VectorPlan():
            assert isinstance(op, o.CopyAsync)
            reason = vector_gap(op.plan, op.dst, facts)
            return [Gap(op.span, *reason)] if reason else []
        case TmaPlan():
            views = (op.dst, op.src) if isinstance(op, o.CopyOut) else (op.src, op.dst)
            reason = _boxes(op.plan, *views, cluster)
            return [Gap(op.span, *reason)] if reason else []
        case None:
            return [Gap(op.span, "a copy without a plan")]


def _boxes(
    plan: TmaPlan, view: GlobalView, shared: SharedView, cluster: int
) -> tuple[str, bool] | None:
    """Why the boxes are not shown to be the view; the second value: they are not."""
    fixed = fixed_view(shared)
    if fixed is None:
        return (
            f"a view of {shared.alloc.name} with an origin that is not constant",
            False,
        )
    if view.limits or view.gathers:
        return "a view with limits or gathered coordinates", False
    if plan.multicast not in (1, cluster):
        return f"a copy for {plan.multicast} of {cluster} blocks", False
    ranks: list[Mapping[str, Expr]] = [{}]
    if plan.multicast > 1:
        if any(s.name == CLUSTER_RANK.name for c in view.coords for s in symbols(c)):
            return "a multicast of a view that depends on the block", False
        ranks = [{CLUSTER_RANK.name: Const(r)} for r in range(plan.multicast)]
    axes = _axes(view)
    if axes is None:
        return "a coordinate that is no start plus steps along an axis", False
    brought = np.zeros(view.shape, np.int64)
    for rank in ranks:
        for box in plan.boxes:
            why = _box(plan, box, view, fixed, rank, axes, brought)
            if why is not None:
                return why
    if (brought != 1).any():
        return "the boxes do not bring each element once", True
    return None


def _axes(view: GlobalView) -> list[Steps] | None:
    """How each coordinate moves with an axis of the tile.

    None where a coordinate depends on the tile in another way.
    """
    found: list[Steps] = []
    for coord in view.coords:
        mine = {s.name for s in symbols(coord) if s.kind == "axis"}
        if not mine:
            found.append(Steps(None, np.zeros(1, np.int64)))
            continue
        number = next(i for i in range(len(view.shape)) if axis(i).name in mine)
        steps = None if len(mine) > 1 else _steps(coord, number, view.shape[number])
        if steps is None:
            return None
        found.append(steps)
    return found


def _steps(coord: Expr, number: int, size: int) -> Steps | None:
    """How far a coordinate is from its first, for each element along an axis."""
    name = axis(number).name
    start = substitute(coord, {name: Const(0)})
    if _same(coord, binary("+", start, axis(number))):
        return Steps(number, np.arange(size, dtype=np.int64))
    steps = _sampled(coord, start, name, size)
    if steps is None:
        return None
    for n, step in enumerate(steps):
        moved = binary("+", start, int(step))
        if not _same(substitute(coord, {name: Const(n)}), moved):
            return None
    return Steps(number, steps)


def _same(left: Expr, right: Expr) -> bool:
    """Whether two expressions are equal for all sizes.

    In the same words they are, also where they divide by what may be 0.
    """
    return left == right or equal(left, right).verdict is Verdict.PROVED


def _sampled(coord: Expr, start: Expr, name: str, size: int) -> np.ndarray | None:
    """The same where all else is one number; None where that divides by 0."""
    for number in _NUMBERS:
        others = {s.name: number for s in symbols(start)}
        with suppress(ZeroDivisionError):
            first = int(evaluate(start, others))
            at = (int(evaluate(coord, {**others, name: n})) for n in range(size))
            return np.array([n - first for n in at], np.int64)
    return None


def _box(
    plan: TmaPlan,
    box: TmaBox,
    view: GlobalView,
    shared: SharedView,
    rank: Mapping[str, Expr],
    axes: list[Steps],
    brought: np.ndarray,
) -> tuple[str, bool] | None:
    """Count what one box brings; a reason where it brings something else."""
    offset = substitute(box.offset, rank)
    if any(True for _ in symbols(offset)):
        return "a box at a place that is not constant", False
    start, extents = int(evaluate(offset, {})), plan.map.box
    if start % max(8 * plan.map.swizzle, 1):
        return "a box that begins inside a swizzle", True
    offsets = box_offsets(extents, view.dtype.bytes, plan.map.swizzle) + start
    elements = elements_at(shared, offsets)
    if elements is None:
        return f"a box leaves the view of {shared.alloc.name}", True
    steps = np.indices(extents, dtype=np.int64)
    first = {
        axis(i).name: Const(int(x))
        for i, x in enumerate(elements.reshape(-1, len(view.shape))[0])
    }
    origin = elements[(0,) * len(extents)]
    for d, (coord, along) in enumerate(zip(view.coords, axes, strict=True)):
        wanted = substitute(coord, first)
        if not _same(substitute(box.coords[d], rank), wanted):
            return (
                f"a box that is not shown to begin where {view.tensor.dims[d]} does",
                False,
            )
        if along.axis is None:
            moved = np.zeros(1, np.int64)
        else:
            moved = along.steps[elements[..., along.axis]]
            moved = moved - along.steps[origin[along.axis]]
        if (steps[d] * plan.map.all_steps[d] != moved).any():
            return f"a box runs otherwise along {view.tensor.dims[d]}", True
    np.add.at(brought, tuple(elements.reshape(-1, len(view.shape)).T), 1)
    return None
