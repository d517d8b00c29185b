"""The joint state of a walk, with everything that only grows taken out.

Two moments of a walk with one state have one future, as long as control goes the same
way: the same operations are next, and every access and wait would find the same things
known. What matters of a past access is not when it was but *who knows of it*: each
clock that is held anywhere (by a warp, by a barrier, by arrivals of a phase) is either
past it or not. So the state is finite, although clocks and counters are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from argus.verify.order.clock import CAUSE, FENCED, ORDER, Clock
from argus.verify.order.state import Barrier, Group

if TYPE_CHECKING:
    from argus.verify.order.walk import Walk

__all__ = ["Position", "position", "snapshot"]

Position = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""For each group: the loops around it, and which turn of each this is."""


def position(walk: Walk) -> Position:
    """Where each group is."""
    return tuple((g.loops, g.turns) for g in walk.groups)


def snapshot(walk: Walk, counters: tuple[str, ...], modulus: int) -> object:
    """The state, to be compared with ``==``."""
    barriers = list(_barriers(walk))
    clocks: list[Clock] = [g.clock for g in walk.groups]
    for barrier in barriers:
        clocks.append(barrier.clock[None])
        clocks.append(barrier.contribution[None])
    if not clocks:
        return None
    rows = np.concatenate(clocks)
    agents: list[int] = []
    times: list[int] = []
    tags: list[object] = []
    for block in walk.blocks:
        for record in block.records.values():
            tags.append((bool(record.time), record.alive == record.footprint.whole))
            # Who knows of the issue alone decides only how a mistake is called.
            agents += record.agents.tolist()
            times += [record.time] * len(record.agents)
    waits: list[tuple[int, int]] = []
    for barrier in barriers:
        tags.append((barrier.pending, barrier.tx, barrier.count, len(barrier.arrivals)))
        agents.append(barrier.agent)
        times.append(barrier.completed)
        for waited in barrier.waits:
            tags.append((id(waited.op), id(waited.group), barrier.completed - waited.n))
            waits += [(int(a), waited.time) for a in waited.agents]
    parts = [
        rows[:, ORDER, agents] >= times,
        rows[:, FENCED, agents] >= times,
        rows[:, CAUSE, agents] >= times,
    ]
    if waits:
        parts.append(rows[:, CAUSE, [a for a, _ in waits]] >= [t for _, t in waits])
    numbers = np.array([b.agent for b in barriers], np.intp)
    done = np.array([b.completed for b in barriers])
    lag = np.maximum(rows[:, CAUSE, numbers] - done, -2).astype(np.int8)
    packed = tuple(np.packbits(p).tobytes() for p in parts)
    groups = tuple(_group(g, counters, modulus) for g in walk.groups)
    held = tuple(
        tuple(
            sorted(
                (b.agent, b.completed - g.holds[b.agent])
                for b in barriers
                if b.agent in g.holds
            )
        )
        for g in walk.groups
    )
    return (groups, held, packed, lag.tobytes(), tuple(tags))


def _barriers(walk: Walk) -> Iterator[Barrier]:
    for block in walk.blocks:
        yield from block.barriers.values()
        yield from block.named.values()
    yield walk.cluster


def _group(group: Group, counters: tuple[str, ...], modulus: int) -> object:
    covered = group.products.covered
    registers = frozenset(
        (key, group.products.issued - a.number if a.number > covered else -1)
        for key, a in group.accumulators.items()
    )
    operands = frozenset(
        (key, group.products.issued - n) for key, (n, _) in group.operands.items()
    )
    env = group.env
    values = tuple(
        int(env[c]) % modulus if isinstance(env.get(c), int) else None for c in counters
    )
    wait = group.wait
    return (
        id(group.op),
        tuple(group.path),
        None if wait is None else (id(wait.op), wait.barrier.completed - wait.n),
        group.products.shape(),
        group.copies.shape(group.handed),
        group.stores.shape(),
        registers,
        operands,
        values,
    )
