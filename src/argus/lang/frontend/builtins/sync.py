"""Explicit barriers, fences, named barriers, turns."""

from __future__ import annotations

from typing import Literal, cast

from argus.diagnostics import Span
from argus.ir.expr import Const
from argus.ir.memory import BarrierAlloc, BarrierRef
from argus.ir.ops import (
    BarrierArrive,
    BarrierExpect,
    BarrierWait,
    ClusterSync,
    CpAsyncArrive,
    CpAsyncCommit,
    CpAsyncWait,
    Fence,
    Sync,
    WgmmaWait,
)
from argus.isa.mbarrier import MAX_COUNT
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.values import (
    NOTHING,
    BarriersValue,
    BarrierValue,
    TurnsValue,
    Value,
)
from argus.lang.frontend.withs import open_turn, turn_name

Per = Literal["role", "warpgroup", "warp", "thread"]


@builtin("barriers")
def barriers(call: BoundCall) -> Value:
    """An array of mbarriers."""
    e = call.e
    count, arrivals = call.positive("n", 1), call.positive("arrivals", 1)
    if count > 1024:
        raise e.fail(
            "AG0507",
            call.where("n"),
            f"{count} barriers are too many",
            notes=("an array has at most 1024",),
        )
    if arrivals > MAX_COUNT:
        raise e.fail(
            "AG0409",
            call.where("arrivals"),
            f"a barrier of {arrivals} arrivals is not possible",
            notes=(f"it counts to {MAX_COUNT} (PTX ISA, mbarrier)",),
        )
    made = BarrierAlloc(e.own_name(call.span, "bar"), count, arrivals, call.span)
    e.program.barriers.append(made)
    return BarriersValue(made)


def one_barrier(
    call: BoundCall, value: Value | None, where: Span | None = None
) -> BarrierRef:
    """One barrier; an array of one counts as that. ``where`` else is the call."""
    match value:
        case BarrierValue(ref=ref):
            return ref
        case BarriersValue(alloc=alloc) if alloc.count == 1:
            return BarrierRef(alloc, Const(0))
        case _:
            raise call.e.fail(
                "AG0105",
                where or call.span,
                "one barrier is needed here",
                help="write `bar[i]`",
            )


@builtin("Barrier.expect")
def expect(call: BoundCall) -> Value:
    """Arrive and announce bytes."""
    ref = one_barrier(call, call.receiver)
    call.e.emit(BarrierExpect(ref, call.integer("bytes"), span=call.span))
    return NOTHING


@builtin("Barrier.arrive")
def arrive(call: BoundCall) -> Value:
    """Arrive."""
    ref = one_barrier(call, call.receiver)
    per = call.choice("per", ("role", "warpgroup", "warp", "thread")) or "role"
    cluster = call.flag("cluster", False)
    call.e.emit(BarrierArrive(ref, cast(Per, per), cluster, span=call.span))
    return NOTHING


@builtin("Barrier.wait")
def wait(call: BoundCall) -> Value:
    """Wait for the n-th completion."""
    ref = one_barrier(call, call.receiver)
    call.e.emit(BarrierWait(ref, call.integer("n"), span=call.span))
    return NOTHING


@builtin("sync")
def sync(call: BoundCall) -> Value:
    """The role, the block, or a named barrier."""
    e = call.e
    if call.given("name"):
        e.emit(Sync(_threads(call), name=call.label("name"), span=call.span))
        return NOTHING
    if call.given("threads"):
        raise call.wrong("threads", "`threads` goes with the name of a barrier")
    if e.role is not None:
        e.emit(Sync(e.role.warps * e.program.target.warp_threads, span=call.span))
        return NOTHING
    op = Sync(0, barrier=0, span=call.span)
    e.block_syncs.append(op)
    e.emit(op)
    return NOTHING


def _threads(call: BoundCall) -> int:
    if not call.given("threads"):
        raise call.e.fail(
            "AG0420",
            call.span,
            "a named barrier needs the number of its threads",
            help="write `threads=`, those that wait and those that arrive together",
        )
    threads = call.int("threads")
    most = call.e.program.target.max_threads
    warp = call.e.program.target.warp_threads
    if threads % warp or not warp <= threads <= most:
        raise call.e.fail(
            "AG0420",
            call.where("threads"),
            f"a named barrier of {threads} threads is not possible",
            notes=(f"it counts whole warps: a multiple of {warp} up to {most}",),
        )
    return threads


@builtin("arrive")
def arrive_named(call: BoundCall) -> Value:
    """Arrive on a named barrier without waiting."""
    call.e.emit(
        Sync(_threads(call), arrive_only=True, name=call.label("name"), span=call.span)
    )
    return NOTHING


# ----------------------------------------------------------------------- turns


@builtin("turns")
def turns(call: BoundCall) -> Value:
    """Roles that take turns."""
    count = call.positive("count")
    if not 2 <= count <= 8:
        raise call.e.fail(
            "AG0507", call.where("count"), "two to eight roles can take turns"
        )
    return TurnsValue(call.label("name"), count)


def _turn(call: BoundCall) -> tuple[TurnsValue, int, int]:
    e, own = call.e, call.receiver
    assert isinstance(own, TurnsValue)
    i = call.int("i")
    if not 0 <= i < own.count:
        raise e.fail(
            "AG0104",
            call.where("i"),
            f"there is no turn {i}: they are 0 to {own.count - 1}",
        )
    if e.role is None:
        raise e.fail("AG0422", call.span, "turns are taken by roles")
    return own, i, 2 * e.role.warps * e.program.target.warp_threads


@builtin("Turns.wait")
def turns_wait(call: BoundCall) -> Value:
    """Wait for one's turn."""
    own, i, threads = _turn(call)
    open_turn(call.e, own.name, i, own.count, call.span)
    call.e.emit(Sync(threads, name=turn_name(own.name, i), span=call.span))
    return NOTHING


@builtin("Turns.next")
def turns_next(call: BoundCall) -> Value:
    """Give the turn to the next role."""
    own, i, threads = _turn(call)
    name = turn_name(own.name, (i + 1) % own.count)
    call.e.emit(Sync(threads, arrive_only=True, name=name, span=call.span))
    return NOTHING


# ----------------------------------------------------------- fences and groups


@builtin("fence_async")
def fence_async(call: BoundCall) -> Value:
    """Ordinary accesses come before asynchronous ones that are ordered after them."""
    call.e.emit(Fence("proxy.async", span=call.span))
    return NOTHING


@builtin("cluster_sync")
def cluster_sync(call: BoundCall) -> Value:
    """All blocks of the cluster."""
    call.e.emit(ClusterSync(span=call.span))
    return NOTHING


@builtin("cp_async_commit")
def cp_async_commit(call: BoundCall) -> Value:
    """Close a group of cp.async copies."""
    call.e.emit(CpAsyncCommit(span=call.span))
    return NOTHING


def _pending(call: BoundCall) -> int:
    pending = call.int("pending", 0)
    if not 0 <= pending <= 63:
        raise call.wrong("pending", "`pending` is 0 to 63")
    return pending


@builtin("cp_async_wait")
def cp_async_wait(call: BoundCall) -> Value:
    """Wait for groups of cp.async copies."""
    call.e.emit(CpAsyncWait(_pending(call), span=call.span))
    return NOTHING


@builtin("cp_async_arrive")
def cp_async_arrive(call: BoundCall) -> Value:
    """Arrive when this thread's copies completed."""
    ref = one_barrier(call, call.value("barrier"))
    call.e.emit(CpAsyncArrive(ref, span=call.span))
    return NOTHING


@builtin("wgmma_wait")
def wgmma_wait(call: BoundCall) -> Value:
    """Wait for groups of wgmma instructions."""
    pending = _pending(call)
    if pending > 7:
        raise call.wrong("pending", "`pending` is 0 to 7")
    call.e.emit(WgmmaWait(pending, span=call.span))
    return NOTHING
