"""Which operations have a place in the order of events, and what decides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.memory import BarrierRef
from argus.ir.placement import TmaPlan
from argus.ir.walk import blocks
from argus.isa.effects import effects_of

__all__ = [
    "barrier_of",
    "branches_of",
    "decisions",
    "event_expressions",
    "has_events",
    "loops_with_events",
]

_PASSIVE = o.Binding | o.RegisterOp | o.LoadGlobal | o.StoreGlobal | o.Annotation
"""Operations without a place in the order of events."""


def has_events(block: o.Block) -> bool:
    """Whether anything in a block has a place in the order of events."""
    for op in block.ops:
        match op:
            case o.For() | o.If() | o.Roles():
                if any(has_events(inner) for inner in blocks(op)):
                    return True
            case (
                o.Binding() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                if not isinstance(op, _PASSIVE):
                    return True
            case _:
                assert_never(op)
    return False


def loops_with_events(
    block: o.Block, around: tuple[o.For, ...] = ()
) -> Iterator[tuple[o.For, tuple[o.For, ...]]]:
    """Loops with events, and the loops around each, outermost first."""
    for op in block.ops:
        inside = around
        if isinstance(op, o.For):
            if not has_events(op.body):
                continue
            yield op, around
            inside = (*around, op)
        for inner in blocks(op):
            yield from loops_with_events(inner, inside)


def branches_of(
    block: o.Block, around: tuple[o.For, ...] = ()
) -> Iterator[tuple[o.If, tuple[o.For, ...]]]:
    """Branches in loops with events or in none, and the loops around each."""
    for op in block.ops:
        inside = around
        if isinstance(op, o.For):
            if not has_events(op.body):
                continue
            inside = (*around, op)
        if isinstance(op, o.If):
            yield op, around
        for inner in blocks(op):
            yield from branches_of(inner, inside)


def decisions(block: o.Block) -> Iterator[Expr]:
    """What decides how often loops iterate, and which branches are taken.

    Of those with events, and of those that leave scalars.
    """
    for op in block.ops:
        match op:
            case o.For() if op.scalars or has_events(op.body):
                yield from (op.start, op.stop, op.step)
            case o.If() if op.scalars or has_events(o.Block([op])):
                yield op.cond
            case (
                o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
        for inner in blocks(op):
            yield from decisions(inner)


def barrier_of(op: o.AnyOp) -> tuple[BarrierRef, Expr | None] | None:
    """The barrier that an operation names, and which completion it waits for."""
    match op:
        case o.BarrierWait():
            return op.barrier, op.n
        case o.CopyAsync() if op.barrier is not None:
            return op.barrier, None
        case o.CpAsyncArrive() | o.BarrierArrive() | o.BarrierExpect():
            return op.barrier, None
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Commit() | o.GroupWait() | o.Sync() | o.ClusterSync()
            | o.Fence() | o.SetMaxRegisters() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)


def event_expressions(op: o.AnyOp) -> list[Expr]:
    """What decides the bytes, the barrier or the phase of an operation."""
    views = [touch.view for touch in effects_of(op).touches]
    where = [e for v in views for e in (v.stage, *v.origin)]
    match op:
        case o.CopyAsync():
            index = [op.barrier.index] if op.barrier is not None else []
            boxes = op.plan.boxes if isinstance(op.plan, TmaPlan) else ()
            return [*where, *index, *(b.offset for b in boxes)]
        case o.CopyOut():
            boxes = op.plan.boxes if op.plan is not None else ()
            return [*where, *(b.offset for b in boxes)]
        case o.CpAsyncArrive() | o.BarrierArrive():
            return [op.barrier.index]
        case o.BarrierExpect():
            return [op.barrier.index, op.bytes]
        case o.BarrierWait():
            return [op.barrier.index, op.n]
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Commit() | o.GroupWait() | o.Sync() | o.ClusterSync() | o.Fence()
            | o.SetMaxRegisters() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return where
        case _:
            assert_never(op)
