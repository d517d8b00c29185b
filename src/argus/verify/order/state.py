"""The state of a walk: groups of warps, barriers, and the last accesses to each byte.

Nothing here executes operations (`walk.py`) or decides what is wrong with an access
(`accesses.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from argus.ir.memory import BarrierAlloc
from argus.ir.ops import AnyOp, BarrierArrive, CopyAsync, Tile
from argus.ir.program import Program
from argus.verify.evidence import Event
from argus.verify.order.clock import CAUSE, Agents, Clock
from argus.verify.order.footprint import Bools, Footprint

__all__ = [
    "Barrier",
    "Block",
    "Group",
    "Indices",
    "Iteration",
    "Parting",
    "Queue",
    "Record",
    "Steps",
    "Waited",
    "Waiting",
    "storage_key",
]

Indices = NDArray[np.intp]
Row = NDArray[np.int32]
Iteration = tuple[tuple[str, int], ...]
"""Loop variables and their values, outermost first."""
Steps = Generator["Waiting | None", None, None]


def storage_key(tile: Tile) -> object:
    """What registers a tile stands for: shared ones, or its own."""
    return tile if tile.storage is None else tile.storage


@dataclass(eq=False)
class Record:
    """The latest access of one operation of one group to one footprint.

    ``kind``: "generic", "cp" (cp.async), "tma", "wgmma" or "store" (TMA). Unit u has
    completed for those whose clock of ``agents[u]`` is at least ``time``; it was issued
    for those whose clock of ``issuers[u]`` is at least ``issued``.
    """

    kind: str
    write: bool
    footprint: Footprint
    group: Group
    op: AnyOp
    agents: Indices
    issuers: Indices
    time: int = 0
    issued: int = 0
    iteration: Iteration = ()
    alive: int = 0
    """Bytes that nobody has written since, as a mask."""
    sole: int = -1
    """The agent, if there is one only."""
    near: list[tuple[Record, Bools]] = field(
        default_factory=list["tuple[Record, Bools]"]
    )
    """Records that share bytes with this one, where one of the two is a write."""


@dataclass(frozen=True)
class Waited:
    """A wait for completion ``n`` returned in these warps at this time."""

    op: AnyOp
    group: Group
    n: int
    agents: Indices
    time: int
    iteration: Iteration


@dataclass(eq=False)
class Barrier:
    """One mbarrier of one block (or, with ``alloc`` None, a barrier of threads)."""

    name: str
    rank: int
    agent: int
    alloc: BarrierAlloc | None
    count: int
    contribution: Clock
    clock: Clock
    pending: int = 0
    tx: int = 0
    completed: int = 0
    waits: list[Waited] = field(default_factory=list[Waited])
    expect: tuple[AnyOp, Group, Iteration] | None = None
    arrivals: list[Event] = field(default_factory=list[Event])
    """Events that have arrived in the phase in progress, for reports."""

    def complete(self) -> None:
        """The phase in progress is over."""
        np.maximum(self.clock, self.contribution, out=self.clock)
        self.completed += 1
        self.clock[:, self.agent] = self.completed
        self.contribution[:] = 0
        self.pending = self.count
        self.arrivals = []


@dataclass
class Queue:
    """Numbered asynchronous operations of a group, and its committed groups."""

    issued: int = 0
    covered: int = 0
    committed: deque[int] = field(default_factory=deque[int])

    def commit(self) -> None:
        """Close the group of operations issued so far (it may be empty)."""
        self.committed.append(self.issued)

    def wait(self, pending: int) -> int:
        """Number of the last operation covered once ``pending`` groups remain."""
        while len(self.committed) > pending:
            self.covered = self.committed.popleft()
        return self.covered

    def shape(self, handed: int = 0) -> tuple[int, ...]:
        """The queue relative to its own numbers; up to ``handed`` others wait."""
        done = max(self.covered, handed)
        return (self.issued - done, *(self.issued - c for c in self.committed))


@dataclass(eq=False)
class Waiting:
    """What a group waits for: barrier completion ``n`` (a round of threads)."""

    op: AnyOp
    barrier: Barrier
    n: int
    parity: bool = False

    def ready(self) -> bool:
        """Whether the hardware returns, or never will: completion n has been passed."""
        completed = self.barrier.completed
        return completed > self.n or (self.parity and completed % 2 != self.n % 2)


@dataclass
class Accumulator:
    """Registers that a wgmma writes: its number, and whether a wait named them."""

    number: int
    op: AnyOp
    readable: bool = False


@dataclass(frozen=True)
class Parting:
    """A group at its end, or where it would end with fewer turns of its loop."""

    group: Group
    cause: Row
    time: int
    queues: tuple[tuple[int, int, tuple[int, ...]], ...]
    """cp.async copies, TMA stores, products: issued, covered, committed groups."""
    handed: int
    sent: dict[Barrier, tuple[CopyAsync, Iteration, int]]
    reached: dict[Barrier, tuple[BarrierArrive, Iteration, int, int]]


@dataclass(eq=False)
class Group:
    """Warps that run one sequence of operations, in lockstep here.

    ``clock`` is [warps, 3, agents]: each warp knows what it waited for itself.
    """

    block: Block
    name: str
    first: int
    warps: int
    env: dict[str, int | float]
    clock: Clock
    own: Indices
    copy_agents: Indices
    product_agents: Indices
    store_agent: int
    time: int
    op: AnyOp | None = None
    iteration: Iteration = ()
    turns: tuple[int, ...] = ()
    """Which turn of each loop around it this is, outermost first."""
    loops: tuple[int, ...] = ()
    """Identities of these loops."""
    path: list[int] = field(default_factory=list[int])
    """Identities of the loops and branches around the current operation."""
    wait: Waiting | None = None
    steps: Steps | None = None
    parting_at: list[Parting] = field(default_factory=list["Parting"])
    """At the head of each turn of its outermost loop, if wanted."""
    products: Queue = field(default_factory=Queue)
    copies: Queue = field(default_factory=Queue)
    stores: Queue = field(default_factory=Queue)
    handed: int = 0
    """cp.async copies that an arrival on an mbarrier covers."""
    accumulators: dict[object, Accumulator] = field(
        default_factory=dict[object, Accumulator]
    )
    operands: dict[object, tuple[int, AnyOp]] = field(
        default_factory=dict[object, tuple[int, AnyOp]]
    )
    issue_causes: deque[tuple[int, Clock]] = field(
        default_factory=deque[tuple[int, Clock]]
    )
    """What all warps of each warpgroup knew when a product was issued."""
    hot: bool = False
    """Some registers may not be touched at the moment."""
    holds: dict[int, int] = field(default_factory=dict[int, int])
    """Latest completion waited for, by barrier."""
    releases: deque[tuple[int, AnyOp, Iteration]] = field(
        default_factory=lambda: deque[tuple[int, AnyOp, Iteration]](maxlen=64)
    )
    sent: dict[Barrier, tuple[CopyAsync, Iteration, int]] = field(
        default_factory=dict["Barrier", "tuple[CopyAsync, Iteration, int]"]
    )
    """Latest copy whose bytes count on each barrier, and the completions after it."""
    reached: dict[Barrier, tuple[BarrierArrive, Iteration, int, int]] = field(
        default_factory=dict["Barrier", "tuple[BarrierArrive, Iteration, int, int]"]
    )
    """Latest arrival at each barrier of another block: completions after it, time."""
    recent: deque[Event] = field(default_factory=lambda: deque[Event](maxlen=6))

    @property
    def shared(self) -> bool:
        """Whether other blocks have a group of this name."""
        return self.block.clustered

    @property
    def threads(self) -> int:
        """Threads of the group."""
        return 32 * self.warps

    def parting(self) -> Parting:
        """How the group would leave if it ended here."""
        return Parting(
            self,
            self.clock[:, CAUSE].max(axis=0),
            self.time,
            tuple(
                (q.issued, q.covered, tuple(q.committed))
                for q in (self.copies, self.stores, self.products)
            ),
            self.handed,
            dict(self.sent),
            dict(self.reached),
        )

    def acquire(self, clock: Clock) -> None:
        """All warps waited for what happened after ``clock``."""
        np.maximum(self.clock, clock, out=self.clock)

    def tick(self) -> None:
        """What follows is not covered by what was handed on."""
        self.time += 1
        rows = np.arange(self.warps)
        self.clock[rows, 0, self.own] = self.time
        self.clock[rows, CAUSE, self.own] = self.time


@dataclass(eq=False)
class Block:
    """One block of the cluster."""

    index: int
    rank: int
    clustered: bool
    barriers: dict[tuple[BarrierAlloc, int], Barrier]
    named: dict[int, Barrier]
    records: dict[tuple[Footprint, Group, bool], Record] = field(
        default_factory=dict["tuple[Footprint, Group, bool]", "Record"]
    )
    written: int = 0
    """Bytes that were written, as a mask."""
    initialised: set[Footprint] = field(default_factory=set[Footprint])

    def enter(self, new: Record) -> Record:
        """Enter the first access of a group to a footprint."""
        if len(new.agents) == 1:
            new.sole = int(new.agents[0])
        for other in self.records.values():
            if not (other.write or new.write):
                continue
            meets = new.footprint.meets(other.footprint)
            if meets is not None:
                new.near.append((other, meets))
                other.near.append((new, meets.T))
        if new.write:
            meets = new.footprint.meets(new.footprint)
            if meets is not None:
                new.near.append((new, meets))
        self.records[new.footprint, new.group, new.write] = new
        return new


def make_group(
    agents: Agents,
    block: Block,
    name: str,
    first: int,
    warps: int,
    env: dict[str, int | float],
    clock: Clock,
    time: int,
) -> Group:
    """A group of the block's warps ``first`` and following."""
    numbers = range(first, first + warps)

    def index(of: object) -> Indices:
        assert callable(of)
        return np.array([of(block.rank, w) for w in numbers], np.intp)

    return Group(
        block,
        name,
        first,
        warps,
        env,
        clock,
        index(agents.warp),
        index(agents.copies),
        index(agents.products),
        agents.stores(block.rank, first),
        time,
    )


def make_block(program: Program, agents: Agents, index: int, rank: int) -> Block:
    """A block with its barriers initialised (axiom "prologue")."""
    barriers: dict[tuple[BarrierAlloc, int], Barrier] = {}
    for number, (alloc, i) in enumerate(agents.barriers):
        name = f"{alloc.name}[{i}]" if alloc.count > 1 else alloc.name
        agent = agents.barrier(rank, number)
        barriers[alloc, i] = Barrier(
            name, rank, agent, alloc, alloc.arrivals, agents.zero(), agents.zero()
        )
        barriers[alloc, i].pending = alloc.arrivals
    return Block(index, rank, program.cluster > 1, barriers, {})
