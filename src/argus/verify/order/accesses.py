"""One access to shared memory against all accesses before it.

Unordered with one that shares a byte with it: a race, or one of its kinds. Ordered, but
the data is of another completion than the reader waited for, or needs a proxy fence
that is not there: that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argus.ir import ops as o
from argus.verify.evidence import Event
from argus.verify.order.clock import FENCED, ORDER, Clock
from argus.verify.order.finding import Finding, Findings
from argus.verify.order.footprint import Footprint
from argus.verify.order.state import Block, Group, Indices, Iteration, Record

__all__ = ["access", "event", "report"]

_WORDS = {
    ("generic", False): "reads",
    ("generic", True): "writes",
    ("cp", True): "copies (cp.async) to",
    ("tma", True): "loads by TMA to",
    ("wgmma", False): "multiplies from",
    ("store", False): "stores by TMA from",
}


def event(group: Group, op: o.AnyOp, text: str, iteration: Iteration) -> Event:
    """An event of a group, as evidence."""
    return Event(who(group), text, op.span, dict(iteration))


def who(group: Group) -> str:
    """The group's name, with its block in a cluster."""
    return f"{group.name} of block {group.block.rank}" if group.shared else group.name


def report(
    findings: Findings,
    rule: str,
    group: Group,
    op: o.AnyOp,
    message: str,
    label: str,
    *,
    iteration: Iteration | None = None,
    thread: int | None = None,
    events: Sequence[Event] = (),
    notes: Sequence[str] = (),
    help: str | None = None,
) -> None:
    """Keep a finding about an operation of a group."""
    at = group.iteration if iteration is None else iteration
    findings.add(
        Finding(
            rule,
            op,
            message,
            label,
            group.name,
            group.block.index,
            thread,
            dict(at),
            tuple(events),
            tuple(notes),
            help,
        )
    )


def access(
    findings: Findings,
    group: Group,
    block: Block,
    op: o.AnyOp,
    footprint: Footprint,
    kind: str,
    write: bool,
    actors: Clock,
    agents: Indices,
    issuers: Indices,
    time: int,
) -> Record | None:
    """Check an access of a group to a block's shared memory, and remember it.

    ``actors`` [units, 3, agents] is what each unit knows at the issue. Returns the
    record, None for an access to no byte at all.
    """
    if not footprint.whole:
        return None
    record = block.records.get((footprint, group, write))
    if record is None:
        new = Record(kind, write, footprint, group, op, agents, issuers)
        record = block.enter(new)
    order = actors[:, ORDER]
    least = order[0] if len(order) == 1 else order.min(axis=0)
    for other, meets in record.near:
        since = other.time
        if not since:
            continue
        # Mostly all of mine know all of theirs, who mostly are one.
        if (
            least[other.sole] < since
            if other.sole >= 0
            else (least[other.agents] < since).any()
        ):
            bad = meets & (order[:, other.agents] < since)
            if bad.any():
                unit, theirs = (int(x) for x in np.argwhere(bad)[0])
                _unordered(findings, group, record, other, actors, unit, theirs)
                continue
        if not write:
            _visible(findings, group, record, other, actors)
            continue
        # Who is ordered after this write is ordered after the other, too.
        other.alive &= ~footprint.whole
        if not other.alive:
            other.time = 0
    if write:
        block.written |= footprint.whole
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
    record.time = time
    record.issued = group.time
    record.iteration = group.iteration
    return record


def _unordered(
    findings: Findings,
    group: Group,
    mine: Record,
    other: Record,
    actors: Clock,
    unit: int,
    theirs: int,
) -> None:
    issued = bool(actors[unit, ORDER, other.issuers[theirs]] >= other.issued)
    verb = _WORDS[mine.kind, mine.write]
    before = _WORDS[other.kind, other.write]
    low = max(mine.footprint.low, other.footprint.low)
    events = (
        event(other.group, other.op, f"{before} shared memory", other.iteration),
        *(e for e in group.recent if e.role == who(group)),
        event(group, mine.op, f"{verb} the same bytes", group.iteration),
    )
    line = other.op.span.line
    warp = 4 * unit if mine.kind == "wgmma" else unit
    thread = 32 * warp
    if other.kind == "wgmma" and issued:
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
            f" {who(group)} {verb} them in line {mine.op.span.line}",
            "released before its reads have completed",
            iteration=iteration,
            events=(events[0], *handed, *events[1:]),
            help="wait for the matrix instruction (ag.wgmma_wait) before the release",
        )
        return
    if other.kind in ("cp", "store", "tma") and issued and mine.write:
        report(
            findings,
            "AG0421",
            group,
            mine.op,
            f"{who(group)} {verb} bytes (from {low} on) that the asynchronous copy of"
            f" line {line} still uses: no wait comes between",
            "the copy may still be running",
            thread=thread,
            events=events,
        )
        return
    late = " (which may still be running)" if other.kind != "generic" else ""
    report(
        findings,
        "AG0401",
        group,
        mine.op,
        f"{who(group)} {verb} bytes (from {low} on) that {who(other.group)}"
        f" {before} in line {line}{late}, and nothing orders the two",
        "unordered with the other access",
        thread=thread,
        events=events,
    )


def _visible(
    findings: Findings, group: Group, mine: Record, other: Record, actors: Clock
) -> None:
    """An ordered read of a write: of the right completion, and fenced if need be."""
    if not mine.footprint.whole & other.alive:
        return
    if other.kind == "tma":
        phase = other.time - 1
        held = group.holds.get(int(other.agents[0]))
        if held is not None and held != phase:
            age = "older" if held < phase else "newer"
            report(
                findings,
                "AG0402",
                group,
                mine.op,
                f"{who(group)} waited for completion {held} of this slot's barrier, but"
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
    if mine.kind not in ("wgmma", "store") or other.kind not in ("generic", "cp"):
        return
    fenced = actors[:, FENCED, other.agents] >= other.time
    meets = mine.footprint.meets(other.footprint)
    if meets is None or not (meets & ~fenced).any():
        return
    report(
        findings,
        "AG0408",
        group,
        mine.op,
        f"the async proxy reads what line {other.op.span.line} wrote by ordinary"
        " stores, with no fence.proxy.async between",
        "may read old bytes",
        events=(
            event(other.group, other.op, "writes shared memory", other.iteration),
            *group.recent,
            event(group, mine.op, "reads it by the async proxy", group.iteration),
        ),
        help="ag.fence_async() by the writing threads, before the barrier",
    )
