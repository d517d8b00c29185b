"""Who waits for whom among the roles of a cluster: rings, barriers, named syncs.

Waiting is a condition that is asked again. Copies are complete when they are issued, so
that a barrier's bytes arrive with them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, assert_never

from argus.evaluation.tiles.endings import Stuck
from argus.interpret.numbers import Array
from argus.interpret.scalars import scalar_value
from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.memory import BarrierAlloc, BarrierRef, Ring, SharedAlloc
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa.registers import WARPGROUP

__all__ = [
    "BlockOrder",
    "ClusterOrder",
    "Env",
    "Meeting",
    "RoleState",
    "Steps",
    "SyncOp",
]

Steps = Generator[Callable[[], bool], None, None]
Env = dict[str, Any]
SyncOp = (
    o.RingAcquire | o.RingPublish | o.RingWait | o.RingRelease | o.BarrierExpect
    | o.BarrierArrive | o.BarrierWait | o.CpAsyncArrive | o.Sync | o.ClusterSync
)  # fmt: skip


@dataclass
class BarrierPhase:
    """An mbarrier: completions so far, and what the present phase still lacks."""

    arrivals: int
    completed: int = 0
    missing: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        self.missing = self.arrivals

    def change(self, arrivals: int, nbytes: int) -> None:
        """Arrivals and announced bytes; completes the phase when both are there."""
        self.missing -= arrivals
        self.bytes += nbytes
        if self.missing == 0 and self.bytes == 0:
            self.completed += 1
            self.missing = self.arrivals


@dataclass
class PublishedFills:
    """Fills that were published, and how often each was released."""

    consumers: int
    published: set[int] = field(default_factory=set[int])
    released: dict[int, int] = field(default_factory=dict[int, int])


@dataclass
class Meeting:
    """Where some meet: how many arrived, and completions."""

    arrived: int = 0
    completed: int = 0


class BlockOrder:
    """What the roles of a block share."""

    def __init__(self, program: Program) -> None:
        self.shared: dict[tuple[SharedAlloc, int], Array] = {}
        self.barriers: dict[tuple[BarrierAlloc, int], BarrierPhase] = {
            (alloc, i): BarrierPhase(alloc.arrivals)
            for alloc in program.barriers
            for i in range(alloc.count)
        }
        self.rings: dict[Ring, PublishedFills] = {}
        self.named: dict[str, Meeting] = {}


@dataclass
class RoleState:
    """One sequence of operations: its values of tiles and scalars."""

    block: BlockOrder
    warps: int
    env: Env
    tiles: dict[o.Tile, Array]


class ClusterOrder:
    """Waits and arrivals in a cluster of blocks."""

    def __init__(self, program: Program, blocks: list[BlockOrder]) -> None:
        self.blocks = blocks
        self.consumers = _consumers(program)
        self.lanes = program.target.warp_threads
        self.met = Meeting()

    def barrier(self, role: RoleState, ref: BarrierRef) -> BarrierPhase:
        """The mbarrier of a role's block that a reference names. Raises Stuck."""
        index = int(scalar_value(ref.index, role.env))
        found = role.block.barriers.get((ref.alloc, index))
        if found is None:
            count = ref.alloc.count
            raise Stuck(f"{ref.alloc.name} has {count}, not number {index}")
        return found

    def run(self, role: RoleState, op: SyncOp, roles: int) -> Steps:
        """Execute one operation; ``roles`` are running in all blocks."""

        def number(e: Expr) -> int:
            return int(scalar_value(e, role.env))

        match op:
            case o.RingAcquire():
                fills, before = self._fills(role, op.ring), number(op.n)
                before -= op.ring.stages
                if before >= 0:
                    yield lambda: fills.released.get(before, 0) >= fills.consumers
            case o.RingPublish():
                self._fills(role, op.ring).published.add(number(op.n))
            case o.RingWait():
                fills, fill = self._fills(role, op.ring), number(op.n)
                yield lambda: fill in fills.published
            case o.RingRelease():
                released, fill = self._fills(role, op.ring).released, number(op.n)
                released[fill] = released.get(fill, 0) + 1
            case o.BarrierExpect():
                self.barrier(role, op.barrier).change(1, number(op.bytes))
            case o.BarrierArrive():
                self._arrive(role, op, number(op.barrier.index))
            case o.CpAsyncArrive():
                self.barrier(role, op.barrier).change(self.lanes * role.warps, 0)
            case o.BarrierWait():
                barrier, n = self.barrier(role, op.barrier), number(op.n)
                yield lambda: barrier.completed > n
            case o.Sync():
                if op.name is not None:
                    met = role.block.named.setdefault(op.name, Meeting())
                    yield from _meet(
                        met, self.lanes * role.warps, op.threads, op.arrive_only
                    )
            case o.ClusterSync():
                yield from _meet(self.met, 1, roles, False)
            case _:
                assert_never(op)

    def _arrive(self, role: RoleState, op: o.BarrierArrive, index: int) -> None:
        match op.per:
            case "role":
                count = 1
            case "warpgroup":
                count = max(role.warps // WARPGROUP, 1)
            case "warp":
                count = role.warps
            case "thread":
                count = self.lanes * role.warps
        for block in self.blocks if op.cluster else [role.block]:
            block.barriers[op.barrier.alloc, index].change(count, 0)

    def _fills(self, role: RoleState, ring: Ring) -> PublishedFills:
        if ring not in role.block.rings:
            role.block.rings[ring] = PublishedFills(self.consumers.get(ring, 1))
        return role.block.rings[ring]


def _meet(met: Meeting, arriving: int, everyone: int, only: bool) -> Steps:
    phase = met.completed
    met.arrived += arriving
    if met.arrived >= everyone:
        met.arrived = 0
        met.completed += 1
    if not only:
        yield lambda: met.completed > phase


def _consumers(program: Program) -> dict[Ring, int]:
    """How many roles release each ring."""
    found: dict[Ring, int] = {}
    bodies = [program.body]
    for op in program.body.ops:
        if isinstance(op, o.Roles):
            bodies = [role.body for role in op.roles]
    for body in bodies:
        for ring in {x.ring for x in walk(body) if isinstance(x, o.RingRelease)}:
            found[ring] = found.get(ring, 0) + 1
    return found
