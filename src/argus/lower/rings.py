"""Pass: expand rings into barriers, or into cp.async groups and syncs.

Between roles, or with TMA, a ring is two arrays of mbarriers. Fill n waits on
``empty[n % S]`` for completion n // S - 1, arms ``full[n % S]`` with the bytes its
copies bring; drain n waits on ``full[n % S]`` for completion n // S, and its release
arrives on ``empty[n % S]``. Within one group, with cp.async only, fill n is the n-th
cp.async group: a drain waits until that group is done, then syncs. A group that refills
its own slots needs no empty barriers: :mod:`argus.lower.hazards` syncs where somebody
may still be reading.

A consumer whose slots are read by wgmma releases once per warpgroup, after the wait for
the wgmma; one that reads by ordinary loads releases once per warp.
"""

from dataclasses import dataclass, field

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.memory import BarrierAlloc, BarrierRef, Ring
from argus.ir.placement import TmaPlan
from argus.ir.program import Program
from argus.ir.walk import blocks
from argus.lower.affine import Linear, add, constant, expression
from argus.lower.counters import operations, pending_fills
from argus.lower.groups import (
    Group,
    before_roles,
    groups,
    has_roles,
    rewrite,
    walk_group,
)
from argus.lower.touched import async_reads


@dataclass(eq=False)
class _Use:
    """What the groups of a program do with one ring."""

    producers: list[Group] = field(default_factory=list[Group])
    consumers: list[Group] = field(default_factory=list[Group])
    bytes: dict[int, int] = field(default_factory=dict[int, int])
    """Bytes that TMA brings in each fill, by RingAcquire."""
    cp_async: bool = False
    stores: bool = False
    by_async: bool = False
    """Somebody reads a slot through the asynchronous proxy (wgmma, TMA store)."""
    by_stores: set[int] = field(default_factory=set[int])
    """Groups that read slots by TMA stores."""
    by_loads: set[int] = field(default_factory=set[int])
    """Groups that read slots by ordinary loads."""
    pending: dict[int, int] = field(default_factory=dict[int, int])
    """Fills that may still be in flight after each RingWait."""
    filled: Linear | None = None
    """Fills that common code makes in all; ``in_flight``: those it does not drain."""
    in_flight: int | None = 0

    @property
    def tma(self) -> bool:
        return any(self.bytes.values())

    def releases(self, group: Group) -> int:
        """Arrivals with which a consumer releases a slot."""
        by_warp = id(group) in self.by_loads | self.by_stores or not group.aligned
        return group.warps if by_warp else group.warpgroups


def expand_rings(program: Program) -> None:
    """Replace the four ring operations; create the barriers they need.

    Raises ArgusError: AG0413 (nobody fills or drains), AG0416 (a copy of a fill under a
    loop or branch of its own), AG0417 (same role does both).
    """
    found = groups(program)
    for ring in program.rings:
        use = _survey(ring, found)
        _check(ring, use)
        if use.tma or has_roles(program):
            _make_barriers(program, ring, use)
        for group in found:

            def rule(
                op: o.AnyOp, ring: Ring = ring, use: _Use = use, group: Group = group
            ) -> list[o.AnyOp] | None:
                return _expand(op, ring, use, group)

            rewrite(group.block, rule)
        for group in found:
            if group.role is None and group in use.producers:
                before_roles(group.block, _finish(ring, use))


def _survey(ring: Ring, found: list[Group]) -> _Use:
    use = _Use()
    fields = set(map(id, ring.fields.values()))
    for group in found:
        for op in walk_group(group.block):
            match op:
                case o.RingAcquire() if op.ring is ring:
                    if group not in use.producers:
                        use.producers.append(group)
                case o.RingWait() if op.ring is ring:
                    if group not in use.consumers:
                        use.consumers.append(group)
                case o.CopyAsync() if op.ring is ring:
                    ring.cluster = ring.cluster or op.multicast > 1
                    use.cp_async = use.cp_async or not isinstance(op.plan, TmaPlan)
                case o.StoreShared() if id(op.view.alloc) in fields:
                    use.stores = True
                case o.LoadShared() if id(op.view.alloc) in fields:
                    use.by_loads.add(id(group))
                case _:
                    if any(id(v.alloc) in fields for v in async_reads(op)):
                        use.by_async = True
                        if isinstance(op, o.CopyOut):
                            use.by_stores.add(id(group))
        _count_bytes(ring, group.block, use)
        use.pending.update(pending_fills(group.block, ring))
        if group.role is None and group in use.producers:
            use.filled = operations(group.block, ring, o.RingPublish)
            drained = operations(group.block, ring, o.RingWait)
            use.in_flight = constant(add(use.filled, drained, -1))
    return use


def _count_bytes(ring: Ring, block: o.Block, use: _Use) -> None:
    """Sum the TMA bytes between each acquire and publish, in their own block."""
    current: o.RingAcquire | None = None
    for op in block.ops:
        match op:
            case o.RingAcquire() if op.ring is ring:
                current = op
                use.bytes[id(op)] = 0
            case o.RingPublish() if op.ring is ring:
                current = None
            case o.CopyAsync() if op.ring is ring and isinstance(op.plan, TmaPlan):
                if current is None:
                    raise fail(
                        "AG0416",
                        op.span,
                        f"a copy into ring `{ring.name}` that not every fill makes",
                        help="load each field of the slot directly in the fill, not "
                        "under a loop or branch inside it",
                    )
                use.bytes[id(current)] += op.plan.bytes
            case o.Roles():
                pass
            case _:
                for inner in blocks(op):
                    _count_bytes(ring, inner, use)


def _check(ring: Ring, use: _Use) -> None:
    if not use.producers or not use.consumers:
        missing = "fills" if not use.producers else "drains"
        raise fail("AG0413", ring.span, f"nobody {missing} ring `{ring.name}`")
    if len(use.producers) > 1:
        names = " and ".join(f"`{g.name}`" for g in use.producers)
        message = f"ring `{ring.name}` is filled by {names}; only one role may"
        raise fail("AG0413", ring.span, message)
    producer = use.producers[0]
    if producer.role is not None and producer in use.consumers:
        raise fail(
            "AG0417",
            ring.span,
            f"role `{producer.name}` both fills and drains ring `{ring.name}`",
            help="split it into two roles, or write the kernel without roles",
        )


def _make_barriers(program: Program, ring: Ring, use: _Use) -> None:
    producer = use.producers[0]
    full = int(use.tma)
    if use.cp_async or use.stores:
        full += producer.threads
    ring.full = BarrierAlloc(
        f"{ring.name}_full", ring.stages, full, ring.span, "ring full"
    )
    program.barriers.append(ring.full)
    if producer.role is None:
        return
    arrivals = sum(use.releases(g) for g in use.consumers)
    arrivals *= program.cluster if ring.cluster else 1
    ring.empty = BarrierAlloc(
        f"{ring.name}_empty", ring.stages, arrivals, ring.span, "ring empty"
    )
    program.barriers.append(ring.empty)


def _expand(op: o.AnyOp, ring: Ring, use: _Use, group: Group) -> list[o.AnyOp] | None:
    match op:
        case o.RingAcquire() if op.ring is ring:
            return _acquire(op, ring, use)
        case o.RingPublish() if op.ring is ring:
            return _publish(ring, use, op.n % ring.stages, op.span)
        case o.RingWait() if op.ring is ring:
            return _wait(op, ring, use)
        case o.RingRelease() if op.ring is ring:
            return _release(op, ring, use, group)
        case o.CopyAsync() if op.ring is ring and isinstance(op.plan, TmaPlan):
            assert ring.full is not None
            op.barrier = BarrierRef(ring.full, op.dst.stage)
            return None
        case _:
            return None


def _acquire(op: o.RingAcquire, ring: Ring, use: _Use) -> list[o.AnyOp]:
    slot, lap = op.n % ring.stages, op.n // ring.stages
    ops: list[o.AnyOp] = []
    if ring.empty is not None:
        wait = BarrierRef(ring.empty, slot)
        note = f"slot of {ring.name} is free"
        ops.append(o.BarrierWait(barrier=wait, n=lap - 1, span=op.span, note=note))
    if ring.full is not None and use.tma:
        full = BarrierRef(ring.full, slot)
        expected = Const(use.bytes[id(op)])
        note = f"bytes that this fill of {ring.name} brings"
        ops.append(
            o.BarrierExpect(barrier=full, bytes=expected, span=op.span, note=note)
        )
    return ops


def _publish(ring: Ring, use: _Use, slot: Expr, span: Span) -> list[o.AnyOp]:
    if ring.full is None:
        note = f"closes the fill of {ring.name}"
        return [o.CpAsyncCommit(span=span, note=note)]
    ref = BarrierRef(ring.full, slot)
    if use.stores:
        note = f"this thread's part of {ring.name} is written"
        ops: list[o.AnyOp] = []
        fence: list[o.AnyOp] = []
        if use.by_async:
            fence.append(o.Fence(kind="proxy.async", span=span, note=note))
        if use.cp_async:
            ops += [
                o.CpAsyncCommit(span=span, note=note),
                o.CpAsyncWait(pending=0, span=span, note=note),
            ]
        return [
            *ops,
            *fence,
            o.BarrierArrive(barrier=ref, per="thread", span=span, note=note),
        ]
    if use.cp_async:
        note = f"arrives when this thread's copies into {ring.name} are done"
        return [o.CpAsyncArrive(barrier=ref, span=span, note=note)]
    return []


def _wait(op: o.RingWait, ring: Ring, use: _Use) -> list[o.AnyOp]:
    span = op.span
    fence = o.Fence(
        kind="proxy.async", span=span, note="this slot's writes, for wgmma and TMA"
    )
    needs_fence = use.by_async and (use.cp_async or use.stores)
    if ring.full is not None:
        wait = o.BarrierWait(
            barrier=BarrierRef(ring.full, op.n % ring.stages),
            n=op.n // ring.stages,
            span=span,
            note=f"slot of {ring.name} is full",
        )
        return [wait, fence] if needs_fence else [wait]
    note = f"this thread's copies into {ring.name} have landed"
    pending = use.pending.get(id(op), 0)
    return [
        o.CpAsyncWait(pending=pending, span=span, note=note),
        *([fence] if needs_fence else []),
        o.Sync(threads=0, span=span, note="and those of all other threads"),
    ]


def _finish(ring: Ring, use: _Use) -> list[o.AnyOp]:
    """Wait for fills that nobody drains: no copy may land after the block has ended.

    The last fills of all slots are waited for, one that is drained or that never was
    (numbers below 0) at no cost.

    Raises ArgusError AG0416 when the number of fills depends on a branch.
    """
    if use.in_flight == 0 or len(use.consumers) != 1 or use.consumers[0].role:
        return []
    span = ring.span
    note = f"no copy into {ring.name} may land after the block has ended"
    if ring.full is None:
        return [o.CpAsyncWait(pending=0, span=span, note=note)]
    total = None if use.filled is None else expression(use.filled)
    if total is None:
        raise fail(
            "AG0416",
            span,
            f"how many fills of ring `{ring.name}` are in flight when the block ends "
            "depends on a branch",
            help="fill in every iteration, or give filling a role of its own",
        )
    ops: list[o.AnyOp] = []
    for back in range(min(ring.stages, use.in_flight or ring.stages), 0, -1):
        n = binary("-", total, back)
        ref = BarrierRef(ring.full, n % ring.stages)
        ops.append(o.BarrierWait(barrier=ref, n=n // ring.stages, span=span, note=note))
    return ops


def _release(op: o.RingRelease, ring: Ring, use: _Use, group: Group) -> list[o.AnyOp]:
    if ring.empty is None:
        return []
    by_warp = use.releases(group) == group.warps
    before: list[o.AnyOp] = []
    if id(group) in use.by_stores:
        note = f"TMA has read the slot of {ring.name}"
        before = [
            o.CopyOutWait(pending=0, read=True, span=op.span, note=note),
            o.Sync(threads=0, span=op.span, note="which one thread knows"),
        ]
    return [
        *before,
        o.BarrierArrive(
            barrier=BarrierRef(ring.empty, op.n % ring.stages),
            per="warp" if by_warp else "warpgroup",
            cluster=ring.cluster,
            span=op.span,
            note=f"slot of {ring.name} is read",
        ),
    ]
