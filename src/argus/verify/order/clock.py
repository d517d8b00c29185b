"""Agents and vector clocks: what each warp knows to have happened.

An agent is something whose events are in order: a warp, a warp's cp.async copies, a
warp's TMA stores, a warpgroup's matrix products, an mbarrier (its completions), a named
barrier (its rounds), the cluster's barrier. A clock has three entries for every agent:

    ORDER    events ordered before, in memory
    FENCED   ordinary accesses with a fence.proxy.async on the way here
    CAUSE    events that must have happened in time, ordered in memory or not

ORDER is at most CAUSE: bytes of a TMA copy cannot land before the copy was issued, so
that a phase they complete came later, but they order nothing else in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.ir.memory import BarrierAlloc
from argus.ir.program import Program

__all__ = ["CAUSE", "FENCED", "NAMED", "ORDER", "Agents", "Clock"]

Clock = NDArray[np.int32]
"""[..., 3, agents]."""
ORDER, FENCED, CAUSE = 0, 1, 2
NAMED = 16
"""Hardware barriers of a block (PTX ISA, bar: 0 to 15)."""


@dataclass(frozen=True)
class Agents:
    """The numbers of all agents of a cluster of ``blocks`` blocks."""

    warps: int
    barriers: tuple[tuple[BarrierAlloc, int], ...]
    blocks: int

    @staticmethod
    def of(program: Program) -> Agents:
        """Agents of a program."""
        roles = max((r for r in _role_ends(program)), default=0)
        barriers = [(b, i) for b in program.barriers for i in range(b.count)]
        return Agents(max(program.warps, roles), tuple(barriers), program.cluster)

    @property
    def groups(self) -> int:
        """Warpgroups of a block, the last one perhaps not full."""
        return -(-self.warps // 4)

    @property
    def per_block(self) -> int:
        """Agents of one block."""
        return 3 * self.warps + self.groups + len(self.barriers) + NAMED

    @property
    def count(self) -> int:
        """All agents; the last one is the cluster's barrier."""
        return self.blocks * self.per_block + 1

    def warp(self, block: int, warp: int) -> int:
        """A warp of a block."""
        return block * self.per_block + warp

    def copies(self, block: int, warp: int) -> int:
        """A warp's cp.async copies."""
        return self.warp(block, warp) + self.warps

    def stores(self, block: int, warp: int) -> int:
        """The TMA stores of a warp's elected thread."""
        return self.warp(block, warp) + 2 * self.warps

    def products(self, block: int, warp: int) -> int:
        """The matrix products of a warp's warpgroup."""
        return block * self.per_block + 3 * self.warps + warp // 4

    def barrier(self, block: int, number: int) -> int:
        """Barrier ``number`` (a position in ``barriers``) of a block."""
        return block * self.per_block + 3 * self.warps + self.groups + number

    def named(self, block: int, number: int) -> int:
        """Hardware barrier ``number`` of a block."""
        return self.barrier(block, len(self.barriers)) + number

    def zero(self) -> Clock:
        """The clock of one that knows nothing."""
        return np.zeros((3, self.count), np.int32)


def _role_ends(program: Program) -> list[int]:
    from argus.ir.ops import Roles

    return [
        (role.first_warp or 0) + role.warps
        for op in program.body.ops
        if isinstance(op, Roles)
        for role in op.roles
    ]
