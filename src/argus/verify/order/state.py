"""The state of a walk: blocks, groups of warps, and the last accesses to each byte.

Barriers are in `barrier_state.py`. Nothing here executes operations (`walk.py`) or
decides what is wrong with an access (`accesses.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from argus.diagnostics import Span
from argus.ir.memory import BarrierAlloc, SharedAlloc
from argus.ir.ops import (
    AnyOp,
    BarrierArrive,
    CopyAsync,
    For,
    SetMaxRegisters,
    Tile,
)
from argus.ir.program import Program
from argus.isa.effects import waiting_scopes
from argus.isa.record import Awaits, Completes, Proxy, Scope
from argus.isa.registers import WARPGROUP
from argus.verify.evidence import Event
from argus.verify.order.async_groups import Queue
from argus.verify.order.barrier_state import BarrierState, Did, Iteration, Waiting
from argus.verify.order.clock import CAUSE, ORDER, Knowledge, Moments
from argus.verify.order.footprint import Footprint, Pairs

__all__ = [
    "AccessRecord",
    "AccumulatorState",
    "BlockState",
    "GroupState",
    "Kind",
    "Parting",
    "Steps",
    "Wanting",
    "make_block",
    "storage_key",
    "units",
]

Steps = Generator["Waiting | Wanting | None", None, None]


def storage_key(tile: Tile) -> object:
    """What registers a tile stands for: shared ones, or its own."""
    return tile if tile.storage is None else tile.storage


class Kind(NamedTuple):
    """How an access is made: by which proxy, until what, and by whom together."""

    proxy: Proxy
    over: Completes
    scope: Scope


@dataclass(eq=False, slots=True)
class AccessRecord:
    """The latest access of one operation of one group to one footprint.

    Unit u has completed for those who know moment ``base + u``; ``number`` counts these
    accesses where the group does. It was issued for those who know moment ``issued``
    plus the number of the unit's first warp.
    """

    kind: Kind
    write: bool
    footprint: Footprint
    group: GroupState
    op: AnyOp
    units: int
    alloc: SharedAlloc
    base: int = 0
    ones: int = 0
    """As many ones as units; 0 when the record no longer matters."""
    number: int = 0
    filled: BarrierState | None = None
    """The barrier whose completion ``number`` the access (by TMA) is part of."""
    issued: int = 0
    iteration: Iteration = ()
    fill: int | None = None
    """Which fill of its buffer it belongs to (`fills.py`)."""
    alive: int = 0
    """Bytes that nobody has written since, as a mask."""
    bare: bool = False
    """An ordinary access of threads that have executed no fence since."""
    near: list[tuple[AccessRecord, Pairs]] = field(
        default_factory=list["tuple[AccessRecord, Pairs]"]
    )
    """Records that share bytes with this one, where one of the two is a write."""

    @property
    def stride(self) -> int:
        """Warps of a unit."""
        return WARPGROUP if self.kind.scope == "warpgroup" else 1


@dataclass(eq=False, slots=True)
class Wanting:
    """A group waits until its block has so many free registers (of 32 bits)."""

    op: SetMaxRegisters
    block: BlockState
    registers: int

    def ready(self) -> bool:
        """Whether they are there."""
        return self.block.free >= self.registers


@dataclass(slots=True)
class AccumulatorState:
    """Registers that a wgmma writes: its number, and whether a wait named them."""

    number: int
    op: AnyOp
    readable: bool = False


@dataclass(frozen=True)
class Parting:
    """A group at its end, or where it would end with fewer iterations of its loop."""

    group: GroupState
    cause: int
    """Moments that have happened for some of its warps."""
    now: int
    """The moments of its warps."""
    queues: Mapping[Awaits, tuple[int, int, tuple[int, ...]]]
    """By kind of group what was issued, what is covered, and the committed groups."""
    handed: int
    sent: dict[BarrierState, tuple[CopyAsync, Iteration, int]]
    reached: dict[BarrierState, tuple[BarrierArrive, Iteration, int, int]]


@dataclass(eq=False)
class GroupState:
    """Warps that run one sequence of operations, in lockstep here.

    Each warp knows what it waited for itself. Warp w of the group is now at moment
    ``base + w``.
    """

    block: BlockState
    name: str
    span: Span
    first: int
    warps: int
    lanes: int
    """Threads of a warp."""
    env: dict[str, int | float]
    know: Knowledge
    moments: Moments
    registers: int
    """What each of its threads holds."""
    base: int = 0
    op: AnyOp | None = None
    iteration: Iteration = ()
    iterations: tuple[int, ...] = ()
    """Which iteration of each loop around it this is, outermost first."""
    loops: tuple[int, ...] = ()
    """Identities of these loops."""
    extents: tuple[int, ...] = ()
    """How many iterations each of them has."""
    path: list[int] = field(default_factory=list[int])
    """Identities of the loops and branches around the current operation."""
    wait: Waiting | Wanting | None = None
    steps: Steps | None = None
    parting_at: list[Parting] = field(default_factory=list["Parting"])
    """At the head of each iteration of its outermost loop, if wanted."""
    around: dict[str, For] = field(default_factory=dict[str, For])
    """Loops that it has entered, by the name of their variable."""
    left: dict[For, int] = field(default_factory=dict[For, int])
    """Loops that it has left, and after how many iterations the last time."""
    handed: int = 0
    """cp.async copies that an arrival on an mbarrier covers."""
    copied: int = 0
    """Moments of these copies."""
    accumulators: dict[object, AccumulatorState] = field(
        default_factory=dict[object, AccumulatorState]
    )
    operands: dict[object, tuple[int, AnyOp]] = field(
        default_factory=dict[object, tuple[int, AnyOp]]
    )
    issue_causes: deque[tuple[int, list[int]]] = field(
        default_factory=deque[tuple[int, list[int]]]
    )
    """What the warps of each warpgroup knew when a product was issued."""
    hot: bool = False
    """Some registers may not be touched at the moment."""
    holds: dict[BarrierState, int] = field(default_factory=dict["BarrierState", int])
    """Latest completion waited for, by barrier."""
    waited: dict[BarrierAlloc, int] = field(default_factory=dict[BarrierAlloc, int])
    """The same, of the array's barrier that was waited for last."""
    releases: deque[tuple[int, AnyOp, Iteration]] = field(
        default_factory=lambda: deque[tuple[int, AnyOp, Iteration]](maxlen=64)
    )
    """Moment, operation and iteration of what handed knowledge on."""
    sent: dict[BarrierState, tuple[CopyAsync, Iteration, int]] = field(
        default_factory=dict["BarrierState", "tuple[CopyAsync, Iteration, int]"]
    )
    """Latest copy whose bytes count on each barrier, moment of its completion."""
    reached: dict[BarrierState, tuple[BarrierArrive, Iteration, int, int]] = field(
        default_factory=dict[
            "BarrierState", "tuple[BarrierArrive, Iteration, int, int]"
        ]
    )
    """Latest arrival at each barrier of another block: moment of the completion, and
    the moments of the warps that arrive.
    """
    recent: deque[Did] = field(default_factory=lambda: deque["Did"](maxlen=6))

    def __post_init__(self) -> None:
        self.queues: dict[Awaits, Queue] = {
            kind: Queue(units(scope, self.warps), scope)
            for kind, scope in waiting_scopes().items()
        }
        """Operations on shared memory that complete in groups, by kind of group."""
        self.products = self.queues["wgmma_group"]
        self.copies = self.queues["cp_async_group"]
        self.ones = (1 << self.warps) - 1
        self.who = (
            f"{self.name} of block {self.block.rank}"
            if self.block.clustered
            else self.name
        )
        """The group's name, with its block in a cluster."""

    @property
    def threads(self) -> int:
        """Threads of the group."""
        return self.lanes * self.warps

    @property
    def now(self) -> int:
        """The moments at which its warps are."""
        return self.ones << self.base

    def did(self, op: AnyOp, text: str, barrier: BarrierState | None = None) -> Did:
        """What the group does now."""
        return Did(self, op, text, barrier, self.iteration)

    def fence(self) -> None:
        """All threads execute fence.proxy.async."""
        own: set[int] = set()
        copies = 0
        for record in self.block.records.values():
            if record.bare and record.group is self:
                record.bare = False
                own.add(record.base)
            elif record.kind.proxy == "generic" and record.kind.over != "issue":
                copies |= record.ones << record.base
        self.know.fence(own, copies)
        self.tick()

    def iterations_of(self, iteration: Iteration) -> Iterator[Event]:
        """In which iterations of its loops the group is or was, as evidence."""
        for depth, (name, value) in enumerate(iteration, 1):
            span = self.around[name].span
            here = dict(iteration[:depth])
            yield Event(
                self.who, f"begins the iteration with {name} = {value}", span, here
            )

    def loops_left(self) -> Iterator[Event]:
        """How often it has turned: what is filled and drained must agree."""
        inside = {self.around[name] for name, _ in self.iteration}
        for op, iterations in self.left.items():
            if op not in inside:
                yield Event(
                    self.who,
                    f"has left this loop after {iterations} iterations",
                    op.span,
                )

    def parting(self) -> Parting:
        """How the group would leave if it ended here."""
        return Parting(
            self,
            self.know.any(CAUSE),
            self.now,
            {
                kind: (q.issued, q.covered, tuple(q.committed))
                for kind, q in self.queues.items()
            },
            self.handed,
            dict(self.sent),
            dict(self.reached),
        )

    def tick(self) -> None:
        """What follows is not covered by what was handed on."""
        base = self.base = self.moments.take(self.warps)
        for part in (ORDER, CAUSE):
            self.know.learn(part, base, self.warps)


def units(scope: Scope, warps: int) -> int:
    """How many parts of a group execute an operation, each by itself."""
    match scope:
        case "elected":
            return 1
        case "warpgroup":
            return max(warps // WARPGROUP, 1)
        case "thread" | "warp":
            return warps
        case "block" | "cluster":
            raise ValueError(f"a {scope} starts nothing that completes in groups")
        case _:
            assert_never(scope)


@dataclass(eq=False)
class BlockState:
    """One block of the cluster."""

    index: int
    rank: int
    clustered: bool
    barriers: dict[tuple[BarrierAlloc, int], BarrierState]
    named: dict[int, BarrierState]
    records: dict[tuple[Footprint, GroupState, bool], AccessRecord] = field(
        default_factory=dict["tuple[Footprint, GroupState, bool]", "AccessRecord"]
    )
    written: int = 0
    """Bytes that were written, as a mask."""
    free: int = 0
    """Registers that its warps have given back, and may ask for again."""
    initialised: set[Footprint] = field(default_factory=set[Footprint])
    """Footprints all of whose bytes were written, or reported."""

    def enter(self, new: AccessRecord) -> AccessRecord:
        """Enter the first access of a group to a footprint."""
        low, high, writes = new.footprint.low, new.footprint.high, new.write
        for other in self.records.values():
            if not (writes or other.write):
                continue
            theirs = other.footprint
            if theirs.high <= low or high <= theirs.low:
                continue
            meets = new.footprint.meets(theirs)
            if meets:
                new.near.append((other, meets))
                other.near.append((new, tuple((b, a) for a, b in meets)))
        if new.write:
            meets = new.footprint.meets(new.footprint)
            if meets:
                new.near.append((new, meets))
        self.records[new.footprint, new.group, new.write] = new
        return new


def make_block(program: Program, moments: Moments, index: int, rank: int) -> BlockState:
    """A block with its barriers initialised (axiom "prologue")."""
    barriers: dict[tuple[BarrierAlloc, int], BarrierState] = {}
    for alloc in program.barriers:
        for i in range(alloc.count):
            name = f"{alloc.name}[{i}]" if alloc.count > 1 else alloc.name
            made = BarrierState(name, rank, alloc, alloc.arrivals, moments)
            made.pending = alloc.arrivals
            barriers[alloc, i] = made
    return BlockState(index, rank, program.cluster > 1, barriers, {})
