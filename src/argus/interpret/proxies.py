"""Ordinary accesses to shared memory that the asynchronous proxy must not mix with.

TMA and wgmma may come to bytes that threads have read or written only after a
``fence.proxy.async``, unless both only read: a barrier alone does not order accesses of
different proxies. The fence is one of the threads whose accesses they are, before they
arrive at what orders the two. Copies that complete by themselves (cp.async) belong to
no thread any more: whoever knows that they are complete may fence them.

As in `order.py`, an interleaving that happens to go well does not hide a mistake: who
comes by the asynchronous proxy must know of a fence that came after the access. An
element is kept at its first byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from argus.interpret.order import AccessOrder
from argus.ir.access import Ints

if TYPE_CHECKING:
    from argus.interpret.machine import ThreadGroup

__all__ = ["Proxies"]

_Counts = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).max


class Proxies:
    """The ordinary accesses to one block's shared memory, and the fences after them."""

    def __init__(self, size: int, order: AccessOrder) -> None:
        self._order = order
        self._size = size
        self._reads: dict[int, _Counts] = {}
        """By agent: its clock when it last read a byte; 0 if that is of no account."""
        self._writes: dict[int, _Counts] = {}
        self._copied = np.zeros(size, np.uint8)
        """Written by a copy of the generic proxy that nobody has fenced yet."""
        self._fences: dict[int, list[int]] = {}
        """Clocks of each agent's fences."""

    def read(self, group: ThreadGroup, at: Ints) -> None:
        """Threads of a group read elements."""
        self._of(self._reads, group)[at] = group.known.now

    def wrote(self, group: ThreadGroup, at: Ints) -> None:
        """Threads of a group write elements."""
        self.overwrote(at)
        self._of(self._writes, group)[at] = group.known.now

    def copied(self, at: Ints) -> None:
        """A copy by the generic proxy writes elements."""
        self.overwrote(at)
        self._copied[at] = 1

    def overwrote(self, at: Ints) -> None:
        """What was before is of no account: the write was ordered after it."""
        for counts in (*self._reads.values(), *self._writes.values()):
            counts[at] = 0
        self._copied[at] = 0

    def fence(self, group: ThreadGroup) -> None:
        """fence.proxy.async by all threads of a group."""
        bare = np.flatnonzero(self._copied)
        self._copied[bare[self._order.sees(group, bare)]] = 0
        known = group.known
        self._fences.setdefault(known.agent, []).append(known.now)
        known.clock[known.agent] += 1

    def unfenced_writes(self, group: ThreadGroup, at: Ints) -> NDArray[np.bool_]:
        """Which elements hold ordinary writes that have no fence known to a group."""
        bare = self._copied[at] != 0
        for agent, counts in self._writes.items():
            bare |= self._unfenced(group, agent, counts[at])
        return bare

    def unfenced_reads(self, group: ThreadGroup, at: Ints) -> NDArray[np.bool_]:
        """Which elements were read by threads with no fence known to a group."""
        bare = np.zeros(at.shape, np.bool_)
        for agent, counts in self._reads.items():
            bare |= self._unfenced(group, agent, counts[at])
        return bare

    def _unfenced(
        self, group: ThreadGroup, agent: int, counts: Any
    ) -> NDArray[np.bool_]:
        fences = np.array([*self._fences.get(agent, ()), _NEVER])
        first = fences[np.searchsorted(fences, counts)]
        known = group.known
        # Of other warps' fences, a warp of the same group knows by a sync.
        own = agent == known.agent and known.warps > 1
        seen = known.internal if own else known.clock
        return (counts > 0) & (first > seen[agent])

    def _of(self, counts: dict[int, _Counts], group: ThreadGroup) -> _Counts:
        agent = group.known.agent
        if agent not in counts:
            counts[agent] = np.zeros(self._size, np.int64)
        return counts[agent]
