"""What completes later, and what roles wait for.

What is issued to run asynchronously becomes an :class:`AsyncOperation`. The scheduler
finishes it whenever it likes, at the latest when a wait requires it or nobody can go
on; until a wait covers it, nothing that it reads or writes may be touched. A role that
has to wait yields a :class:`Wait`, which says when it may go on and, for a report of a
deadlock, what it is waiting for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from argus.interpret.numbers import Array
from argus.interpret.order import Clock, Clocks
from argus.ir.memory import BarrierAlloc
from argus.ir.ops import AnyOp, Tile
from argus.isa.mbarrier import Mbarrier, MbarrierError

if TYPE_CHECKING:
    from argus.interpret.machine import ThreadGroup

__all__ = [
    "Accumulator",
    "AsyncOperation",
    "AsyncQueue",
    "BarrierWaiting",
    "ClockedBarrier",
    "ClusterBarrier",
    "ClusterWaiting",
    "NamedBarrier",
    "RegisterPool",
    "RegistersWaiting",
    "SyncWaiting",
    "Wait",
]


@dataclass(eq=False)
class AsyncOperation:
    """An asynchronous operation in flight. `run` makes its effect visible.

    `first` are operations that complete no later than this one. `covered` is called
    when a wait of the issuing role covers it.
    """

    op: AnyOp
    group: ThreadGroup
    run: Callable[[], None]
    covered: Callable[[], None] = lambda: None
    counted: Callable[[int, int], None] = lambda agent, phase: None
    """Called instead when an arrival on an mbarrier covers it (agent, phase)."""
    handed_on: bool = False
    first: tuple[AsyncOperation, ...] = ()
    done: bool = False

    def finish(self) -> None:
        """Let it complete, if it has not."""
        if self.done:
            return
        for event in self.first:
            event.finish()
        self.done = True
        self.run()


@dataclass
class AsyncQueue:
    """Groups of asynchronous operations of one role: open, then committed, in order."""

    open: list[AsyncOperation] = field(default_factory=list[AsyncOperation])
    committed: list[list[AsyncOperation]] = field(
        default_factory=list[list[AsyncOperation]]
    )

    def commit(self) -> None:
        """Close the group of operations issued so far (it may be empty)."""
        self.committed.append(self.open)
        self.open = []

    def wait(self, pending: int) -> list[AsyncOperation]:
        """Take out and finish all but the latest `pending` groups."""
        keep = max(len(self.committed) - pending, 0)
        covered = [event for events in self.committed[:keep] for event in events]
        del self.committed[:keep]
        for event in covered:
            event.finish()
        return covered

    def in_flight(self) -> list[AsyncOperation]:
        """Operations that no wait has covered."""
        return [e for events in (*self.committed, self.open) for e in events]


@dataclass(eq=False)
class Accumulator:
    """Registers that wgmma instructions write: readable once a wait names the tile."""

    op: AnyOp
    value: Array | None = None
    waited: bool = False
    readable: bool = False


# --------------------------------------------------------------------- waiting


class Wait(Protocol):
    """Why a role does not go on."""

    def ready(self) -> bool:
        """Whether it may."""
        ...

    def __str__(self) -> str: ...


class ClockedBarrier:
    """One mbarrier of one block, with the clocks of those who arrived."""

    def __init__(self, alloc: BarrierAlloc, index: int, clocks: Clocks) -> None:
        self.alloc = alloc
        self.name = f"{alloc.name}[{index}]"
        self.state = Mbarrier(alloc.arrivals)
        self.agent = clocks.agent(f"copies of {self.name}")
        self._arriving = clocks.zero()
        self.clock = clocks.zero()

    @property
    def completed(self) -> int:
        """How many phases have completed."""
        return self.state.completed

    def arrive(self, group: ThreadGroup, count: int, given: Clock) -> None:
        """Arrivals of one group; what it hands on is `given`."""
        self._arriving = np.maximum(self._arriving, given)
        self._change(group, lambda: self.state.arrive(count))

    def expect(self, group: ThreadGroup, nbytes: int, given: Clock) -> None:
        """One arrival that announces bytes."""
        self._arriving = np.maximum(self._arriving, given)
        self._change(group, lambda: self.state.arrive_expect(nbytes))

    def complete_bytes(self, group: ThreadGroup, nbytes: int) -> None:
        """Bytes of a copy have been written."""
        self._change(group, lambda: self.state.complete_bytes(nbytes))

    def _change(self, group: ThreadGroup, change: Callable[[], None]) -> None:
        before = self.completed
        try:
            change()
        except MbarrierError as error:
            group.fault("barrier", f"barrier {self.name}: {error}")
        if self.completed > before:
            np.maximum(self.clock, self._arriving, out=self.clock)
            self.clock[self.agent] = self.completed


@dataclass
class BarrierWaiting:
    """A wait for completion number `n` of an mbarrier, by parity as the hardware."""

    barrier: ClockedBarrier
    n: int

    def ready(self) -> bool:
        """Whether the hardware returns, or never will: completion n has been passed."""
        return self.barrier.state.passed(self.n % 2) or self.barrier.completed > self.n

    def __str__(self) -> str:
        state = self.barrier.state
        latest = f"the latest was {state.completed - 1}" if state.completed else "none"
        return (
            f"waits for completion {self.n} of barrier {self.barrier.name}"
            f" ({self.barrier.alloc.role}); {state.completed} happened ({latest});"
            f" the phase in progress lacks {state.pending} of {state.count} arrivals"
            f" and {state.tx} bytes"
        )


class NamedBarrier:
    """A hardware barrier (bar.sync, bar.arrive) of a block."""

    def __init__(self, name: str, clocks: Clocks) -> None:
        self.name = name
        self.generation = 0
        self.expected: int | None = None
        self.arrived = 0
        self._arriving = clocks.zero()
        self.clock = clocks.zero()

    def arrive(self, group: ThreadGroup, threads: int, expected: int) -> None:
        """Threads of a group arrive; the last of `expected` completes the barrier."""
        if self.expected not in (None, expected):
            group.fault(
                "barrier",
                f"{self.name} is used for {self.expected} and for {expected} threads",
            )
        self.expected = expected
        self.arrived += threads
        self._arriving = np.maximum(self._arriving, group.known.release())
        if self.arrived > expected:
            group.fault(
                "barrier", f"{self.arrived} threads on {self.name} for {expected}"
            )
        if self.arrived >= expected:
            self.generation += 1
            self.arrived = 0
            self.expected = None
            self.clock = np.maximum(self.clock, self._arriving)


@dataclass
class SyncWaiting:
    """A wait for a named barrier to complete."""

    barrier: NamedBarrier
    generation: int

    def ready(self) -> bool:
        """Whether all have arrived."""
        return self.barrier.generation > self.generation

    def __str__(self) -> str:
        return (
            f"waits at {self.barrier.name}, where {self.barrier.arrived} of"
            f" {self.barrier.expected} threads have arrived"
        )


@dataclass
class RegisterPool:
    """Registers that the warps of a block have given back (setmaxnreg)."""

    free: int = 0


@dataclass
class RegistersWaiting:
    """A wait until a block has so many free registers."""

    pool: RegisterPool
    wanted: int

    def ready(self) -> bool:
        """Whether they are there."""
        return self.pool.free >= self.wanted

    def __str__(self) -> str:
        return f"waits for {self.wanted} registers, where {self.pool.free} are free"


class ClusterBarrier:
    """barrier.cluster: completes when all threads that have not ended have arrived.

    (PTX ISA, "barrier.cluster": the wait is for all non-exited threads.)
    """

    def __init__(self, clocks: Clocks) -> None:
        self.generation = 0
        self.arrived: set[ThreadGroup] = set()
        self._arriving = clocks.zero()
        self.clock = clocks.zero()

    def arrive(self, group: ThreadGroup, live: Sequence[ThreadGroup]) -> None:
        """All threads of a group arrive."""
        self.arrived.add(group)
        self._arriving = np.maximum(self._arriving, group.known.release())
        self.update(live)

    def update(self, live: Sequence[ThreadGroup]) -> None:
        """Complete when all groups that go on have arrived."""
        if self.arrived and self.arrived.issuperset(live):
            self.generation += 1
            self.arrived.clear()
            self.clock = np.maximum(self.clock, self._arriving)


@dataclass
class ClusterWaiting:
    """A wait for the cluster's barrier."""

    barrier: ClusterBarrier
    generation: int

    def ready(self) -> bool:
        """Whether all have arrived."""
        return self.barrier.generation > self.generation

    def __str__(self) -> str:
        names = sorted(
            f"{g.name} of block {g.block.index}" for g in self.barrier.arrived
        )
        return f"waits for the cluster, where only {', '.join(names)} arrived"


def storage_key(tile: Tile) -> object:
    """What a register tile's value is kept under: its shared registers, or itself."""
    return tile if tile.storage is None else ("storage", tile.storage)
