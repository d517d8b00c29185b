"""Which operations have a place in the order of events, and what decides it."""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.memory import SharedView
from argus.ir.placement import TmaPlan
from argus.ir.walk import blocks

__all__ = ["event_expressions", "has_events"]

_PASSIVE = (
    o.Let | o.LoadScalar | o.Full | o.Index | o.Elementwise | o.Cast | o.Broadcast
    | o.Transpose | o.Reduce | o.Split | o.Slice | o.Scan | o.Reinterpret | o.Convert
    | o.LoadGlobal | o.StoreGlobal | o.Annotation
)  # fmt: skip
"""Operations without a place in the order of events."""


def has_events(block: o.Block) -> bool:
    """Whether anything in a block has a place in the order of events."""
    for op in block.ops:
        match op:
            case o.For() | o.If() | o.Roles():
                if any(has_events(inner) for inner in blocks(op)):
                    return True
            case _:
                if not isinstance(op, _PASSIVE):
                    return True
    return False


def event_expressions(op: o.AnyOp) -> list[Expr]:
    """What decides the bytes, the barrier or the phase of an operation."""

    def shared(v: SharedView) -> list[Expr]:
        return [v.stage, *v.origin]

    match op:
        case o.Dot():
            views = [x for x in (op.a, op.b) if isinstance(x, SharedView)]
            return [e for v in views for e in shared(v)]
        case o.LoadShared() | o.StoreShared():
            return shared(op.view)
        case o.CopyAsync():
            index = [op.barrier.index] if op.barrier is not None else []
            boxes = op.plan.boxes if isinstance(op.plan, TmaPlan) else ()
            return [*shared(op.dst), *index, *(b.offset for b in boxes)]
        case o.CopyOut():
            boxes = op.plan.boxes if op.plan is not None else ()
            return [*shared(op.src), *(b.offset for b in boxes)]
        case o.CpAsyncArrive() | o.BarrierArrive():
            return [op.barrier.index]
        case o.BarrierExpect():
            return [op.barrier.index, op.bytes]
        case o.BarrierWait():
            return [op.barrier.index, op.n]
        case _:
            return []
