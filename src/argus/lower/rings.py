"""Pass: expand rings into barriers, or into cp.async groups and syncs.

Between roles, or with TMA, a ring is two arrays of mbarriers. Fill n waits on
``empty[n % S]`` for completion n // S - 1, arms ``full[n % S]`` with the bytes its
copies bring; drain n waits on ``full[n % S]`` for completion n // S, and its release
arrives on ``empty[n % S]``. Within one group, with cp.async only, fill n is the n-th
cp.async group: a drain waits until that group is done, then syncs. A group that refills
its own slots needs no empty barriers: :mod:`argus.lower.hazards` syncs where somebody
may still be reading.

Where TMA alone fills, one thread issues it, and the warps of the role would not meet: a
role of several warps syncs after it has waited for a slot, since a warp that falls two
completions behind cannot tell them apart (`mbarrier` waits for a parity).

A consumer whose slots are read by wgmma releases once per warpgroup, after the wait for
the wgmma; one that reads by ordinary loads releases once per warp. So does one of which
a drain may end without a product: nothing holds its warps together, and a slot that one
of them releases could be filled again before another has seen the fill before. What
threads have read or written, :mod:`argus.lower.hazards` fences before the arrival where
TMA or wgmma come next.
"""

from typing import assert_never

from argus.diagnostics import Span, fail
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.ir.memory import BarrierAlloc, BarrierRef, Ring
from argus.ir.placement import TmaPlan
from argus.ir.program import Program
from argus.lower.affine import expression
from argus.lower.groups import Group, before_roles, groups, has_roles, rewrite
from argus.lower.ring_use import RingUse, check, survey


def expand_rings(program: Program) -> None:
    """Replace the four ring operations; create the barriers they need.

    Raises ArgusError: AG0413 (nobody fills or drains), AG0416 (a copy of a fill under a
    loop or branch of its own), AG0417 (same role does both).
    """
    found = groups(program)
    for ring in program.rings:
        use = survey(ring, found)
        check(ring, use)
        if use.tma or has_roles(program):
            _make_barriers(program, ring, use)
        for group in found:

            def rule(
                op: o.AnyOp, ring: Ring = ring, use: RingUse = use, group: Group = group
            ) -> list[o.AnyOp] | None:
                return _expand(op, ring, use, group)

            rewrite(group.block, rule)
        for group in found:
            if group.role is None and group in use.producers:
                before_roles(group.block, _finish(ring, use))


def _make_barriers(program: Program, ring: Ring, use: RingUse) -> None:
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


def _expand(
    op: o.AnyOp, ring: Ring, use: RingUse, group: Group
) -> list[o.AnyOp] | None:
    match op:
        case o.RingAcquire() if op.ring is ring:
            return _acquire(op, ring, use, group)
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
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)


def _acquire(
    op: o.RingAcquire, ring: Ring, use: RingUse, group: Group
) -> list[o.AnyOp]:
    slot, lap = op.n % ring.stages, op.n // ring.stages
    ops: list[o.AnyOp] = []
    if ring.empty is not None:
        wait = BarrierRef(ring.empty, slot)
        note = f"slot of {ring.name} is free"
        ops.append(o.BarrierWait(barrier=wait, n=lap - 1, span=op.span, note=note))
        if group.warps > 1 and not (use.cp_async or use.stores):
            # One thread copies for the role: nothing else would hold its warp until
            # the others have seen this completion, and they would take a later one
            # for an earlier one.
            note = "no warp of the role falls a lap behind"
            ops.append(o.Sync(threads=0, span=op.span, note=note))
    if ring.full is not None and use.tma:
        full = BarrierRef(ring.full, slot)
        expected = Const(use.bytes[id(op)])
        note = f"bytes that this fill of {ring.name} brings"
        ops.append(
            o.BarrierExpect(barrier=full, bytes=expected, span=op.span, note=note)
        )
    return ops


def _publish(ring: Ring, use: RingUse, slot: Expr, span: Span) -> list[o.AnyOp]:
    if ring.full is None:
        note = f"closes the fill of {ring.name}"
        return [o.CpAsyncCommit(span=span, note=note)]
    ref = BarrierRef(ring.full, slot)
    if use.stores:
        note = f"this thread's part of {ring.name} is written"
        ops: list[o.AnyOp] = []
        if use.cp_async:
            ops += [
                o.CpAsyncCommit(span=span, note=note),
                o.CpAsyncWait(pending=0, span=span, note=note),
            ]
        ops.append(o.BarrierArrive(barrier=ref, per="thread", span=span, note=note))
        return ops
    if use.cp_async:
        note = f"arrives when this thread's copies into {ring.name} are done"
        return [o.CpAsyncArrive(barrier=ref, span=span, note=note)]
    return []


def _wait(op: o.RingWait, ring: Ring, use: RingUse) -> list[o.AnyOp]:
    span = op.span
    if ring.full is not None:
        note = "this slot's writes, for wgmma and TMA"
        fence = o.Fence(kind="proxy.async", span=span, note=note)
        # Copies that arrive by themselves are fenced by who waits for them. All else
        # is fenced by who has accessed it (`hazards`).
        needs_fence = use.by_async and use.cp_async and not use.stores
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
        o.Sync(threads=0, span=span, note="and those of all other threads"),
    ]


def _finish(ring: Ring, use: RingUse) -> list[o.AnyOp]:
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


def _release(
    op: o.RingRelease, ring: Ring, use: RingUse, group: Group
) -> list[o.AnyOp]:
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
