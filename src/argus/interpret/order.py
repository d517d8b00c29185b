"""What is ordered before what: vector clocks over the roles of a cluster.

One run has one interleaving, but a missing barrier is found in every interleaving: an
access is a fault unless the run's own synchronisation puts the write (or read) that it
depends on before it, whatever the scheduler happened to do.

    agent                  its clock counts              an access of it is ordered
    a role (or block)      releases: arrivals, syncs     after an arrival or sync
    wgmma of a role        products that were issued     after a wait that covers it
    TMA stores of a role   stores that were issued       after a wait that covers it,
                                                         which the elected thread's warp
                                                         knows at once, others after a
                                                         sync
    an mbarrier            completed phases              after a wait for the phase that
                                                         counted the copy's bytes

Warps of a role run in lockstep here but not on hardware, so an access to what another
warp of the same role touched needs a synchronisation of the whole role in between
(`internal`); an arrival by one elected thread hands on only what came before that.

Accesses of one element are kept at its first byte: shared memory that is written as one
element size and read as another is checked only where these coincide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from argus.interpret.errors import Faults
from argus.ir.access import Ints

if TYPE_CHECKING:
    from argus.interpret.machine import ThreadGroup

__all__ = ["AccessOrder", "Clock", "Clocks", "GroupKnowledge", "Ordered", "Release"]

Clock = NDArray[np.int64]
Ordered = NDArray[np.bool_]
"""Of which elements all earlier accesses are ordered before this one."""
Release = Literal["role", "warpgroup", "warp", "thread"]
_SEVERAL = 255


class Clocks:
    """Numbers the agents of a cluster; clocks are vectors with one entry for each."""

    def __init__(self, agents: int) -> None:
        self.size = agents
        self._next = 0
        self.names: list[str] = []

    def agent(self, name: str) -> int:
        """A new agent."""
        if self._next >= self.size:
            raise ValueError(f"more than {self.size} agents")
        self._next += 1
        self.names.append(name)
        return self._next - 1

    def zero(self) -> Clock:
        """The clock of one that has seen nothing."""
        return np.zeros(self.size, np.int64)


class GroupKnowledge:
    """What one group of threads knows: its clock, and what all of its warps know."""

    def __init__(self, clocks: Clocks, name: str, warps: int, seen: Clock) -> None:
        self.agent = clocks.agent(name)
        self.products = clocks.agent(f"wgmma of {name}")
        self.stores = clocks.agent(f"TMA stores of {name}")
        self.warps = warps
        self.clock = seen
        self.clock[self.agent] = 1
        self.internal: Clock = seen.copy()
        self.internal[self.agent] = 0

    @property
    def now(self) -> int:
        """The group's own clock."""
        return int(self.clock[self.agent])

    def acquire(self, other: Clock) -> None:
        """All threads wait for something that happened after `other`."""
        np.maximum(self.clock, other, out=self.clock)
        np.maximum(self.internal, other, out=self.internal)

    def release(self, per: Release = "thread") -> Clock:
        """What an arrival hands on; later accesses are not covered by it."""
        given = self.clock.copy()
        if per in ("role", "warpgroup") and self.warps > 1:
            given[self.agent] = self.internal[self.agent]
        if per == "role" and self.warps > 4:
            given[self.products] = self.internal[self.products]
        self.clock[self.agent] += 1
        return given

    def synchronise(self) -> None:
        """All threads of the group wait for each other."""
        np.maximum(self.internal, self.clock, out=self.internal)
        self.clock[self.agent] += 1


class AccessOrder:
    """The accesses to one block's shared memory, element by element.

    Each tells which elements it is ordered at; elsewhere it is a fault.
    """

    def __init__(self, size: int, clocks: Clocks, faults: Faults, lanes: int) -> None:
        self._lanes = lanes
        self.clocks = clocks
        self.faults = faults
        self._size = -(-max(size, 16) // 16) * 16
        self._writer = np.zeros(self._size, np.uint16)
        self._written = np.zeros(self._size, np.int64)
        self._writer_warp = np.zeros(self._size, np.uint8)
        self._reads: dict[int, NDArray[np.int64]] = {}
        self._reader_warp: dict[int, NDArray[np.uint8]] = {}

    def read(self, group: ThreadGroup, at: Ints, threads: Ints) -> Ordered:
        """An ordinary read of elements [threads, ...] by the group's threads."""
        warp = self._warps(at, threads)
        ordered = self._after_write(group, at, warp)
        known = group.known
        clock, reader = self._reader(known.agent)
        recent = clock[at] > known.internal[known.agent]
        shared = recent & (reader[at] != warp)
        clock[at] = known.now
        reader[at] = np.where(shared, _SEVERAL, warp)
        # The same element read by two warps at once: the assignment kept one of them.
        reader[at[reader[at] != warp]] = _SEVERAL
        return ordered

    def write(self, group: ThreadGroup, at: Ints, threads: Ints) -> Ordered:
        """An ordinary write of elements [threads, ...] by the group's threads."""
        warp = self._warps(at, threads)
        ordered = self._after_write(group, at, warp)
        ordered &= self._after_reads(group, at, warp)
        self._stamp(at, group.known.agent, int(group.known.now), warp)
        return ordered

    def async_read(
        self, group: ThreadGroup, at: Ints, agent: int, count: int
    ) -> Ordered:
        """Operation number `count` of an asynchronous agent will read elements."""
        ordered = self._after_write(group, at, _one_warp(group))
        self._reader(agent)[0][at] = count
        return ordered

    def async_write(
        self, group: ThreadGroup, at: Ints, threads: Ints | None
    ) -> Ordered:
        """A copy is issued, each element by its thread, or (None) all by one."""
        warp = _one_warp(group) if threads is None else self._warps(at, threads)
        ordered = self._after_write(group, at, warp)
        return ordered & self._after_reads(group, at, warp, elected=threads is None)

    def completed(self, at: Ints, agent: int, count: int, threads: Ints | None) -> None:
        """Elements were written by an agent as of its clock `count`."""
        warp = _SEVERAL if threads is None else self._warps(at, threads)
        self._stamp(at, agent, count, warp)

    def sees(self, group: ThreadGroup, at: Ints) -> NDArray[np.bool_]:
        """Whether the last writes of bytes are ordered before what the group does."""
        return group.known.clock[self._writer[at]] >= self._written[at]

    def _stamp(self, at: Ints, agent: int, count: int, warp: Any) -> None:
        self._writer[at] = agent
        self._written[at] = count
        self._writer_warp[at] = warp

    def _reader(self, agent: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        if agent not in self._reads:
            self._reads[agent] = np.zeros(self._size, np.int64)
            self._reader_warp[agent] = np.full(self._size, _SEVERAL, np.uint8)
        return self._reads[agent], self._reader_warp[agent]

    def _after_write(self, group: ThreadGroup, at: Ints, warp: Any) -> Ordered:
        known = group.known
        writer, count = self._writer[at], self._written[at]
        seen = known.clock[writer] >= count
        own = writer == known.agent
        same_warp = self._writer_warp[at] == warp
        seen &= ~own | same_warp | (count <= known.internal[known.agent])
        self._require(group, at, seen, writer, "was written")
        return seen

    def _after_reads(
        self, group: ThreadGroup, at: Ints, warp: Any, elected: bool = False
    ) -> Ordered:
        known = group.known
        ordered = np.ones(at.shape, np.bool_)
        for agent, (clock, reader) in (
            (agent, self._reader(agent)) for agent in list(self._reads)
        ):
            count = clock[at]
            if agent == known.agent:
                seen = (count <= known.internal[agent]) | (reader[at] == warp)
            elif agent == known.stores:
                # Its wait is that of the elected thread, in the first warp.
                seen = count <= known.internal[agent]
                seen = seen | ((count <= known.clock[agent]) & (elected | (warp == 0)))
            else:
                seen = count <= known.clock[agent]
            self._require(group, at, seen, np.full(seen.shape, agent), "was read")
            ordered &= seen
        return ordered

    def _require(
        self, group: ThreadGroup, at: Ints, seen: Any, agent: Any, verb: str
    ) -> None:
        if seen.all():
            return
        first = np.unravel_index(int(np.argmin(seen)), seen.shape)
        other = self.clocks.names[int(agent[first])]
        who = (
            "another warp of this role"
            if int(agent[first]) == group.known.agent
            else f"`{other}`"
        )
        self.faults.add(
            "unordered",
            group,
            f"byte {int(at[first])} of shared memory {verb} by {who}, and nothing"
            f" orders this access after it ({int((~seen).sum())} elements)",
            thread=int(first[0]) if seen.ndim > 1 else None,
            byte=int(at[first]),
        )

    def _warps(self, at: Ints, threads: Ints) -> Any:
        """Warp of each element of [threads, ...], broadcastable to it."""
        warp = (threads // self._lanes).astype(np.uint8)
        return np.broadcast_to(warp.reshape(-1, *[1] * (at.ndim - 1)), at.shape)


def _one_warp(group: ThreadGroup) -> int:
    """The warp of a one-warp group; for others, none that an access can match."""
    return 0 if group.known.warps == 1 else _SEVERAL - 1
