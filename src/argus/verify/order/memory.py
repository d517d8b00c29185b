"""Operations on shared memory, as they are walked: whose access it is, and what of it.

Ordinary accesses, `cp.async`, TMA copies and stores, matrix products, and the waits for
those that complete in groups.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import SharedView
from argus.ir.placement import TmaPlan, VectorPlan, WgmmaPlan
from argus.isa import wgmma
from argus.isa.boxes import box_bytes
from argus.isa.effects import Touch
from argus.isa.registers import WARPGROUP
from argus.verify.order import barriers, registers
from argus.verify.order.accesses import access
from argus.verify.order.async_groups import Queue
from argus.verify.order.clock import CAUSE, ORDER
from argus.verify.order.finding import report
from argus.verify.order.footprint import Footprint, OutOfModel
from argus.verify.order.machine import Machine
from argus.verify.order.state import GroupState, Kind, units

__all__ = ["commit", "copies_arrive", "copy", "generic", "product", "store", "wait"]

CommitOp = o.WgmmaCommit | o.CopyOutCommit | o.CpAsyncCommit
GroupWaitOp = o.WgmmaWait | o.CopyOutWait | o.CpAsyncWait


def generic(
    machine: Machine, group: GroupState, op: o.LoadShared | o.StoreShared
) -> None:
    """An ordinary access by all threads of a group."""
    if op.plan is None:
        raise OutOfModel("an access to shared memory without a plan")
    footprint = machine.footprints.vector(op, op.plan, op.view, group.env)
    (touch,) = machine.effects.of(op).touches
    _touch(machine, group, op, touch, footprint, *_start(machine, group, touch))


def _start(machine: Machine, group: GroupState, touch: Touch) -> tuple[int, int]:
    """The moment by which an access is over, and what its group calls it."""
    if touch.over == "issue":
        return group.base, 0
    queue = group.queues[touch.over]
    return queue.issue(machine.moments), queue.issued


def _touch(
    machine: Machine,
    group: GroupState,
    op: o.AnyOp,
    touch: Touch,
    footprint: Footprint,
    base: int,
    number: int,
) -> None:
    """An access that the group itself starts, and itself waits for."""
    scope = machine.effects.of(op).scope
    kind = Kind(touch.proxy, touch.over, scope)
    fill = machine.fills.number(group, touch.view, touch.write)
    access(
        machine.findings, group, group.block, op, footprint, touch.view.alloc, fill,
        kind, touch.write, units(scope, group.warps), base, number,
    )  # fmt: skip


def product(machine: Machine, group: GroupState, op: o.Dot) -> None:
    """A matrix product; one with `mma.sync` has its operands in registers."""
    plan = op.plan
    if not isinstance(plan, WgmmaPlan):
        return
    if group.warps % WARPGROUP or group.first % WARPGROUP:
        report(
            machine.findings,
            "AG0419",
            group,
            op,
            f"wgmma by the {group.warps} warps from warp {group.first} on, which are no"
            " whole warpgroups",
            "not whole warpgroups",
        )
        return
    warpgroups = group.warps // WARPGROUP
    does = machine.effects.of(op)
    if not isinstance(op.b, SharedView):
        raise OutOfModel("wgmma with B in registers")
    if isinstance(op.a, SharedView) and plan.a is None:
        raise OutOfModel("a matrix operand in shared memory without descriptor")
    (*first, last) = does.reads
    sides = [("b", last, plan.b, plan.inst_n)]
    if plan.a is not None:
        sides += [("a", touch, plan.a, wgmma.ROWS) for touch in first]
    base, number = _start(machine, group, last)
    for side, touch, operand, rows in sides:
        footprint = machine.footprints.operand(
            op, side, operand, touch.view, group.env, rows, warpgroups
        )
        _touch(machine, group, op, touch, footprint, base, number)
    if not does.later:
        return
    know = group.know
    firsts = range(0, group.warps, WARPGROUP)
    causes = [know.any(CAUSE, slice(w, w + WARPGROUP)) for w in firsts]
    group.issue_causes.append((number, causes))
    registers.issue(machine.findings, group, op, does, number)


def commit(machine: Machine, group: GroupState, op: CommitOp) -> None:
    """Groups are closed of what was issued so far."""
    for kind in machine.effects.of(op).commits:
        if kind in group.queues:
            group.queues[kind].commit()
    if isinstance(op, o.CpAsyncCommit):
        group.recent.append(group.did(op, "closes a group of copies"))


def wait(machine: Machine, group: GroupState, op: GroupWaitOp) -> None:
    """Each warp knows its own operations to be complete, but those of some groups."""
    for kind in machine.effects.of(op).awaits:
        if kind in group.queues:
            _wait(group, group.queues[kind], op.pending)
    text = f"waits until at most {op.pending} groups are left"
    group.recent.append(group.did(op, text))


def _wait(group: GroupState, queue: Queue, pending: int) -> None:
    for base in queue.wait(pending):
        for part in (ORDER, CAUSE):
            if queue.scope == "elected":
                group.know.tell_first(part, base)
            else:
                group.know.learn(part, base, queue.units)
    if queue.scope == "warpgroup":
        _together(group, queue.covered)


def _together(group: GroupState, covered: int) -> None:
    """Four warps issue a product together (axiom "elected-arrival")."""
    latest = None
    while group.issue_causes and group.issue_causes[0][0] <= covered:
        latest = group.issue_causes.popleft()[1]
    if latest is not None:
        group.know.share(CAUSE, latest)


def copy(machine: Machine, group: GroupState, op: o.CopyAsync) -> None:
    """A copy to shared memory starts."""
    match op.plan:
        case TmaPlan():
            _tma(machine, group, op, op.plan)
        case VectorPlan():
            footprint = machine.footprints.vector(op, op.plan, op.dst, group.env)
            (touch,) = machine.effects.of(op).touches
            _touch(machine, group, op, touch, footprint, *_start(machine, group, touch))
        case None:
            raise OutOfModel("a copy without a plan")
        case _:
            assert_never(op.plan)


def _tma(machine: Machine, group: GroupState, op: o.CopyAsync, plan: TmaPlan) -> None:
    if op.barrier is None:
        raise OutOfModel("a TMA copy without a barrier")
    several = plan.multicast > 1
    receivers = machine.blocks[: plan.multicast] if several else [group.block]
    nbytes = box_bytes(plan.map.box, plan.map.tensor.dtype.bytes)
    footprints = machine.footprints.boxes(op, plan, op.dst, group.env)
    fill = machine.fills.number(group, op.dst, write=True)
    does = machine.effects.of(op)
    (touch,) = does.touches
    kind = Kind(touch.proxy, touch.over, does.scope)
    brought = [(b, machine.barrier(group, op.barrier, b)) for b in receivers]
    for block, barrier in brought:
        phase = barrier.completions[-1]
        for footprint in footprints:
            access(
                machine.findings, group, block, op, footprint, op.dst.alloc, fill,
                kind, True, 1, phase, barrier.completed, barrier,
            )  # fmt: skip
        group.sent[barrier] = (op, group.iteration, phase)
    for _, barrier in brought:
        for _ in footprints:
            barriers.bytes_land(machine.findings, group, op, barrier, nbytes)
    # Who finds the bytes knows that the copy was issued, not what comes after it.
    group.tick()


def store(machine: Machine, group: GroupState, op: o.CopyOut) -> None:
    """A TMA store starts to read shared memory."""
    if op.plan is None:
        raise OutOfModel("a TMA store without a plan")
    (touch,) = machine.effects.of(op).touches
    base, number = _start(machine, group, touch)
    for footprint in machine.footprints.boxes(op, op.plan, op.src, group.env):
        _touch(machine, group, op, touch, footprint, base, number)


def copies_arrive(machine: Machine, group: GroupState, op: o.CpAsyncArrive) -> None:
    """Every thread arrives once its copies so far have completed."""
    barrier = machine.barrier(group, op.barrier)
    for base in group.copies.bases[group.handed :]:
        group.copied |= group.ones << base
    copied = group.copied
    given = [copied, 0, group.know.any(CAUSE) | copied]
    group.handed = group.copies.issued
    sure = group.know.every(CAUSE)
    barriers.arrive(machine.findings, group, op, barrier, group.threads, given, sure)
    group.tick()
