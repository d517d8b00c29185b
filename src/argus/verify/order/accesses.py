"""One access to shared memory against all accesses before it.

Unordered with one that shares a byte with it: a race, or one of its kinds. Ordered, but
the data is of another completion than the reader waited for, or needs a proxy fence
that is not there: that.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.memory import SharedAlloc
from argus.verify.order.barrier_state import BarrierState
from argus.verify.order.clock import FENCED, ORDER
from argus.verify.order.finding import OrderFindings, event, report
from argus.verify.order.footprint import Footprint, Pairs
from argus.verify.order.state import AccessRecord, BlockState, GroupState, Kind

__all__ = ["access"]

_WORDS = {
    ("issue", False): "reads",
    ("issue", True): "writes",
    ("cp_async_group", True): "copies (cp.async) to",
    ("mbarrier", True): "loads by TMA to",
    ("wgmma_group", False): "multiplies from",
    ("bulk_read", False): "stores by TMA from",
}


def access(
    findings: OrderFindings,
    group: GroupState,
    block: BlockState,
    op: o.AnyOp,
    footprint: Footprint,
    alloc: SharedAlloc,
    fill: int | None,
    kind: Kind,
    write: bool,
    units: int,
    base: int,
    number: int,
    fills: BarrierState | None = None,
) -> None:
    """Check an access of a group to a block's shared memory, and remember it.

    Unit u will have completed for those who know moment ``base + u``; ``number`` is
    what its group calls it, and ``fills`` the barrier that a TMA load completes on, as
    completion ``number``. ``fill`` is the fill of the buffer ``alloc`` that it belongs
    to, where that is known. An access to no byte at all is none.
    """
    if not footprint.whole:
        return
    record = block.records.get((footprint, group, write))
    if record is None:
        new = AccessRecord(kind, write, footprint, group, op, units, alloc)
        record = block.enter(new)
    single = kind.scope == "elected"
    know = group.know
    known = know.row(ORDER, 0) if single else know.every(ORDER)
    for other, meets in record.near:
        ones = other.ones
        if not ones:
            continue
        # Mostly all of mine know all of theirs.
        if known >> other.base & ones != ones:
            pair = _unknown(group, ORDER, record, other, meets)
            if pair is not None:
                _unordered(findings, group, record, other, *pair)
                continue
        if not write:
            _visible(findings, group, record, other, meets, fill)
            continue
        if not other.write and fill is not None and fill == other.fill:
            _again(findings, record, other, op)
        if kind.proxy == "async" and other.kind.proxy == "generic":
            _overtaken(findings, group, record, other, meets)
        # Who is ordered after this write is ordered after the other, too.
        if footprint.covers(other.footprint):
            other.alive = other.ones = 0
        else:
            other.alive &= ~footprint.whole
            other.ones = other.ones if other.alive else 0
    if write:
        if footprint not in block.initialised:
            block.written |= footprint.whole
            block.initialised.add(footprint)
    elif footprint not in block.initialised:
        missing = footprint.whole & ~block.written
        if missing:
            first = (missing & -missing).bit_length() - 1
            report(
                findings,
                "AG0311",
                group,
                op,
                f"byte {first} of shared memory is read here, and nothing has written"
                " it before",
                "read before it is written",
                events=(*group.recent, event(group, op, "reads", group.iteration)),
            )
        block.initialised.add(footprint)
    record.alive = footprint.whole
    record.fill = fill
    record.op = op
    record.bare = kind.proxy == "generic" and kind.over == "issue"
    record.base = base
    record.ones = (1 << units) - 1
    record.number = number
    record.filled = fills
    record.issued = group.base
    record.iteration = group.iteration


def _unknown(
    group: GroupState, part: int, mine: AccessRecord, other: AccessRecord, meets: Pairs
) -> tuple[int, int] | None:
    """Two units that share a byte, of which mine does not know the other's access."""
    rows: dict[int, int] = {}
    for unit, theirs in meets:
        if unit not in rows:
            rows[unit] = _row(group, part, mine, unit)
        if not rows[unit] >> other.base + theirs & 1:
            return unit, theirs
    return None


def _row(group: GroupState, part: int, mine: AccessRecord, unit: int) -> int:
    """What a unit knows when it starts."""
    if mine.stride == 1:
        return group.know.row(part, unit)
    first = mine.stride * unit
    return group.know.every(part, slice(first, first + mine.stride))


def _unordered(
    findings: OrderFindings,
    group: GroupState,
    mine: AccessRecord,
    other: AccessRecord,
    unit: int,
    theirs: int,
) -> None:
    issuer = other.issued + other.stride * theirs
    issued = bool(_row(group, ORDER, mine, unit) >> issuer & 1)
    verb = _WORDS[mine.kind.over, mine.write]
    before = _WORDS[other.kind.over, other.write]
    low = max(mine.footprint.low, other.footprint.low)
    events = (
        event(other.group, other.op, f"{before} shared memory", other.iteration),
        *group.recent,
        event(group, mine.op, f"{verb} the same bytes", group.iteration),
    )
    line = other.op.span.line
    warp = mine.stride * unit
    thread = group.lanes * warp
    if other.kind.over == "wgmma_group" and issued:
        release = next(
            (
                r
                for r in other.group.releases
                if r[0] >= other.issued and isinstance(r[1], o.BarrierArrive | o.Sync)
            ),
            None,
        )
        at, iteration = (
            (group, group.iteration) if release is None else (other.group, release[2])
        )
        handed = (
            ()
            if release is None
            else (event(other.group, release[1], "hands the bytes on", release[2]),)
        )
        report(
            findings,
            "AG0406",
            at,
            mine.op if release is None else release[1],
            f"the matrix instruction of line {line} may still read these bytes when"
            f" {group.who} {verb} them in line {mine.op.span.line}",
            "released before its reads have completed",
            iteration=iteration,
            events=(events[0], *handed, *events[1:]),
            help="wait for the matrix instruction (ag.wgmma_wait) before the release",
        )
        return
    if other.kind.over != "issue" and issued and mine.write:
        report(
            findings,
            "AG0421",
            group,
            mine.op,
            f"{group.who} {verb} bytes (from {low} on) that the asynchronous copy of"
            f" line {line} still uses: no wait comes between",
            "the copy may still be running",
            thread=thread,
            events=events,
        )
        return
    late = " (which may still be running)" if other.kind.over != "issue" else ""
    report(
        findings,
        "AG0401",
        group,
        mine.op,
        f"{group.who} {verb} bytes (from {low} on) that {other.group.who}"
        f" {before} in line {line}{late}, and nothing orders the two",
        "unordered with the other access",
        thread=thread,
        events=events,
    )


def _visible(
    findings: OrderFindings,
    group: GroupState,
    mine: AccessRecord,
    other: AccessRecord,
    meets: Pairs,
    fill: int | None,
) -> None:
    """An ordered read of a write: the right one, and fenced if need be."""
    whole = other.alive is other.footprint.whole
    if not whole and not mine.footprint.whole & other.alive:
        return
    if mine.alloc is not other.alloc:
        _foreign(findings, group, mine, other)
        return
    if other.kind.over == "mbarrier":
        phase = other.number
        held = None if other.filled is None else group.holds.get(other.filled)
        if held is not None and held != phase:
            age = "older" if held < phase else "newer"
            report(
                findings,
                "AG0402",
                group,
                mine.op,
                f"{group.who} waited for completion {held} of this slot's barrier, but"
                f" finds what completion {phase} brought (line {other.op.span.line})",
                f"the wait was for an {age} fill"
                if held < phase
                else "the wait was for a newer fill",
                events=(
                    event(other.group, other.op, "fills the slot", other.iteration),
                    *group.recent,
                    event(group, mine.op, "reads the slot", group.iteration),
                ),
            )
            return
    if fill is not None and other.fill is not None and fill != other.fill:
        _stale(findings, group, mine, other, fill)
        return
    if mine.kind.proxy != "async" or other.kind.proxy != "generic":
        return
    if _unknown(group, FENCED, mine, other, meets) is None:
        return
    _unfenced(
        findings,
        group,
        mine,
        other,
        f"the async proxy reads what line {other.op.span.line} wrote by ordinary"
        " stores, with no fence.proxy.async between",
        "may read old bytes",
        "reads it by the async proxy",
    )


def _unfenced(
    findings: OrderFindings,
    group: GroupState,
    mine: AccessRecord,
    other: AccessRecord,
    message: str,
    label: str,
    does: str,
) -> None:
    """The async proxy comes to what threads have accessed, without a fence."""
    before = "writes" if other.write else "reads"
    by = "writing" if other.write else "reading"
    report(
        findings,
        "AG0408",
        group,
        mine.op,
        message,
        label,
        events=(
            event(other.group, other.op, f"{before} shared memory", other.iteration),
            *group.recent,
            event(group, mine.op, does, group.iteration),
        ),
        help=f"ag.fence_async() by the {by} threads, before they arrive at the barrier",
    )


def _stale(
    findings: OrderFindings,
    group: GroupState,
    mine: AccessRecord,
    other: AccessRecord,
    fill: int,
) -> None:
    """Ordered, but the stage has been filled again, or not yet."""
    name = mine.alloc.name
    assert other.fill is not None
    late = other.fill > fill
    report(
        findings,
        "AG0402",
        group,
        mine.op,
        f"{group.who} reads fill {fill} of {name} here, but finds fill {other.fill}"
        f" (line {other.op.span.line}): "
        + ("its stage has been filled again" if late else "it is not there yet"),
        "overwritten before it is read" if late else "read before it is filled",
        events=(
            event(other.group, other.op, f"makes fill {other.fill}", other.iteration),
            *group.recent,
            event(group, mine.op, f"reads fill {fill}", group.iteration),
        ),
        help="more stages, or fills that start later" if late else None,
    )


def _overtaken(
    findings: OrderFindings,
    group: GroupState,
    mine: AccessRecord,
    other: AccessRecord,
    meets: Pairs,
) -> None:
    """A TMA load to bytes of ordinary accesses, which may come later than it."""
    if not mine.footprint.whole & other.alive:
        return
    if _unknown(group, FENCED, mine, other, meets) is None:
        return
    line = other.op.span.line
    message, label = (
        (
            f"TMA writes what line {line} wrote by ordinary stores, with no"
            " fence.proxy.async between: the ordinary ones may arrive later",
            "may be overwritten by old stores",
        )
        if other.write
        else (
            f"TMA writes what line {line} read by ordinary loads, with no"
            " fence.proxy.async between: those still queued may find the new bytes",
            "may be read by old loads",
        )
    )
    _unfenced(
        findings, group, mine, other, message, label, "writes it by the async proxy"
    )


def _again(
    findings: OrderFindings, mine: AccessRecord, other: AccessRecord, op: o.AnyOp
) -> None:
    """A fill is written once more after it was read: which write was that?"""
    if mine.alloc is other.alloc:
        findings.gaps.append(
            f"line {op.span.line} writes to a fill of {mine.alloc.name} again that line"
            f" {other.op.span.line} has read"
        )


def _foreign(
    findings: OrderFindings, group: GroupState, mine: AccessRecord, other: AccessRecord
) -> None:
    """Ordered, but what is there belongs to another buffer at the same place."""
    first, second = mine.alloc.name, other.alloc.name
    both = mine.footprint.whole & other.alive
    low = (both & -both).bit_length() - 1
    report(
        findings,
        "AG0402",
        group,
        mine.op,
        f"{group.who} reads {first} here, but finds what line {other.op.span.line}"
        f" wrote to {second}, which shares bytes with it (from {low} on)",
        f"overwritten by what is written to {second}",
        events=(
            event(other.group, other.op, f"writes {second}", other.iteration),
            *group.recent,
            event(group, mine.op, f"reads {first}", group.iteration),
        ),
    )
