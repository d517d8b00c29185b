"""Loads, stores, and asynchronous copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.ir.expr import Const, Expr
from argus.ir.memory import BarrierRef, GlobalView, Ring, SharedView
from argus.ir.op import Op
from argus.ir.ops.tile import Tile

if TYPE_CHECKING:
    from argus.ir.placement import TmaPlan, VectorPlan


@dataclass(eq=False)
class LoadGlobal(Op):
    """Global memory to registers; elements outside are ``fill``.

    ``mask`` is a bool tile: elements where it is false are ``fill`` too.
    """

    result: Tile
    view: GlobalView
    fill: Expr = field(default_factory=lambda: Const(0))
    mask: Tile | None = None
    evict: str | None = None
    plan: VectorPlan | None = None


@dataclass(eq=False)
class StoreGlobal(Op):
    """Registers to global memory; elements outside (or with a false mask) are skipped.

    ``atomic`` is None or "add" (relaxed, device scope).
    """

    view: GlobalView
    src: Tile
    mask: Tile | None = None
    atomic: str | None = None
    evict: str | None = None
    plan: VectorPlan | None = None


@dataclass(eq=False)
class LoadShared(Op):
    """Shared memory to registers (ld.shared or ldmatrix)."""

    result: Tile
    view: SharedView
    plan: VectorPlan | None = None


@dataclass(eq=False)
class StoreShared(Op):
    """Registers to shared memory (st.shared or stmatrix)."""

    view: SharedView
    src: Tile
    plan: VectorPlan | None = None


@dataclass(eq=False)
class CopyAsync(Op):
    """Global to shared without passing through registers.

    ``via``: "tma", "cp_async" or None (the compiler's choice for the target). A TMA
    copy completes on ``barrier`` by bytes. A cp.async copy completes with its group
    (CpAsyncCommit / CpAsyncWait). Elements outside the tensor become zero.
    ``multicast``: number of blocks of the cluster that share this tile; each loads its
    1/n of the rows and sends it to all.
    """

    dst: SharedView
    src: GlobalView
    barrier: BarrierRef | None = None
    via: Literal["tma", "cp_async"] | None = None
    multicast: int = 1
    evict: str | None = None
    ring: Ring | None = None
    plan: TmaPlan | VectorPlan | None = None


@dataclass(eq=False)
class CopyOut(Op):
    """Shared to global by TMA (bulk async group); elements outside are skipped."""

    dst: GlobalView
    src: SharedView
    plan: TmaPlan | None = None


@dataclass(eq=False)
class CopyOutCommit(Op):
    """cp.async.bulk.commit_group: closes the group of TMA stores issued so far."""


@dataclass(eq=False)
class CopyOutWait(Op):
    """Wait until at most ``pending`` TMA store groups remain.

    ``read``: wait only until their shared memory has been read.
    """

    pending: int
    read: bool = True


@dataclass(eq=False)
class CpAsyncCommit(Op):
    """Close the group of cp.async copies issued so far by each thread."""


@dataclass(eq=False)
class CpAsyncWait(Op):
    """Each thread waits until at most ``pending`` of its cp.async groups remain."""

    pending: int


@dataclass(eq=False)
class CpAsyncArrive(Op):
    """Arrive on ``barrier`` when this thread's earlier cp.async copies completed.

    (cp.async.mbarrier.arrive.noinc: every thread of the role arrives once).
    """

    barrier: BarrierRef
