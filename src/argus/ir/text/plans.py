"""The text of plans: what stands in brackets behind an operation.

The registers of an access are those of its tile, and a box is one of the tensor that
its operation moves; the text says so only where it is not so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.memory import GlobalTensor
from argus.ir.text.names import Names
from argus.ir.text.words import listed, quoted
from argus.layout import Fragment

__all__ = ["boxed", "copied", "plan_text", "planned_layout"]


def boxed(tensor_map: p.TensorMap) -> str:
    """What a tensor map says of its boxes."""
    steps = f" steps {listed(tensor_map.steps)}" if tensor_map.steps else ""
    return f"box {listed(tensor_map.box)}{steps} swizzle {tensor_map.swizzle}"


def planned_layout(op: o.AnyOp) -> Fragment | None:
    """The layout that a plan has if its text names none: that of the tile."""
    if isinstance(op, o.LoadGlobal | o.LoadShared):
        return op.result.layout
    return op.src.layout if isinstance(op, o.StoreGlobal | o.StoreShared) else None


def copied(op: o.AnyOp) -> GlobalTensor | None:
    """The tensor that the map of a plan is of if its text names none."""
    if isinstance(op, o.CopyAsync):
        return op.src.tensor
    return op.dst.tensor if isinstance(op, o.CopyOut) else None


def plan_text(op: o.AnyOp, names: Names) -> str:
    """The plan of an operation; nothing without one."""
    match op:
        case (
            o.Dot() | o.LoadGlobal() | o.StoreGlobal() | o.LoadShared()
            | o.StoreShared() | o.CopyAsync() | o.CopyOut()
        ):  # fmt: skip
            plan = op.plan
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Synchronisation()
            | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return ""
        case _:
            assert_never(op)
    match plan:
        case None:
            return ""
        case p.VectorPlan():
            unique = " unique" if plan.unique else ""
            own = plan.layout != planned_layout(op)
            layout = f" {names.layout(plan.layout)}" if own else ""
            return f"{plan.instruction} x{plan.width} * {plan.accesses}{unique}{layout}"
        case p.TmaPlan():
            own = plan.map.tensor != copied(op)
            tensor = f" of {quoted(plan.map.tensor.name)}" if own else ""
            boxes = " ".join(
                f"[{', '.join(map(names.expr, b.coords))}]@{names.part(b.offset)}"
                for b in plan.boxes
            )
            multicast = f" multicast {plan.multicast}" if plan.multicast != 1 else ""
            return (
                f"tma{tensor} {boxed(plan.map)}: {boxes}, {plan.bytes} bytes{multicast}"
            )
        case p.WgmmaPlan():
            a = "registers" if plan.a is None else _operand(plan.a)
            return (
                f"{plan.instruction} {plan.m_atoms}x{plan.n_atoms}x{plan.k_steps}"
                f" n {plan.inst_n} a: {a}; b: {_operand(plan.b)}"
            )
        case p.MmaPlan():
            return f"{plan.instruction} * {len(plan.steps)}"
        case _:
            assert_never(plan)


def _operand(x: p.MatrixOperand) -> str:
    major = "mn" if x.mn_major else "k"
    return (
        f"{major}-major swizzle {x.swizzle} leading {x.leading} stride {x.stride}"
        f" offsets {_offsets(x.offsets)}"
        + (f" warpgroup {x.warpgroup_stride}" if x.warpgroup_stride else "")
    )


def _offsets(rows: Iterable[Iterable[int]]) -> str:
    return listed(listed(row) for row in rows)
