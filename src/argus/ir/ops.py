"""The operations of a program, and the register tiles they make.

The same operations are used before and after placing. Placing fills in
``Tile.layout`` (which thread and register holds each element) and ``op.plan`` (which
instruction does it, how it is split, which addresses it touches); it also inserts
waits, fences and syncs, as ordinary operations whose ``note`` says why.

Tiles are in static single assignment form; loops and branches carry tiles and scalars
explicitly. Scalars are symbols (:class:`~argus.ir.expr.Sym`) bound by Let, LoadScalar,
For and If.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.ir.annotations import Annotation as Annotation
from argus.ir.annotations import Assume as Assume
from argus.ir.annotations import Check as Check
from argus.ir.annotations import Expect as Expect
from argus.ir.annotations import Tag as Tag
from argus.ir.annotations import Trust as Trust
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import BarrierRef, GlobalTensor, GlobalView, Ring, SharedView
from argus.ir.op import Op

if TYPE_CHECKING:
    from argus.diagnostics import Span
    from argus.ir.placement import (
        MmaPlan,
        TmaPlan,
        VectorPlan,
        WgmmaPlan,
    )
    from argus.layout import Fragment

_ids = itertools.count()


@dataclass(eq=False)
class Tile:
    """A register tile: values spread over the threads of a role.

    ``dims`` names its axes (None: unnamed). ``layout`` is None until placed.
    ``storage`` is set by placing: tiles with the same storage share registers
    (a loop-carried accumulator and the dot that updates it).
    """

    dtype: DType
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    span: Span
    name: str = "t"
    layout: Fragment | None = None
    required: Fragment | None = None
    """The author's explicit layout, honoured or an error."""
    storage: int | None = None
    id: int = field(default_factory=lambda: next(_ids))

    def __repr__(self) -> str:
        dims = " ".join(
            f"{d or '_'}:{n}" for d, n in zip(self.dims, self.shape, strict=True)
        )
        return f"%{self.name}.{self.id}:{self.dtype}[{dims}]"


# ---------------------------------------------------------------- structure


@dataclass(eq=False)
class Block:
    """A sequence of operations run in order by one group of threads."""

    ops: list[AnyOp] = field(default_factory=list["AnyOp"])


@dataclass(eq=False)
class TileCarry:
    """A register tile carried by a loop: ``arg`` inside, ``result`` after."""

    init: Tile
    arg: Tile
    yielded: Tile
    result: Tile


@dataclass(eq=False)
class ScalarCarry:
    """A scalar carried by a loop. ``arg`` and ``result`` are "let" symbols."""

    init: Expr
    arg: Sym
    yielded: Expr
    result: Sym


@dataclass(eq=False)
class For(Op):
    """``for var in range(start, stop, step)``; step is positive.

    ``unroll``: 0 leaves it to the compiler, 1 forbids, n unrolls by n.
    """

    var: Sym
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    tiles: list[TileCarry] = field(default_factory=list["TileCarry"])
    scalars: list[ScalarCarry] = field(default_factory=list["ScalarCarry"])
    unroll: int = 0


@dataclass(eq=False)
class TileMerge:
    """A tile whose value depends on the branch taken."""

    then: Tile
    other: Tile
    result: Tile


@dataclass(eq=False)
class ScalarMerge:
    """A scalar whose value depends on the branch taken."""

    then: Expr
    other: Expr
    result: Sym


@dataclass(eq=False)
class If(Op):
    """A uniform branch. ``other`` may be empty."""

    cond: Expr
    then: Block
    other: Block
    tiles: list[TileMerge] = field(default_factory=list["TileMerge"])
    scalars: list[ScalarMerge] = field(default_factory=list["ScalarMerge"])


@dataclass(eq=False)
class Role:
    """A group of warps with its own program.

    ``warps`` counts the threads that run it / 32; ``first_warp`` is set by placing
    (warpgroups start at a multiple of 4). ``registers`` is the setmaxnreg budget per
    thread or None.
    """

    name: str
    warps: int
    registers: int | None
    body: Block
    span: Span
    first_warp: int | None = None


@dataclass(eq=False)
class Roles(Op):
    """Roles run concurrently from here to the end of the kernel."""

    roles: list[Role]


# ------------------------------------------------------------------ scalars


@dataclass(eq=False)
class Let(Op):
    """Name a scalar."""

    sym: Sym
    value: Expr


@dataclass(eq=False)
class LoadScalar(Op):
    """Read one element of a global tensor into a uniform scalar (int or float)."""

    sym: Sym
    tensor: GlobalTensor
    coords: tuple[Expr, ...]


# ----------------------------------------------------------- register tiles


@dataclass(eq=False)
class Full(Op):
    """Every element is ``value`` (a scalar expression)."""

    result: Tile
    value: Expr


@dataclass(eq=False)
class Index(Op):
    """Element = its coordinate along ``axis`` (i32)."""

    result: Tile
    axis: int


@dataclass(eq=False)
class Elementwise(Op):
    """``result[i] = fn(args[i]...)``; every tile argument has the result's shape.

    ``fn`` is a name in :data:`argus.ir.functions.FUNCTIONS`. Scalar arguments are
    expressions. Arithmetic on 16-bit floats is done in f32 and rounded once.
    """

    result: Tile
    fn: str
    args: tuple[Tile | Expr, ...]


@dataclass(eq=False)
class Cast(Op):
    """Element-wise conversion to ``result.dtype`` (round to nearest even)."""

    result: Tile
    src: Tile


@dataclass(eq=False)
class Broadcast(Op):
    """Source axis i is result axis ``axes[i]``; the other result axes are new."""

    result: Tile
    src: Tile
    axes: tuple[int, ...]


@dataclass(eq=False)
class Transpose(Op):
    """Result axis i is source axis ``axes[i]``. Registers do not move."""

    result: Tile
    src: Tile
    axes: tuple[int, ...]


@dataclass(eq=False)
class Reduce(Op):
    """Combine along ``axis``: fn in sum, max, min, prod, argmax, argmin.

    argmax and argmin give the i32 index of the first extreme. Placing leaves only
    reductions that stay inside a warp: ``plan``-free, the layout says which lanes hold
    the axis; a reduction across warps is split by placing into a warp reduction, a
    conversion through shared memory and a second reduction.
    """

    result: Tile
    src: Tile
    axis: int
    fn: str


@dataclass(eq=False)
class Split(Op):
    """Split axis ``axis`` of extent n into (n // inner, inner): a renaming of elements.

    Used by placing for reductions across warps. Registers do not move.
    """

    result: Tile
    src: Tile
    axis: int
    inner: int


@dataclass(eq=False)
class Slice(Op):
    """Elements ``start .. start + n - 1`` along ``axis``, n being the result's extent.

    The window is made of whole register digits (``Fragment.window``): each thread keeps
    some of its registers.
    """

    result: Tile
    src: Tile
    axis: int
    start: int


@dataclass(eq=False)
class Scan(Op):
    """Inclusive prefix sum along ``axis`` (``cumsum``)."""

    result: Tile
    src: Tile
    axis: int


@dataclass(eq=False)
class Reinterpret(Op):
    """The same registers under another layout (``result.required``)."""

    result: Tile
    src: Tile


@dataclass(eq=False)
class Convert(Op):
    """The same elements under another layout, moving registers within each thread only.

    Placing inserts it; a conversion between threads is expanded into a store to scratch
    shared memory, a sync and a load. Thread t's result register r is its source
    register ``result.layout.register_map(src.layout, ...)[r]``.
    """

    result: Tile
    src: Tile


@dataclass(eq=False)
class Dot(Op):
    """``result = acc + a @ b``: a is (.., M, K), b is (K, N), acc and result (M, N).

    ``acc`` None means zero. Operands are shared views or register tiles. On sm_90a
    the plan is a :class:`WgmmaPlan`: the operation issues asynchronously and a
    WgmmaWait must complete it before ``result`` is read; else a :class:`MmaPlan`.
    The author may ask for one of them by ``instruction``, and for wgmma's N by
    ``inst_n``.
    """

    result: Tile
    a: Tile | SharedView
    b: Tile | SharedView
    acc: Tile | None
    plan: WgmmaPlan | MmaPlan | None = None
    instruction: Literal["wgmma", "mma"] | None = None
    inst_n: int | None = None


# ------------------------------------------------------------------- memory


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


# ---------------------------------------------------------- synchronisation


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


# ------------------------------------------------- rings (before placing only)


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


AnyOp = (
    For | If | Roles | Let | LoadScalar | Full | Index | Elementwise | Cast | Broadcast
    | Transpose | Reduce | Split | Slice | Scan | Reinterpret | Convert | Dot
    | LoadGlobal | StoreGlobal | LoadShared | StoreShared | CopyAsync | CopyOut
    | CopyOutCommit | CopyOutWait | CpAsyncCommit | CpAsyncWait | CpAsyncArrive
    | BarrierExpect | BarrierArrive | BarrierWait | Sync | ClusterSync | Fence
    | WgmmaCommit | WgmmaWait | SetMaxRegisters | RingAcquire | RingPublish
    | RingWait | RingRelease | Annotation
)  # fmt: skip
"""Every operation. Readers match on it and end with ``assert_never``."""
