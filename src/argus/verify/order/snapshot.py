"""The joint state of a walk, with everything that only grows taken out.

Two moments of a walk with one state have one future, as long as control goes the same
way: the same operations are next, and every access and wait would find the same things
known. What matters of a past access is not when it was but *who knows of it*: each
clock that is held anywhere (by a warp, by a barrier, by arrivals of a phase) is either
past it or not. So the state is finite, although clocks and counters are not.

Slots of rings that turn are named relative to how far they have come
(`slot_names.py`): what comes after is then the same but for which slot is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from argus.ir.memory import SharedAlloc
from argus.verify.order.barrier_state import BarrierState, Waiting
from argus.verify.order.clock import CAUSE, PARTS, PROLOGUE, common
from argus.verify.order.slot_names import SlotNames
from argus.verify.order.state import GroupState

if TYPE_CHECKING:
    from argus.verify.order.walk import ClusterWalk

__all__ = ["Position", "known", "position", "snapshot"]

Position = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""For each group: the loops around it, and which iteration of each this is."""
_LONG_AGO = 4
"""Completions after which a wait for one is a mistake, however long it is ago."""


def position(walk: ClusterWalk) -> Position:
    """Where each group is."""
    return tuple((g.loops, g.iterations) for g in walk.groups)


def snapshot(
    walk: ClusterWalk, counters: tuple[str, ...], modulus: int, names: SlotNames
) -> object:
    """The state, to be compared with ``==``, but for what ``names`` turn."""
    barriers = names.barriers
    asked: list[int] = []
    """Moments that somebody may have to know, in an order that does not change."""
    tags: list[object] = []
    for block in walk.blocks:
        fills: list[tuple[SharedAlloc, int]] = []
        records = [
            (*names.of(r), id(r.group), r.write, r)
            for r in block.records.values()
            if r.ones
        ]
        for *who, record in sorted(records, key=lambda one: one[:-1]):
            tags += who
            whole = record.alive is record.footprint.whole
            tags += [True if whole else record.alive, record.bare]
            if record.fill is not None:
                fills.append((record.alloc, record.fill))
            if record.filled is not None:
                age = len(record.filled.completions) - record.number
                tags.append(age if age < _LONG_AGO else _LONG_AGO)
            # Who knows of the issue alone decides only how a mistake is called.
            asked += range(record.base, record.base + record.units)
        latest: dict[SharedAlloc, int] = {}
        for alloc, fill in fills:
            if latest.get(alloc, fill) <= fill:
                latest[alloc] = fill
        tags += [latest[alloc] - fill for alloc, fill in fills]
    # What matters in time only: who waited, and how far behind one may be.
    events = len(asked)
    for barrier in barriers:
        tags.append((barrier.pending, barrier.tx, barrier.count, len(barrier.arrivals)))
        # The latest two completions; those before the first one are the prologue.
        asked += [PROLOGUE, PROLOGUE, *barrier.completions][-3:-1]
        for waited in barrier.waits:
            tags.append((id(waited.op), id(waited.group), barrier.completed - waited.n))
            asked += range(waited.base, waited.base + waited.group.warps)
    groups = tuple(_group(g, counters, modulus, names) for g in walk.groups)
    held = tuple(
        tuple(
            (number, barrier.completed - g.holds[barrier])
            for number, barrier in enumerate(barriers)
            if barrier in g.holds
        )
        for g in walk.groups
    )
    moments = known(walk, barriers, asked, events)
    return (names.turned, groups, held, moments, tuple(tags))


def known(
    walk: ClusterWalk,
    barriers: list[BarrierState],
    asked: list[int],
    events: int,
    causes: Sequence[int] = (),
) -> tuple[bytes, bytes]:
    """Which moments each warp and each barrier knows, as bits.

    The first ``events`` of those that are asked for in all parts, the others in CAUSE.
    ``causes`` are further clocks, which there are in CAUSE alone.
    """
    rows: list[list[int]] = [[], [], []]
    for part in PARTS:
        here = rows[part]
        for group in walk.groups:
            together = group.know.together[part]
            here += [together | own for own in group.know.own[part]]
        # To hand on what every warp knows already makes no difference.
        news = ~common(here)
        for barrier in barriers:
            here += [barrier.clock[part] & news, barrier.contribution[part] & news]
        here += causes if part == CAUSE else [0] * len(causes)
    size = walk.moments.taken // 8 + 1
    packed = b"".join([x.to_bytes(size, "little") for part in rows for x in part])
    table = np.frombuffer(packed, np.uint8).reshape(len(PARTS), -1, size)
    places = np.array(asked, np.intp)
    byte, bit = places // 8, (places % 8).astype(np.uint8)
    first = table[:, :, byte[:events]] >> bit[:events] & 1
    second = table[CAUSE][:, byte[events:]] >> bit[events:] & 1
    return np.packbits(first).tobytes(), np.packbits(second).tobytes()


def _group(
    group: GroupState, counters: tuple[str, ...], modulus: int, names: SlotNames
) -> object:
    covered = group.products.covered
    registers = frozenset(
        (key, group.products.issued - a.number if a.number > covered else -1)
        for key, a in group.accumulators.items()
    )
    operands = frozenset(
        (key, group.products.issued - n) for key, (n, _) in group.operands.items()
    )
    values = tuple(_counter(group, c, modulus, names) for c in counters)
    wait = group.wait
    return (
        id(group.op),
        tuple(group.path),
        None if wait is None else id(wait.op),
        wait.barrier.completed - wait.n if isinstance(wait, Waiting) else 0,
        group.registers,
        group.products.shape(),
        group.copies.shape(group.handed),
        group.queues["bulk_read"].shape(),
        registers,
        operands,
        values,
    )


def _counter(
    group: GroupState, name: str, modulus: int, names: SlotNames
) -> int | None:
    """What a counter selects; of one that moves only while somebody may read it."""
    value, moved = group.env.get(name), names.moved(name)
    if not isinstance(value, int):
        return None
    if moved is None:
        return value % modulus
    alive = names.live.get(id(group.op))
    return (
        None if alive is not None and name not in alive else (value - moved) % modulus
    )
