"""The state of one walk, to be compared with that of another walk.

``snapshot`` compares two moments of one walk, whose groups all went on by as many
iterations. Here the ways to the two may differ, so that everything is named alike in
all walks, numbers that grow are compared by family and slots of rings by how far these
are moved (`slot_names.py`), loops by what is known of their iterations
(`trip_count_choices.py`). What is left out: what only reports look at, and which bytes
were written: those that the latest write of some access left.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.verify.order.barrier_state import BarrierState, Waiting
from argus.verify.order.clock import PROLOGUE
from argus.verify.order.counter_families import Families, Member
from argus.verify.order.slot_names import Number, SlotNames
from argus.verify.order.snapshot import known
from argus.verify.order.state import AccessRecord, GroupState
from argus.verify.order.trip_count_choices import Choices
from argus.verify.order.walk import ClusterWalk

__all__ = ["joint"]


def joint(
    walk: ClusterWalk,
    asking: GroupState,
    choices: Choices,
    families: Families,
    live: dict[int, frozenset[str]],
    starts: int,
) -> object | None:
    """The state where a group asks whether a loop iterates again.

    None where it cannot be compared: as long as there are not ``starts`` groups, or one
    has to begin its outermost loop.
    """
    if len(walk.everyone) < starts or not all(
        choices.entered(g) and id(g.op) in live for g in walk.groups
    ):
        return None
    order = {group: number for number, group in enumerate(walk.everyone)}
    names = _names(walk, families, live)
    barriers = names.barriers
    place = {barrier: number for number, barrier in enumerate(barriers)}
    records = sorted(
        (
            (block.rank, *names.of(record), order[group], write, record)
            for block in walk.blocks
            for (_, group, write), record in block.records.items()
            if record.ones
        ),
        key=lambda one: one[:-1],
    )
    asked: list[int] = []
    """Moments that somebody may have to know, in an order that does not change."""
    tags: list[object] = []
    for *who, record in records:
        tags.append((*who, *_record(record, place)))
        asked += range(record.base, record.base + record.units)
    events = len(asked)
    for barrier in barriers:
        tags.append((barrier.pending, barrier.tx, barrier.count, len(barrier.arrivals)))
        # The latest two completions; those before the first one are the prologue.
        asked += [PROLOGUE, PROLOGUE, *barrier.completions][-3:-1]
        for waited in barrier.waits:
            behind = barrier.completed - waited.n
            tags.append((id(waited.op), order[waited.group], behind))
            asked += range(waited.base, waited.base + waited.group.warps)
    for group in walk.everyone:
        sent = sorted((place[b], phase) for b, (*_, phase) in group.sent.items())
        tags.append(tuple(number for number, _ in sent))
        asked += (phase for _, phase in sent)
        reached = sorted(
            (place[b], phase, now) for b, (*_, phase, now) in group.reached.items()
        )
        tags.append(tuple((number, now.bit_count()) for number, _, now in reached))
        for _, phase, now in reached:
            asked += (phase, *_moments(now))
    for group in walk.groups:
        asked += range(group.base, group.base + group.warps)
    return (
        order[asking],
        tuple((order[g], *_group(g, place)) for g in walk.groups),
        tuple(tags),
        known(walk, barriers, asked, events, list(_later(walk))),
        choices.state(walk.groups),
        names.numbers([r for *_, r in records]),
        tuple(tuple(sorted(block.named)) for block in walk.blocks),
        tuple(sorted(order[g] for g in walk.arrived)),
    )


def _names(
    walk: ClusterWalk, families: Families, live: dict[int, frozenset[str]]
) -> SlotNames:
    """The names in a state, by everything that grows and matters."""
    scalars: list[Number] = []
    still: list[Member] = []
    turning = families.turning.barriers
    for group in walk.groups:
        for name in sorted(live[id(group.op)]):
            value = group.env.get(name)
            scalars.append((("scalar", name), None if value is None else int(value)))
        for alloc in walk.program.barriers:
            if alloc not in turning:
                scalars.append((("barrier", alloc), group.waited.get(alloc)))
        for alloc in families.awaited.get(group.name, ()):
            if alloc not in group.waited:
                # An access has no number before the first wait.
                still.append(("barrier", alloc))
    return SlotNames(walk, families, scalars, still, live=live)


def _moments(known: int) -> Iterator[int]:
    """The moments of a set."""
    while known:
        least = known & -known
        yield least.bit_length() - 1
        known ^= least


def _record(record: AccessRecord, place: dict[BarrierState, int]) -> tuple[object, ...]:
    """A past access: what kind it was, and how far ago as its group counts."""
    whole = record.alive is record.footprint.whole
    group = record.group
    behind: tuple[int, ...] = ()
    if record.filled is not None:
        behind = (
            place[record.filled],
            len(record.filled.completions) - record.number,
        )
    elif record.kind.over != "issue":
        mine = group.queues[record.kind.over]
        behind = (
            mine.issued - record.number if record.number > mine.covered else -1,
            record.number <= group.handed,
        )
    return (
        record.kind,
        record.units,
        record.ones,
        True if whole else record.alive,
        record.bare,
        record.fill is None,
        *behind,
    )


def _group(group: GroupState, place: dict[BarrierState, int]) -> tuple[object, ...]:
    products = group.products
    registers = frozenset(
        (
            key,
            a.readable,
            products.issued - a.number if a.number > products.covered else -1,
        )
        for key, a in group.accumulators.items()
    )
    operands = frozenset(
        (key, products.issued - n) for key, (n, _) in group.operands.items()
    )
    wait = group.wait
    held = sorted((place[b], b.completed - n) for b, n in group.holds.items())
    return (
        id(group.op),
        tuple(group.path),
        None if wait is None else id(wait.op),
        (place[wait.barrier], wait.barrier.completed - wait.n)
        if isinstance(wait, Waiting)
        else None,
        group.registers,
        products.shape(),
        group.copies.shape(group.handed),
        group.queues["bulk_read"].shape(),
        tuple(products.issued - count for count, _ in group.issue_causes),
        registers,
        operands,
        group.hot,
        tuple(held),
    )


def _later(walk: ClusterWalk) -> Iterator[int]:
    """What was known to have happened, and comes up later: at ends, at waits."""
    for group in walk.groups:
        for _, causes in group.issue_causes:
            yield from causes
    for parting in walk.partings:
        yield parting.cause
