"""Operations on shared memory, as they are walked: whose access it is, and what of it.

Ordinary accesses, `cp.async`, TMA copies and stores, matrix products, and the waits for
those that complete in groups.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.ir.memory import SharedView
from argus.ir.placement import TmaPlan, VectorPlan, WgmmaPlan
from argus.isa.boxes import box_bytes
from argus.isa.registers import WARPGROUP
from argus.verify.order import barriers, registers
from argus.verify.order.accesses import access, report
from argus.verify.order.async_groups import Queue
from argus.verify.order.clock import CAUSE, ORDER
from argus.verify.order.footprint import OutOfModel
from argus.verify.order.machine import Machine
from argus.verify.order.state import GroupState

__all__ = ["copies_arrive", "copy", "generic", "product", "store", "wait"]


def generic(
    machine: Machine,
    group: GroupState,
    op: o.LoadShared | o.StoreShared,
    write: bool,
) -> None:
    """An ordinary access by all threads of a group."""
    if op.plan is None:
        raise OutOfModel("an access to shared memory without a plan")
    footprint = machine.footprints.vector(op, op.plan, op.view, group.env)
    fill = machine.fills.number(group, op.view, write)
    access(
        machine.findings, group, group.block, op, footprint, op.view.alloc, fill,
        "generic", write, group.warps, group.base, 0,
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
    base = group.products.issue(machine.moments)
    count = group.products.issued
    sides = [("b", op.b, plan.b, plan.inst_n)]
    if isinstance(op.a, SharedView):
        if plan.a is None:
            raise OutOfModel("a matrix operand in shared memory without descriptor")
        sides.append(("a", op.a, plan.a, 64))
    for side, view, operand, rows in sides:
        if not isinstance(view, SharedView):
            raise OutOfModel("wgmma with B in registers")
        footprint = machine.footprints.operand(
            op, side, operand, view, group.env, rows, warpgroups
        )
        fill = machine.fills.number(group, view, write=False)
        access(
            machine.findings, group, group.block, op, footprint, view.alloc, fill,
            "wgmma", False, warpgroups, base, count,
        )  # fmt: skip
    know = group.know
    firsts = range(0, group.warps, WARPGROUP)
    causes = [know.any(CAUSE, slice(w, w + WARPGROUP)) for w in firsts]
    group.issue_causes.append((count, causes))
    registers.issue(machine.findings, group, op, count)


def wait(group: GroupState, queue: Queue, pending: int) -> None:
    """Each warp knows its own operations of a queue to be complete, but ``pending``."""
    for base in queue.wait(pending):
        for part in (ORDER, CAUSE):
            if queue is group.stores:
                group.know.tell_first(part, base)
            else:
                group.know.learn(part, base, queue.units)
    assert group.op is not None
    text = f"waits until at most {pending} groups are left"
    group.recent.append(group.did(group.op, text))
    if queue is group.products:
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
            fill = machine.fills.number(group, op.dst, write=True)
            base = group.copies.issue(machine.moments)
            access(
                machine.findings, group, group.block, op, footprint, op.dst.alloc, fill,
                "cp", True, group.warps, base, group.copies.issued,
            )  # fmt: skip
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
    brought = [(b, machine.barrier(group, op.barrier, b)) for b in receivers]
    for block, barrier in brought:
        phase = barrier.completions[-1]
        for footprint in footprints:
            access(
                machine.findings, group, block, op, footprint, op.dst.alloc, fill,
                "tma", True, 1, phase, barrier.completed, barrier,
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
    base = group.stores.issue(machine.moments)
    fill = machine.fills.number(group, op.src, write=False)
    for footprint in machine.footprints.boxes(op, op.plan, op.src, group.env):
        access(
            machine.findings, group, group.block, op, footprint, op.src.alloc, fill,
            "store", False, 1, base, group.stores.issued,
        )  # fmt: skip


def copies_arrive(machine: Machine, group: GroupState, op: o.CpAsyncArrive) -> None:
    """Every thread arrives once its copies so far have completed."""
    barrier = machine.barrier(group, op.barrier)
    copied = 0
    for base in group.copies.bases:
        copied |= group.ones << base
    given = [copied, 0, group.know.any(CAUSE) | copied]
    group.handed = group.copies.issued
    sure = group.know.every(CAUSE)
    barriers.arrive(machine.findings, group, op, barrier, group.threads, given, sure)
    group.tick()
