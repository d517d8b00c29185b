"""Nobody can go on: who waits for what, and which rule that breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import Ring
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.verify.evidence import Event
from argus.verify.order import register_budgets
from argus.verify.order.barrier_state import BarrierState, Waiting
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.state import GroupState, Wanting

__all__ = ["explain"]


def explain(
    findings: OrderFindings,
    groups: Sequence[GroupState],
    everyone: Sequence[GroupState],
    program: Program,
) -> None:
    """Report a deadlock: at each wait that cannot return, or at its evident cause.

    ``groups`` are those that wait, ``everyone`` has those that have ended, too.
    """
    waiting = [(g, g.wait) for g in groups if isinstance(g.wait, Waiting)]
    wanting = [(g, g.wait) for g in groups if isinstance(g.wait, Wanting)]
    events = (
        *(e for g in everyone for e in g.loops_left()),
        *(event(g, w.op, f"waits for {_what(w)}", g.iteration) for g, w in waiting),
    )
    notes = tuple(f"{g.who}: {_state(w)}" for g, w in waiting)
    if wanting:
        # What the others wait for may be what these would do next.
        events += tuple(
            event(g, w.op, "waits for registers", g.iteration) for g, w in wanting
        )
        register_budgets.refused(findings, program, wanting, everyone, events, notes)
        return
    causes = [x for x in waiting if _bytes(findings, *x, events)]
    causes += [x for x in waiting if _starved(findings, *x, waiting, events, program)]
    if causes:
        return
    for group, wait in waiting:
        rule = _rule(group, wait, groups, program)
        report(
            findings,
            rule,
            group,
            wait.op,
            f"{group.who} waits here for {_what(wait)}, which never comes:"
            f" {_state(wait)}",
            "waits for ever",
            events=(
                *wait.barrier.arrivals[-2:],
                *events,
                *_missing(wait, program),
            ),
            notes=notes,
        )


def _missing(wait: Waiting, program: Program) -> Iterator[Event]:
    """Where somebody would arrive, or bring bytes."""
    bodies = [
        (role.name, role.body)
        for op in program.body.ops
        if isinstance(op, o.Roles)
        for role in op.roles
    ] or [("block", program.body)]
    seen: set[tuple[str, int]] = set()
    for name, body in bodies:
        for op in walk(body):
            if _completes(op, wait) and (name, op.span.line) not in seen:
                seen.add((name, op.span.line))
                yield Event(name, f"would complete {wait.barrier.name} here", op.span)


def _completes(op: o.AnyOp, wait: Waiting) -> bool:
    alloc = wait.barrier.alloc
    match op:
        case o.BarrierArrive() | o.BarrierExpect() | o.CpAsyncArrive():
            return op.barrier.alloc is alloc
        case o.CopyAsync():
            return op.barrier is not None and op.barrier.alloc is alloc
        case o.Sync():
            mine = wait.op
            return isinstance(mine, o.Sync) and op.barrier == mine.barrier
        case o.ClusterSync():
            return isinstance(wait.op, o.ClusterSync)
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.CopyOut() | o.Commit() | o.GroupWait() | o.BarrierWait() | o.Fence()
            | o.SetMaxRegisters() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)


def _what(wait: Waiting) -> str:
    if wait.barrier.alloc is None:
        return f"{wait.barrier.name}, round {wait.n}"
    return f"completion {wait.n} of {wait.barrier.name}"


def _state(wait: Waiting) -> str:
    b = wait.barrier
    if b.alloc is None:
        return f"{b.count - b.pending} of {b.count} threads have arrived"
    lacks = f"lacks {b.pending} of {b.count} arrivals"
    if b.tx:
        lacks += f" and {b.tx} bytes"
    return f"{b.completed} completions happened; the phase in progress {lacks}"


def _bytes(
    findings: OrderFindings, group: GroupState, wait: Waiting, events: tuple[Event, ...]
) -> bool:
    """All have arrived, but the bytes are not those that were expected."""
    barrier = wait.barrier
    if barrier.alloc is None or barrier.pending or not barrier.tx:
        return False
    told = barrier.expect
    more = "more" if barrier.tx > 0 else "fewer"
    op, where, when = (
        (wait.op, group, group.iteration) if told is None else (told[0], *told[1:])
    )
    report(
        findings,
        "AG0405",
        where,
        op,
        f"{barrier.name} expects {abs(barrier.tx)} bytes {more} than the copies bring,"
        " so that its phase never completes",
        f"{abs(barrier.tx)} bytes {more} than copied",
        iteration=when,
        events=(event(where, op, f"expects bytes on {barrier.name}", when), *events),
    )
    return True


def _starved(
    findings: OrderFindings,
    group: GroupState,
    wait: Waiting,
    waiting: Sequence[tuple[GroupState, Waiting]],
    events: tuple[Event, ...],
    program: Program,
) -> bool:
    """A role holds all slots of a ring, and releases one only after the next is full.

    With a stage more this would go on, unlike where a release is missing.
    """
    alloc = wait.barrier.alloc
    ring = next((r for r in program.rings if r.full is alloc), None)
    if alloc is None or ring is None:
        return False
    filling = any(
        w.barrier.alloc is ring.empty and w.barrier.pending == w.barrier.count
        for _, w in waiting
    )
    held = [group.block.barriers[alloc, i] for i in range(ring.stages)]
    if not (filling and all(_holds(group, b) for b in held)):
        return False
    if not _releases_later(wait, ring, program):
        return False
    stages = f"all {ring.stages} stages" if ring.stages > 1 else "its only stage"
    report(
        findings,
        "AG0418",
        group,
        wait.op,
        f"{group.who} waits here for one more slot of {ring.name}, while it holds"
        f" {stages}: it releases one only later, so that none can be filled",
        f"holds {stages}",
        events=(*wait.barrier.arrivals[-2:], *events),
        notes=(f"{ring.name} is made in line {ring.span.line}",),
        help=f"give it {ring.stages + 1} stages, or release a slot before this wait",
    )
    return True


def _holds(group: GroupState, full: BarrierState) -> bool:
    """Whether a slot was taken in this iteration of all loops but the innermost."""
    around = group.iteration[:-1]
    return any(
        w.group is group
        and w.n == full.completed - 1
        and w.iteration[: len(around)] == around
        for w in full.waits
    )


def _releases_later(wait: Waiting, ring: Ring, program: Program) -> bool:
    """Whether each iteration has one wait for a slot, and one release behind it."""
    for op in walk(program.body):
        for block in blocks(op):
            if wait.op not in block.ops:
                continue
            waits = [
                i
                for i, x in enumerate(block.ops)
                if isinstance(x, o.BarrierWait) and x.barrier.alloc is ring.full
            ]
            frees = [
                i
                for i, x in enumerate(block.ops)
                if isinstance(x, o.BarrierArrive) and x.barrier.alloc is ring.empty
            ]
            return (
                isinstance(op, o.For)
                and len(waits) == len(frees)
                and min(frees) > max(waits)
            )
    return False


def _rule(
    group: GroupState, wait: Waiting, groups: Sequence[GroupState], program: Program
) -> str:
    barrier = wait.barrier
    if barrier.alloc is None:
        if isinstance(wait.op, o.ClusterSync):
            return "AG0410"
        number = wait.op.barrier if isinstance(wait.op, o.Sync) else None
        live = {g.name for g in groups if g.block is group.block}
        users = {
            role.name
            for op in program.body.ops
            if isinstance(op, o.Roles)
            for role in op.roles
            for inner in walk(role.body)
            if isinstance(inner, o.Sync) and inner.barrier == number
        }
        if users - live:
            return "AG0410"
        here = {
            g.name for g in groups if g.block is group.block and _awaited(g) is barrier
        }
        return "AG0420" if users <= here else "AG0403"
    others = any(_awaited(g) not in (None, barrier) for g in groups)
    if 0 < barrier.pending < barrier.count and not others:
        return "AG0409"
    if 0 < barrier.pending < barrier.count:
        arriving = {
            id(g)
            for g in groups
            if _awaited(g) not in (None, barrier) and _arrives(g, program, wait)
        }
        # Those that arrive here wait for what this group would do next: the count.
        arrived = {e.group.who for e in barrier.arrivals}
        missing = [g for g in groups if id(g) in arriving and g.who not in arrived]
        return "AG0403" if missing else "AG0409"
    return "AG0403"


def _awaited(group: GroupState) -> BarrierState | None:
    return group.wait.barrier if isinstance(group.wait, Waiting) else None


def _arrives(group: GroupState, program: Program, wait: Waiting) -> bool:
    alloc = wait.barrier.alloc
    bodies = [
        role.body
        for op in program.body.ops
        if isinstance(op, o.Roles)
        for role in op.roles
        if role.name == group.name
    ] or [program.body]
    return any(
        isinstance(op, o.BarrierArrive | o.BarrierExpect | o.CpAsyncArrive)
        and op.barrier.alloc is alloc
        for body in bodies
        for op in walk(body)
    )
