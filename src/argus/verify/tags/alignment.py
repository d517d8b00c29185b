"""Alignment of vector accesses and the rules of TMA, for all admitted sizes.

What divides a coordinate or a stride is read off the expression and the divisibility
that every launch checks (`Program.requirements`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, divisor
from argus.ir.memory import GlobalTensor, GlobalView, SharedView
from argus.ir.placement import TmaPlan, VectorPlan
from argus.ir.program import Program
from argus.isa.boxes import violations
from argus.verify.decide import Decision
from argus.verify.tags.compare import Agreement
from argus.verify.tags.place import WalkPlace
from argus.verify.tags.spread import ViewCoordinates
from argus.verify.tags.values import Coord
from argus.verify.verdict import Verdict

__all__ = ["check_box", "check_vectors", "divisors"]


def divisors(program: Program) -> dict[str, int]:
    """Powers of two that every launch checks to divide a symbol."""
    found: dict[str, int] = {}
    for requirement in program.requirements:
        match requirement.cond:
            case Binary(
                op="==",
                left=Binary(op="%", left=Sym(name=name), right=Const(value=int(d))),
                right=Const(value=0),
            ) if d > 0:
                found[name] = max(found.get(name, 1), d & -d)
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(requirement.cond)
    return found


def _aligned(program: Program, tensor: str) -> int:
    known = [a.bytes for a in program.alignments if a.tensor == tensor]
    return max(known, default=1)


def check_vectors(
    place: WalkPlace,
    op: o.AnyOp,
    plan: VectorPlan,
    view: GlobalView,
    placed: ViewCoordinates,
) -> None:
    """Elements of one access are contiguous, aligned, and all exist or none does."""
    if plan.width == 1:
        return
    tensor = view.tensor
    facts = divisors(place.world.program)
    size = tensor.dtype.bytes
    problem, doubt = "", None
    inner = placed.coords[-1]
    if not isinstance(inner, Coord):
        problem = "the innermost coordinate is not affine"
    else:
        grouped = inner.offs.reshape(inner.offs.shape[0], -1, plan.width)
        steps = grouped - grouped[:, :, :1]
        if not (steps == np.arange(plan.width)).all():
            problem = "its elements are not contiguous"
        elif (grouped[:, :, 0] % plan.width).any():
            problem = f"it does not begin at a multiple of {plan.width} in its row"
        elif doubt := _not_divided(place, inner.base, facts, plan.width):
            problem = f"its row offset is not known to be a multiple of {plan.width}"
        elif divisor(place.close(tensor.shape[-1]), facts) % plan.width:
            problem = f"rows of {tensor.name} may end inside of it"
    for outer, stride in zip(placed.coords[:-1], tensor.strides[:-1], strict=True):
        if isinstance(outer, Coord):
            grouped = outer.offs.reshape(outer.offs.shape[0], -1, plan.width)
            if (grouped != grouped[:, :, :1]).any():
                problem = problem or "its elements lie in several rows"
        if divisor(stride, facts) % plan.width:
            problem = problem or f"a stride of {tensor.name} is not a multiple of it"
    if _aligned(place.world.program, tensor.name) % (plan.width * size):
        problem = problem or f"the pointer of {tensor.name} is not known to be aligned"
    what = f"vectors of {plan.width} elements of {tensor.name}"
    _report(place, op, problem, what, doubt)


def check_box(
    place: WalkPlace,
    op: o.AnyOp,
    plan: TmaPlan,
    bases: Sequence[Expr],
    view: GlobalView,
    shared: SharedView,
    offset: int,
) -> bool:
    """The rules of a TMA box that hold or not for all sizes; False: reported."""
    tensor, alloc = view.tensor, shared.alloc
    facts = divisors(place.world.program)
    size = tensor.dtype.bytes
    steps = plan.map.steps
    broken = violations(plan.map.box, size, plan.map.swizzle, steps=steps)
    unit = max(8 * plan.map.swizzle, 128)
    base = (alloc.offset or 0) + offset
    if base % unit or (alloc.stages > 1 and alloc.stage_bytes % unit):
        broken.append(f"its address is not a multiple of {unit} bytes")
    doubt = _not_divided(place, bases[-1], facts, 16 // gcd(16, size))
    if doubt is not None:
        broken.append("its first column is not known to begin a 16-byte chunk")
    if any(divisor(s, facts) * size % 16 for s in tensor.strides[:-1]):
        broken.append(f"a stride of {tensor.name} is not known to be 16-byte aligned")
    if _aligned(place.world.program, tensor.name) % 16:
        broken.append(f"the pointer of {tensor.name} is not known to be aligned")
    if isinstance(op, o.CopyOut):
        if divisor(_extent(place, tensor), facts) * size % 16:
            broken.append(f"rows of {tensor.name} may end inside a 16-byte chunk")
        for b in bases:
            below = place.scope.decide(binary(">=", b, 0))
            if below.verdict is not Verdict.PROVED:
                broken.append("a store may begin below 0")
                break
    alone = doubt if len(broken) == 1 else None
    _report(place, op, "; ".join(broken), f"a TMA box of {tensor.name}", alone)
    return not broken


def _extent(place: WalkPlace, tensor: GlobalTensor) -> Expr:
    return place.close(tensor.shape[-1])


def _not_divided(
    place: WalkPlace, e: Expr, facts: Mapping[str, int], number: int
) -> Decision | None:
    """What is decided of a multiple of a number; None where it is known to be one."""
    if divisor(e, facts) % number == 0:
        return None
    found = place.scope.decide(binary("==", binary("%", e, number), 0))
    return None if found.verdict is Verdict.PROVED else found


def _report(
    place: WalkPlace,
    op: o.AnyOp,
    problem: str,
    what: str,
    doubt: Decision | None = None,
) -> None:
    """``doubt``: what is decided of a multiple where that is the problem."""
    verdict = Verdict.REFUTED if problem else Verdict.PROVED
    model = place.scope.some_point() if problem else {}
    if doubt is not None and doubt.verdict is Verdict.UNKNOWN:
        verdict, model = Verdict.UNKNOWN, {}
    place.report(
        "AG0320",
        f"{what} keep the rules of alignment",
        op.span,
        Agreement(verdict, "divisors", problem, model),
        f"{what}: {problem}",
        problem,
    )
