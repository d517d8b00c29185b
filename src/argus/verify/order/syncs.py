"""Arrivals and waits of groups of threads, as they are walked.

What is wrong with one is `barriers.py`'s to say.
"""

from __future__ import annotations

from typing import assert_never

from argus.ir import ops as o
from argus.isa.registers import WARPGROUP
from argus.verify.order import barriers
from argus.verify.order.barrier_state import Waiting
from argus.verify.order.clock import CAUSE
from argus.verify.order.footprint import OutOfModel
from argus.verify.order.machine import Machine
from argus.verify.order.state import GroupState, Steps

__all__ = ["arrive", "cluster", "expect", "sync", "wait"]


def arrive(machine: Machine, group: GroupState, op: o.BarrierArrive) -> None:
    """Some threads of a group arrive at a barrier, of every block perhaps."""
    match op.per:
        case "role":
            rows, count = slice(0, 1), 1
        case "warpgroup":
            rows, count = slice(0, None, WARPGROUP), max(group.warps // WARPGROUP, 1)
        case "warp":
            rows, count = slice(None), group.warps
        case "thread":
            rows, count = slice(None), group.threads
        case _:
            assert_never(op.per)
    given = group.know.clock(rows)
    sure = group.know.every(CAUSE, rows)
    group.releases.append((group.base, op, group.iteration))
    for block in machine.blocks if op.cluster else (group.block,):
        barrier = machine.barrier(group, op.barrier, block)
        if block is not group.block:
            phase = barrier.completions[-1]
            group.reached[barrier] = (op, group.iteration, phase, group.now)
        barriers.arrive(machine.findings, group, op, barrier, count, given, sure)
    group.tick()


def expect(machine: Machine, group: GroupState, op: o.BarrierExpect) -> None:
    """One thread arrives and announces bytes."""
    barrier = machine.barrier(group, op.barrier)
    nbytes = machine.integer(group, op.bytes)
    barriers.expect(machine.findings, group, op, barrier, nbytes)
    group.tick()


def wait(machine: Machine, group: GroupState, op: o.BarrierWait) -> Steps:
    """All warps of a group wait for a completion."""
    barrier = machine.barrier(group, op.barrier)
    n = machine.integer(group, op.n)
    return barriers.wait(machine.findings, group, op, barrier, n)


def sync(machine: Machine, group: GroupState, op: o.Sync) -> Steps:
    """All threads of a group, or those that a named barrier counts."""
    if op.barrier is None:
        if op.threads != group.threads:
            raise OutOfModel("a sync between roles without a barrier")
        group.know.meet(group.know.clock())
        group.tick()
        group.recent.append(group.did(op, "meets at a sync"))
        return
    named = group.block.named
    if op.barrier not in named:
        word = f"`{op.name}`" if op.name else str(op.barrier)
        named[op.barrier] = machine.threads_barrier(f"named barrier {word}")
    yield from barriers.meet(
        machine.findings,
        group,
        op,
        named[op.barrier],
        op.threads,
        waits=not op.arrive_only,
    )


def cluster(machine: Machine, group: GroupState, op: o.ClusterSync) -> Steps:
    """All threads of the cluster that have not ended."""
    barrier = machine.cluster
    round_ = barrier.completed
    barrier.contribute(group.know.clock())
    group.recent.append(group.did(op, "arrives at the cluster's barrier"))
    group.releases.append((group.base, op, group.iteration))
    machine.arrived.add(group)
    machine.release_cluster()
    waiting = Waiting(op, barrier, round_)
    while not waiting.ready():
        yield waiting
    group.know.meet(barrier.clock)
    group.tick()
