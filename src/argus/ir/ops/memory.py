"""Loads, stores, and asynchronous copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.ir.expr import Const, Expr
from argus.ir.memory import BarrierRef, GlobalTensor, GlobalView, Ring, SharedView
from argus.ir.op import Access, Commit, Copy, GroupWait, Operand, Result
from argus.ir.ops.sync import BarrierOp
from argus.ir.ops.tile import Tile

if TYPE_CHECKING:
    from argus.ir.placement import TmaPlan, VectorPlan


@dataclass(eq=False)
class LoadGlobal(Access):
    """Global memory to registers; elements outside are ``fill``.

    ``mask`` is a bool tile: elements where it is false are ``fill`` too.
    """

    result: Result[Tile]
    view: GlobalView
    fill: Expr = field(default_factory=lambda: Const(0))
    mask: Operand[Tile] | None = None
    evict: str | None = None
    plan: VectorPlan | None = None


@dataclass(eq=False)
class StoreGlobal(Access):
    """Registers to global memory; elements outside (or with a false mask) are skipped.

    ``atomic`` is None, "add", "max" or "min": memory becomes what it holds and the
    element come to (relaxed, device scope). An :class:`Atomic` has further functions.
    """

    view: GlobalView
    src: Operand[Tile]
    mask: Operand[Tile] | None = None
    atomic: str | None = None
    evict: str | None = None
    plan: VectorPlan | None = None

    @property
    def stored(self) -> str | None:
        """The function by which memory changes; None: it becomes the element."""
        return self.atomic

    def keeps_residues(self, tile: Tile) -> bool:
        """What is stored may be added; another function compares."""
        return tile is self.src and self.atomic in (None, "add")

    def stored_as_it_is(self, tile: Tile) -> GlobalTensor | None:
        """That of the view, where memory becomes the element."""
        whole = tile is self.src and self.atomic is None
        return self.view.tensor if whole else None


@dataclass(eq=False)
class Atomic(StoreGlobal):
    """A store that gives what each element was before, changed by nobody in between.

    ``atomic`` is "add", "max", "min", "exchange" (memory becomes the element) or "cas"
    (it does where it holds what ``expected`` has). Where nothing is stored ``result``
    is 0. With ``plan.unique`` only the lowest holder of an element gets it: placing
    hands it on to the others.
    """

    result: Result[Tile] = field(kw_only=True)
    expected: Operand[Tile] | None = None

    @property
    def stored(self) -> str | None:
        """As what it counts where only memory matters: an exchange stores."""
        return None if self.atomic in ("exchange", "cas") else self.atomic


@dataclass(eq=False)
class LoadShared(Access):
    """Shared memory to registers (ld.shared or ldmatrix)."""

    result: Result[Tile]
    view: SharedView
    plan: VectorPlan | None = None


@dataclass(eq=False)
class StoreShared(Access):
    """Registers to shared memory (st.shared or stmatrix)."""

    view: SharedView
    src: Operand[Tile]
    plan: VectorPlan | None = None

    def filled(self) -> SharedView:
        """What it stores to."""
        return self.view

    def keeps_residues(self, tile: Tile) -> bool:
        """It is stored as it is."""
        del tile
        return True


@dataclass(eq=False)
class CopyAsync(Copy):
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

    def filled(self) -> SharedView:
        """Where it copies to."""
        return self.dst


@dataclass(eq=False)
class CopyOut(Copy):
    """Shared to global by TMA (bulk async group); elements outside are skipped."""

    dst: GlobalView
    src: SharedView
    plan: TmaPlan | None = None


@dataclass(eq=False)
class CopyOutCommit(Commit):
    """cp.async.bulk.commit_group: closes the group of TMA stores issued so far."""


@dataclass(eq=False)
class CopyOutWait(GroupWait):
    """Wait until at most ``pending`` TMA store groups remain.

    ``read``: wait only until their shared memory has been read.
    """

    read: bool = True


@dataclass(eq=False)
class CpAsyncCommit(Commit):
    """Close the group of cp.async copies issued so far by each thread."""


@dataclass(eq=False)
class CpAsyncWait(GroupWait):
    """Each thread waits until at most ``pending`` of its cp.async groups remain."""


@dataclass(eq=False)
class CpAsyncArrive(BarrierOp):
    """Arrive on ``barrier`` when this thread's earlier cp.async copies completed.

    (cp.async.mbarrier.arrive.noinc: every thread of the role arrives once).
    """
