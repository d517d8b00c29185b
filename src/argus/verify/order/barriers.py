"""Arrivals, bytes and waits on mbarriers; rounds of named and cluster barriers.

A phase of an mbarrier is told from its neighbours by who can contribute to it: an
arrival (or a copy's bytes) belongs to the phase in progress only if it comes after the
completion before; a wait for completion n returns rightly only if it starts after
completion n - 1 and no thread can bring completion n + 1 before it has returned.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.isa.mbarrier import MAX_TX
from argus.verify.order.barrier_state import BarrierState, Waited, Waiting
from argus.verify.order.clock import CAUSE, Clock
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.state import GroupState, Steps

__all__ = ["arrive", "bytes_land", "expect", "meet", "wait"]


def arrive(
    findings: OrderFindings,
    group: GroupState,
    op: o.AnyOp,
    barrier: BarrierState,
    count: int,
    given: Clock,
    sure: int,
) -> None:
    """``count`` arrivals that hand on ``given``.

    ``sure``: what must have happened for each who arrives.
    """
    barrier.contribute(given)
    here = group.did(op, "arrives at {}", barrier)
    if not barrier.latest(sure):
        report(
            findings,
            "AG0409",
            group,
            op,
            f"this arrival at {barrier.name} does not come after completion"
            f" {barrier.completed - 1}, so that it may count for an earlier phase:"
            f" {barrier.count} arrivals complete a phase",
            "may count for the wrong phase",
            events=(*group.recent, here),
        )
    if count > barrier.pending:
        report(
            findings,
            "AG0409",
            group,
            op,
            f"{count} arrivals at {barrier.name}, where the phase in progress lacks"
            f" {barrier.pending} of {barrier.count}",
            f"{count} arrivals",
            events=(*barrier.arrivals[-3:], here),
        )
        count = barrier.pending
    barrier.pending -= count
    barrier.arrivals.append(here)
    group.recent.append(here)
    _complete(findings, barrier)


def expect(
    findings: OrderFindings,
    group: GroupState,
    op: o.BarrierExpect,
    barrier: BarrierState,
    nbytes: int,
) -> None:
    """One arrival, by the elected thread, that announces bytes."""
    barrier.tx += nbytes
    if nbytes < 0 or abs(barrier.tx) > MAX_TX:
        report(
            findings,
            "AG0405",
            group,
            op,
            f"{nbytes} bytes are announced on {barrier.name}, which then lacks"
            f" {barrier.tx}: it counts to {MAX_TX}",
            f"{barrier.tx} bytes",
            events=(group.did(op, "expects bytes on {}", barrier),),
        )
    barrier.expect = (op, group, group.iteration)
    first = group.know.clock(slice(0, 1))
    arrive(findings, group, op, barrier, 1, first, first[CAUSE])


def bytes_land(
    findings: OrderFindings,
    group: GroupState,
    op: o.CopyAsync,
    barrier: BarrierState,
    nbytes: int,
) -> None:
    """Bytes of a copy by the group's elected thread count on the barrier."""
    cause = group.know.row(CAUSE, 0)
    if not barrier.latest(cause):
        told = barrier.expect
        at, where, when = (
            (op, group, group.iteration) if told is None else (told[0], *told[1:])
        )
        report(
            findings,
            "AG0405",
            where,
            at,
            f"the copy of line {op.span.line} brings {nbytes} bytes to {barrier.name},"
            f" but completion {barrier.completed - 1} needs not wait for them: fewer"
            " bytes are expected than the copies bring",
            "fewer bytes expected than copied",
            iteration=when,
            events=(
                event(where, at, f"expects bytes on {barrier.name}", when),
                event(group, op, f"brings {nbytes} bytes more", group.iteration),
            ),
        )
    barrier.contribution[CAUSE] |= cause
    barrier.tx -= nbytes
    _complete(findings, barrier)


_AHEAD = (
    "one warp of the role has gone on, and others may still wait: arrive per warp, or "
    "let the role meet in ag.sync() before it arrives"
)


def _complete(findings: OrderFindings, barrier: BarrierState) -> None:
    if barrier.pending or barrier.tx:
        return
    cause = barrier.contribution[CAUSE]
    for waited in barrier.waits:
        if waited.n != barrier.completed - 1:
            continue
        returned = cause >> waited.base & waited.group.ones
        if returned == waited.group.ones:
            continue
        report(
            findings,
            "AG0404",
            waited.group,
            waited.op,
            f"completion {waited.n + 1} of {barrier.name} may come before this wait"
            f" for completion {waited.n} has returned, which then waits for one more",
            "its parity is ambiguous",
            iteration=waited.iteration,
            events=(
                *barrier.arrivals[-4:],
                event(
                    waited.group,
                    waited.op,
                    f"still waits for completion {waited.n} of {barrier.name}",
                    waited.iteration,
                ),
            ),
            help=_AHEAD if returned else None,
        )
    barrier.waits = [w for w in barrier.waits if w.n >= barrier.completed]
    barrier.complete()


def wait(
    findings: OrderFindings,
    group: GroupState,
    op: o.BarrierWait,
    barrier: BarrierState,
    n: int,
) -> Steps:
    """All warps wait for completion n, by parity as the hardware."""
    here = group.did(op, f"waits for completion {n} of {{}}", barrier)
    known = barrier.known(group.know.every(CAUSE))
    if n < -1 or known < n:
        report(
            findings,
            "AG0404",
            group,
            op,
            f"a wait for completion {n} of {barrier.name} starts when only {known} of"
            " its completions are sure to have happened: by its parity it returns after"
            f" completion {n - 2} already",
            "may return too early",
            events=(*group.recent, here),
        )
    waiting = Waiting(op, barrier, n, parity=True)
    while not waiting.ready():
        yield waiting
    latest = barrier.completed - 1
    if latest > n:
        report(
            findings,
            "AG0404",
            group,
            op,
            f"a wait for completion {n} of {barrier.name} may find completion {latest}"
            " there already: nothing holds the barrier back until this wait returns",
            "its parity is ambiguous",
            events=(*group.recent, here),
        )
    group.know.acquire(barrier.clock)
    group.holds[barrier] = n
    group.waited[op.barrier.alloc] = n
    group.recent.append(here)
    barrier.waits.append(Waited(op, group, n, group.base, group.iteration))


def meet(
    findings: OrderFindings,
    group: GroupState,
    op: o.AnyOp,
    barrier: BarrierState,
    threads: int,
    *,
    waits: bool,
) -> Steps:
    """All warps of a group arrive at a barrier of ``threads`` threads."""
    here = group.did(op, "arrives at {}", barrier)
    rule = "AG0410" if isinstance(op, o.ClusterSync) else "AG0420"
    if barrier.pending == 0:
        barrier.count = barrier.pending = threads
    if threads % group.lanes:
        message = f"a barrier of {threads} threads, which are no whole warps"
        report(findings, "AG0420", group, op, message, f"{threads} threads")
    elif threads != barrier.count:
        report(
            findings,
            rule,
            group,
            op,
            f"{barrier.name} is used for {threads} threads here, and for"
            f" {barrier.count} at the same time elsewhere",
            f"{threads} threads, not {barrier.count}",
            events=(*barrier.arrivals, here),
        )
    elif not barrier.latest(group.know.every(CAUSE)):
        report(
            findings,
            rule,
            group,
            op,
            f"{group.who} may arrive at {barrier.name} before its round"
            f" {barrier.completed - 1} is complete, and be counted in it: more than"
            f" {barrier.count} threads use it",
            "may count in another round",
            events=(*barrier.arrivals, *group.recent, here),
        )
    if group.threads > barrier.pending:
        report(
            findings,
            rule,
            group,
            op,
            f"{group.threads} threads arrive at {barrier.name}, which lacks"
            f" {barrier.pending} of {barrier.count}",
            "more threads than it counts",
            events=(*barrier.arrivals, here),
        )
    if any(did.group is group for did in barrier.arrivals):
        # Whose k-th arrival is in round k is what the data of a buffer follows from.
        findings.gaps.append(
            f"line {op.span.line}: {group.who} arrives twice in one round of"
            f" {barrier.name}"
        )
    round_ = barrier.completed
    barrier.contribute(group.know.clock())
    barrier.pending = max(barrier.pending - group.threads, 0)
    barrier.arrivals.append(here)
    group.recent.append(here)
    group.releases.append((group.base, op, group.iteration))
    if barrier.pending == 0:
        barrier.complete()
        barrier.pending = 0
    if waits:
        waiting = Waiting(op, barrier, round_)
        while not waiting.ready():
            yield waiting
        group.know.meet(barrier.clock)
    group.tick()
