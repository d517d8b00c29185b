"""Blocks, their roles, and the scheduler that runs them together.

The blocks of a cluster run together, clusters one after another. A block begins as one
group of all its threads; at `Roles` each role goes on as a group of its own. Groups are
generators that yield a wait (or None: "somebody else may go first"); between two steps
the scheduler may let an asynchronous operation complete.

Threads of a group run in lockstep: one numpy operation is one instruction of all of
them. What an operation does is in `ops_compute.py`, `ops_memory.py`, `ops_matrix.py`
and `ops_sync.py`; this file has control flow and scheduling only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argus.clock import now
from argus.interpret.errors import FaultKind, Faults, TimeOver
from argus.interpret.events import (
    Accumulator,
    AsyncOperation,
    AsyncQueue,
    ClockedBarrier,
    ClusterBarrier,
    NamedBarrier,
    RegisterPool,
    Wait,
    storage_key,
)
from argus.interpret.memory import GlobalArray, SharedMemory
from argus.interpret.numbers import Array, storage
from argus.interpret.order import AccessOrder, Clock, Clocks, GroupKnowledge
from argus.interpret.scalars import operand_value, scalar_value
from argus.ir import ops as o
from argus.ir.expr import Expr
from argus.ir.memory import BarrierRef
from argus.ir.program import Program
from argus.isa.effects import OpEffects
from argus.isa.record import Awaits, Completes
from argus.isa.registers import at_launch, held

__all__ = [
    "Cluster",
    "Schedule",
    "Steps",
    "ThreadBlock",
    "ThreadGroup",
    "Visit",
    "role_names",
]

Schedule = Literal["random", "in_order", "late"]
Steps = Generator[Wait | None, None, None]
_EARLY = 0.15
"""How often, under the random schedule, something in flight completes at a step."""


@dataclass(frozen=True)
class Visit:
    """An access to a block's shared memory that has to be over when the block ends.

    It is, if the block knows at its end one of `proofs`: the clock of an agent.
    """

    group: ThreadGroup
    op: o.AnyOp | None
    proofs: tuple[tuple[int, int], ...]
    what: str


class ThreadBlock:
    """One thread block: its shared memory and its barriers."""

    def __init__(
        self, cluster: Cluster, index: int, rank: int, env: dict[str, Any]
    ) -> None:
        program = cluster.program
        self.cluster = cluster
        self.index = index
        self.rank = rank
        self.env = env
        order = AccessOrder(
            program.shared_bytes,
            cluster.clocks,
            cluster.faults,
            program.target.warp_threads,
        )
        self.shared = SharedMemory(program.shared_bytes, cluster.faults, order)
        # Barriers are initialised, in all blocks of the cluster, before the program's
        # first operation: the prologue of every kernel does so and syncs.
        self.barriers = {
            (alloc, i): ClockedBarrier(alloc, i, cluster.clocks)
            for alloc in program.barriers
            for i in range(alloc.count)
        }
        self.named: dict[int, NamedBarrier] = {}
        self.registers = RegisterPool()
        self.end = cluster.clocks.zero()
        """What its groups know when they end."""
        self.visits: list[Visit] = []

    def named_barrier(self, number: int) -> NamedBarrier:
        """Hardware barrier `number` of this block."""
        if number not in self.named:
            name = f"named barrier {number}"
            self.named[number] = NamedBarrier(name, self.cluster.clocks)
        return self.named[number]


class ThreadGroup:
    """The threads that run one sequence of operations: a role, or the whole block."""

    def __init__(
        self,
        block: ThreadBlock,
        name: str,
        warps: int,
        env: dict[str, Any],
        seen: Clock,
        registers: int,
    ) -> None:
        self.block = block
        self.cluster = block.cluster
        self.name = name
        self.warps = warps
        self.lanes = block.cluster.program.target.warp_threads
        self.threads = self.lanes * warps
        self.first = 0
        """The first of its warps, counted from that of the block."""
        self.registers = registers
        """What each of its threads holds (setmaxnreg)."""
        self.env = env
        self.known = GroupKnowledge(self.cluster.clocks, name, warps, seen)
        self.op: o.AnyOp | None = None
        self.wait: Wait | None = None
        self.steps: Steps = iter_none()
        self.queues: defaultdict[Awaits, AsyncQueue] = defaultdict(AsyncQueue)
        """Asynchronous operations that complete in groups, by the kind of group."""
        self.product_count = 0
        self.store_count = 0
        self.operands: dict[object, AsyncOperation] = {}
        """Registers that a wgmma in flight reads."""
        self._tiles: dict[object, Array | Accumulator] = {}

    def fault(
        self,
        kind: FaultKind,
        message: str,
        *,
        op: o.AnyOp | None = None,
        thread: int | None = None,
        **details: object,
    ) -> None:
        """Record a fault of the current operation (or of `op`)."""
        self.cluster.faults.add(kind, self, message, op=op, thread=thread, **details)

    def scalar(self, e: Expr) -> Any:
        """Value of a uniform expression."""
        return scalar_value(e, self.env)

    def operand(self, e: Expr) -> Any:
        """Value of a uniform expression that a tile takes: constants are exact."""
        return operand_value(e, self.env)

    def integer(self, e: Expr) -> int:
        """Value of a uniform integer expression."""
        return int(scalar_value(e, self.env))

    def barrier(
        self, ref: BarrierRef, block: ThreadBlock | None = None
    ) -> ClockedBarrier | None:
        """The mbarrier that a reference names, in this block or in another."""
        index = self.integer(ref.index)
        found = (block or self.block).barriers.get((ref.alloc, index))
        if found is None:
            self.fault(
                "barrier", f"{ref.alloc.name} has {ref.alloc.count}, not number {index}"
            )
        return found

    # ---------------------------------------------------------- completion in groups

    def issue(self, event: AsyncOperation, over: Completes) -> None:
        """An operation of this group runs, until ``over`` happens."""
        if over == "issue":
            event.finish()
            event.covered()
            return
        self.cluster.issue(event)
        if over != "mbarrier":
            self.queues[over].open.append(event)

    def commit(self, does: OpEffects) -> None:
        """Close the groups of operations issued so far."""
        for kind in does.commits:
            self.queues[kind].commit()

    def wait_for_groups(self, does: OpEffects, pending: int) -> None:
        """All groups but the latest are complete, and this group knows it."""
        for kind in does.awaits:
            for event in self.queues[kind].wait(pending):
                event.covered()

    # ------------------------------------------------------------ register tiles

    def get(self, tile: o.Tile) -> Array:
        """Elements of a tile in registers, [threads, registers]."""
        held = self.held(tile)
        if not isinstance(held, Accumulator):
            return held
        if not held.readable:
            why = "no wait covers it" if not held.waited else "no wait names this tile"
            self.fault("accumulator", f"the result of a wgmma is used, but {why} yet")
            for event in self.queues["wgmma_group"].in_flight():
                event.finish()
        if held.value is None:
            return self.poison(tile)
        return held.value

    def held(self, tile: o.Tile) -> Array | Accumulator:
        """What the registers of a tile hold, an unfinished accumulator included."""
        key = storage_key(tile)
        if key not in self._tiles:
            self.fault("uninitialised", f"register tile {tile!r} was never written")
            self._tiles[key] = self.poison(tile)
        return self._tiles[key]

    def put(self, tile: o.Tile, value: Array | Accumulator) -> None:
        """Write a tile's registers."""
        key = storage_key(tile)
        old = self._tiles.get(key)
        accumulates = isinstance(old, Accumulator) and not old.waited
        shared = tile.storage is not None
        # Another product may follow on the same registers; nothing else may.
        if accumulates and shared and not isinstance(value, Accumulator):
            self.fault(
                "accumulator",
                "registers are written while a wgmma accumulates into them",
            )
        reader = self.operands.get(key)
        if reader is not None and shared:
            self.fault(
                "in_flight", "registers are written while a wgmma reads them as A"
            )
        self._tiles[key] = value

    def poison(self, tile: o.Tile) -> Array:
        """Registers with nothing useful in them."""
        regs = tile.layout.num_regs if tile.layout is not None else 1
        bits = np.full((self.threads, regs * tile.dtype.bytes), 0xFF, np.uint8)
        if tile.dtype.kind == "bool":
            return np.zeros((self.threads, regs), np.bool_)
        return bits.view(storage(tile.dtype))


def iter_none() -> Steps:
    """Steps of a group that does nothing."""
    yield from ()


def role_names(program: Program) -> list[str]:
    """Names of the roles of a program, in order."""
    found = (x for x in program.body.ops if isinstance(x, o.Roles))
    return [role.name for roles in found for role in roles.roles]


class Cluster:
    """The blocks of a cluster, run together to their end."""

    def __init__(
        self,
        program: Program,
        arrays: dict[str, GlobalArray],
        envs: list[tuple[int, dict[str, Any]]],
        faults: Faults,
        rng: np.random.Generator,
        schedule: Schedule,
        runner: Callable[[ThreadGroup, o.Block], Steps],
    ) -> None:
        self.runner = runner
        self.printed: Callable[[str], None] | None = None
        """Takes the lines that a kernel prints."""
        self.late = ""
        """The role that waits for all others, under the schedule "late"."""
        self.until: float | None = None
        """When the run ends with TimeOver, of `argus.clock`."""
        self.program = program
        self.arrays = arrays
        self.faults = faults
        self.rng = rng
        self.schedule = schedule
        roles = len(role_names(program))
        barriers = sum(alloc.count for alloc in program.barriers)
        self.clocks = Clocks(len(envs) * (3 * (roles + 1) + barriers))
        self.barrier = ClusterBarrier(self.clocks)
        self.in_flight: list[AsyncOperation] = []
        self.blocks = [
            ThreadBlock(self, index, rank, env)
            for rank, (index, env) in enumerate(envs)
        ]
        self.groups: list[ThreadGroup] = []
        registers = held(at_launch(program.warps, program.min_blocks, program.target))
        for block in self.blocks:
            zero = self.clocks.zero()
            self.start(
                block, "block", program.warps, block.env, program.body, zero, registers
            )

    def start(
        self,
        block: ThreadBlock,
        name: str,
        warps: int,
        env: dict[str, Any],
        body: o.Block,
        seen: Clock,
        registers: int,
        first: int = 0,
    ) -> None:
        """Add a group that will run `body`, from warp ``first`` of the block on.

        ``registers`` is what each of its threads holds.
        """
        group = ThreadGroup(block, name, warps, env, seen, registers)
        group.first = first
        group.steps = self.runner(group, body)
        self.groups.append(group)

    def issue(self, event: AsyncOperation) -> AsyncOperation:
        """An asynchronous operation is in flight from now on."""
        self.in_flight.append(event)
        return event

    def run(self) -> None:
        """Run all groups to their end, and let everything in flight complete."""
        current = self.groups[0]
        while self.groups:
            if self.until is not None and now() > self.until:
                raise TimeOver
            self.in_flight = [e for e in self.in_flight if not e.done]
            ready = [g for g in self.groups if g.wait is None or g.wait.ready()]
            if not ready:
                if not self.in_flight:
                    self._deadlock()
                    return
                self._finish_one()
                continue
            if self.schedule == "late":
                others = [g for g in ready if g.name != self.late]
                if not others and self.in_flight:
                    self._finish_one()
                    continue
                some = others or ready
                current = some[int(self.rng.integers(len(some)))]
            elif self.schedule == "random":
                if self.in_flight and self.rng.random() < _EARLY:
                    self._finish_one()
                    continue
                current = ready[int(self.rng.integers(len(ready)))]
            elif current not in ready:
                current = ready[0]
            self._step(current)
        for event in self.in_flight:
            event.finish()
        self._check_visits()

    def _check_visits(self) -> None:
        for block in self.blocks:
            for visit in block.visits:
                if all(block.end[agent] < clock for agent, clock in visit.proofs):
                    visit.group.fault(
                        "unfinished",
                        f"{visit.what} may reach the shared memory of block"
                        f" {block.index} after that block has ended",
                        op=visit.op,
                    )

    def _step(self, group: ThreadGroup) -> None:
        try:
            group.wait = next(group.steps)
        except ZeroDivisionError:
            # The device goes on with any number; nothing can be said of what follows.
            group.fault("arithmetic", "a scalar is divided by zero")
            self._over(group)
        except StopIteration:
            self._over(group)

    def _over(self, group: ThreadGroup) -> None:
        self.groups.remove(group)
        self._end(group)
        self.barrier.update(self.groups)

    def _finish_one(self) -> None:
        random = self.schedule == "random"
        chosen = int(self.rng.integers(len(self.in_flight))) if random else 0
        self.in_flight[chosen].finish()

    def _end(self, group: ThreadGroup) -> None:
        """A role is over: no copy of its own may touch shared memory any more."""
        np.maximum(group.block.end, group.known.clock, out=group.block.end)
        for event in group.queues["bulk_read"].in_flight():
            group.fault(
                "unfinished",
                "the role ends before a wait has seen its TMA store read shared memory",
                op=event.op,
            )
        for event in group.queues["cp_async_group"].in_flight():
            if not event.handed_on:
                group.fault(
                    "unfinished",
                    "the role ends while its cp.async copy may still write shared"
                    " memory",
                    op=event.op,
                )

    def _deadlock(self) -> None:
        lines = [
            f"{group.name} (block {group.block.index}, line"
            f" {group.op.span.line if group.op else '?'}) {group.wait}"
            for group in self.groups
        ]
        self.groups[0].fault(
            "deadlock",
            "every role waits and nothing is in flight:\n    " + "\n    ".join(lines),
            waits=lines,
        )
