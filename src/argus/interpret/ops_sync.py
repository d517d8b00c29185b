"""Barriers, syncs and fences."""

from __future__ import annotations

from typing import assert_never

from argus.interpret.events import (
    BarrierWaiting,
    ClusterWaiting,
    NamedBarrier,
    RegistersWaiting,
    SyncWaiting,
)
from argus.interpret.machine import Steps, ThreadGroup, Visit
from argus.ir import ops as o
from argus.isa.effects import effects_of
from argus.isa.registers import WARPGROUP

__all__ = ["SyncOp", "run"]

SyncOp = (
    o.BarrierExpect | o.BarrierArrive | o.BarrierWait | o.Sync | o.ClusterSync
    | o.Fence | o.SetMaxRegisters
)  # fmt: skip


def run(group: ThreadGroup, op: SyncOp) -> Steps:
    """Execute one operation, yielding what it waits for."""
    match op:
        case o.BarrierExpect():
            barrier = group.barrier(op.barrier)
            if barrier is not None:
                given = group.known.release("role")
                barrier.expect(group, group.integer(op.bytes), given)
        case o.BarrierArrive():
            _arrive(group, op)
        case o.BarrierWait():
            yield from _wait(group, op)
        case o.Sync():
            yield from _sync(group, op)
        case o.ClusterSync():
            yield from _meet_cluster(group)
        case o.Fence():
            if effects_of(op).fence == "async":
                group.block.shared.proxies.fence(group)
        case o.SetMaxRegisters():
            yield from _set_registers(group, op)
        case _:
            assert_never(op)


def _set_registers(group: ThreadGroup, op: o.SetMaxRegisters) -> Steps:
    """All warps of the role's warpgroups give registers back, or wait for more."""
    more = op.count - group.registers
    if (more > 0 and not op.grow) or (more < 0 and op.grow):
        way = "raises" if op.grow else "lowers"
        group.fault(
            "registers",
            f"setmaxnreg {way} the registers of a thread from {group.registers} to"
            f" {op.count}",
        )
        return
    warps = -(-group.warps // WARPGROUP) * WARPGROUP
    waiting = RegistersWaiting(group.block.registers, group.lanes * warps * more)
    while not waiting.ready():
        yield waiting
    group.block.registers.free -= waiting.wanted
    group.registers = op.count


def _arrive(group: ThreadGroup, op: o.BarrierArrive) -> None:
    match op.per:
        case "role":
            count = 1
        case "warpgroup":
            count = max(group.warps // WARPGROUP, 1)
        case "warp":
            count = group.warps
        case "thread":
            count = group.threads
        case _:
            assert_never(op.per)
    given = group.known.release(op.per)
    blocks = group.cluster.blocks if op.cluster else [group.block]
    for block in blocks:
        barrier = group.barrier(op.barrier, block)
        if barrier is None:
            continue
        phase = barrier.completed + 1
        barrier.arrive(group, count, given)
        if block is not group.block:
            known = group.known
            # The block waited for the phase, or for this role itself later on.
            proofs = ((barrier.agent, phase), (known.agent, known.now))
            block.visits.append(Visit(group, op, proofs, "an arrival"))


def _wait(group: ThreadGroup, op: o.BarrierWait) -> Steps:
    barrier = group.barrier(op.barrier)
    if barrier is None:
        return
    n = group.integer(op.n)
    if n < -1:
        group.fault("barrier", f"a wait for completion {n} of {barrier.name}")
        return
    waiting = BarrierWaiting(barrier, n)
    while not waiting.ready():
        yield waiting
    latest = barrier.completed - 1
    if latest != n:
        group.fault(
            "barrier",
            f"a wait for completion {n} of {barrier.name} finds completion {latest}:"
            " the parity of the two cannot be told apart"
            if (latest - n) % 2 == 0
            else f"a wait for completion {n} of {barrier.name} comes after completion"
            f" {latest}, whose parity makes the hardware wait for one more",
        )
    group.known.acquire(barrier.clock)


def _sync(group: ThreadGroup, op: o.Sync) -> Steps:
    if op.barrier is None and op.threads != group.threads:
        raise ValueError(f"line {op.span.line}: a sync between roles has no barrier")
    if op.threads == group.threads and not op.arrive_only:
        group.known.synchronise()
        return
    assert op.barrier is not None
    barrier = group.block.named_barrier(op.barrier)
    if op.arrive_only:
        barrier.arrive(group, group.threads, op.threads)
        return
    yield from _meet(group, barrier, op.threads)


def _meet(group: ThreadGroup, barrier: NamedBarrier, threads: int) -> Steps:
    group.known.synchronise()
    generation = barrier.generation
    barrier.arrive(group, group.threads, threads)
    waiting = SyncWaiting(barrier, generation)
    while not waiting.ready():
        yield waiting
    group.known.acquire(barrier.clock)


def _meet_cluster(group: ThreadGroup) -> Steps:
    barrier = group.cluster.barrier
    group.known.synchronise()
    generation = barrier.generation
    barrier.arrive(group, group.cluster.groups)
    waiting = ClusterWaiting(barrier, generation)
    while not waiting.ready():
        yield waiting
    group.known.acquire(barrier.clock)
