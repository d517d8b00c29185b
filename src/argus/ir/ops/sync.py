"""Barriers, syncs, fences, groups of wgmma; rings, which placing turns into these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from argus.ir.expr import Expr
from argus.ir.memory import BarrierRef, Ring
from argus.ir.op import Commit, GroupWait, Mentioned, Op, Synchronisation
from argus.ir.ops.tile import Tile


@dataclass(eq=False)
class BarrierOp(Synchronisation):
    """It arrives on an mbarrier, or waits for it."""

    barrier: BarrierRef


@dataclass(eq=False)
class RingOp(Op):
    """A step of a ring, by fill ``n``. Placing turns it into barriers or groups."""

    ring: Ring
    n: Expr


@dataclass(eq=False)
class BarrierExpect(BarrierOp):
    """One arrival that also announces ``bytes`` of asynchronous copies (one thread)."""

    bytes: Expr


@dataclass(eq=False)
class BarrierArrive(BarrierOp):
    """Arrive once per role, warpgroup, warp (after a warp sync) or thread.

    Except for "thread", one elected thread of each arrives. ``cluster``: arrive on that
    barrier in every block of the cluster.
    """

    per: Literal["role", "warpgroup", "warp", "thread"] = "role"
    cluster: bool = False


@dataclass(eq=False)
class BarrierWait(BarrierOp):
    """All threads of the role wait for completion number ``n`` of the barrier.

    Completions count from 0; parity is ``n % 2``. ``n`` may be -1 ("before the first"),
    which never blocks.
    """

    n: Expr


@dataclass(eq=False)
class Sync(Synchronisation):
    """All ``threads`` threads of the group wait for each other (bar.sync).

    ``barrier`` is the hardware named barrier: 0 is the whole block. ``arrive_only``
    arrives without waiting (bar.arrive). None until placed for role-level syncs.
    """

    threads: int
    barrier: int | None = None
    arrive_only: bool = False
    name: str | None = None
    """Author's name of the barrier ("turns" and ``ag.sync(name)``); None: this role."""


@dataclass(eq=False)
class ClusterSync(Synchronisation):
    """Every thread of every block of the cluster waits for all (barrier.cluster)."""


@dataclass(eq=False)
class Fence(Synchronisation):
    """A memory fence.

    "proxy.async" (ordinary accesses come before those of TMA and wgmma that are ordered
    after the fence), "mbarrier_init", "wgmma" (registers ready for wgmma),
    "threadfence".
    """

    kind: Literal["proxy.async", "mbarrier_init", "wgmma", "threadfence"]


@dataclass(eq=False)
class WgmmaCommit(Commit):
    """Close the group of wgmma instructions issued so far by each warpgroup."""


@dataclass(eq=False)
class WgmmaWait(GroupWait):
    """Wait until at most ``pending`` wgmma groups remain; ``tiles`` become readable."""

    tiles: Mentioned[tuple[Tile, ...]] = ()


@dataclass(eq=False)
class SetMaxRegisters(Synchronisation):
    """setmaxnreg for this role's warpgroups: ``grow`` uses .inc, else .dec."""

    count: int
    grow: bool


@dataclass(eq=False)
class RingAcquire(RingOp):
    """Producer: wait until the slot of fill ``n`` = 0, 1, ... may be overwritten.

    Copies with ``ring`` set, up to the matching RingPublish, belong to this fill.
    """


@dataclass(eq=False)
class RingPublish(RingOp):
    """Producer: everything for fill ``n`` has been issued."""


@dataclass(eq=False)
class RingWait(RingOp):
    """Consumer: wait until fill ``n`` is complete and visible."""


@dataclass(eq=False)
class RingRelease(RingOp):
    """Consumer: slot of fill ``n`` is no longer read by this role.

    Placing expands the four ring operations for the target: into mbarrier waits,
    expects and arrivals (roles, or TMA), or into cp.async groups and syncs (one role).
    """
