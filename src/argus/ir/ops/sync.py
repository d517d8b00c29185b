"""Barriers, syncs, fences, groups of wgmma; rings, which placing turns into these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from argus.ir.expr import Expr
from argus.ir.memory import BarrierRef, Ring
from argus.ir.op import Op
from argus.ir.ops.tile import Tile


@dataclass(eq=False)
class BarrierExpect(Op):
    """One arrival that also announces ``bytes`` of asynchronous copies (one thread)."""

    barrier: BarrierRef
    bytes: Expr


@dataclass(eq=False)
class BarrierArrive(Op):
    """Arrive once per role, warpgroup, warp (after a warp sync) or thread.

    Except for "thread", one elected thread of each arrives. ``cluster``: arrive on that
    barrier in every block of the cluster.
    """

    barrier: BarrierRef
    per: Literal["role", "warpgroup", "warp", "thread"] = "role"
    cluster: bool = False


@dataclass(eq=False)
class BarrierWait(Op):
    """All threads of the role wait for completion number ``n`` of the barrier.

    Completions count from 0; parity is ``n % 2``. ``n`` may be -1 ("before the first"),
    which never blocks.
    """

    barrier: BarrierRef
    n: Expr


@dataclass(eq=False)
class Sync(Op):
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
class ClusterSync(Op):
    """Every thread of every block of the cluster waits for all (barrier.cluster)."""


@dataclass(eq=False)
class Fence(Op):
    """A memory fence.

    "proxy.async" (ordinary writes become visible to TMA and wgmma), "mbarrier_init",
    "wgmma" (registers ready for wgmma), "threadfence".
    """

    kind: Literal["proxy.async", "mbarrier_init", "wgmma", "threadfence"]


@dataclass(eq=False)
class WgmmaCommit(Op):
    """Close the group of wgmma instructions issued so far by each warpgroup."""


@dataclass(eq=False)
class WgmmaWait(Op):
    """Wait until at most ``pending`` wgmma groups remain; ``tiles`` become readable."""

    pending: int
    tiles: tuple[Tile, ...] = ()


@dataclass(eq=False)
class SetMaxRegisters(Op):
    """setmaxnreg for this role's warpgroups: ``grow`` uses .inc, else .dec."""

    count: int
    grow: bool


@dataclass(eq=False)
class RingAcquire(Op):
    """Producer: wait until the slot of fill ``n`` = 0, 1, ... may be overwritten.

    Copies with ``ring`` set, up to the matching RingPublish, belong to this fill.
    """

    ring: Ring
    n: Expr


@dataclass(eq=False)
class RingPublish(Op):
    """Producer: everything for fill ``n`` has been issued."""

    ring: Ring
    n: Expr


@dataclass(eq=False)
class RingWait(Op):
    """Consumer: wait until fill ``n`` is complete and visible."""

    ring: Ring
    n: Expr


@dataclass(eq=False)
class RingRelease(Op):
    """Consumer: slot of fill ``n`` is no longer read by this role.

    Placing expands the four ring operations for the target: into mbarrier waits,
    expects and arrivals (roles, or TMA), or into cp.async groups and syncs (one role).
    """

    ring: Ring
    n: Expr
