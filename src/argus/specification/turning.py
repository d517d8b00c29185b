"""Branches that a round of a loop decides: both ways are run, and chosen between.

    for b in range(B):
        if last[b] > first[b]:
            out[b] = X[first[b] : last[b]].mean(0)

A branch on what a launch decides has a trace of its own (`tracing.py`). Of one that a
round decides, the round is run in each way, and what it leaves behind is, by the
conditions of the ways, what one of them leaves: elements of arrays, the values of
names, and what it appends to lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.cases import chosen
from argus.specification.casting import converted, lifted
from argus.specification.state import Changes, ReachableState
from argus.specification.storage import Indices, Read, Storage
from argus.specification.tracing import Tracing, next_way
from argus.terms import Failing, IndexSet, Unknown, Value

__all__ = ["every_way"]

Run = Callable[[], Sequence[Any]]
Absent = Callable[[int], Any]


@dataclass(frozen=True)
class _Way:
    """One way through a round: where it is taken, and what it leaves behind."""

    here: IndexSet
    results: list[Any]
    reads: dict[int, Read]
    """What arrays are that it assigned to."""
    changes: Changes


def every_way(
    tracing: Tracing, run: Run, reaches: Sequence[Any], absent: Absent
) -> list[Any]:
    """What a round leaves behind, whichever way it goes.

    ``reaches``: all that it may change. ``absent``: what stands for a result that is no
    array in one of the ways. Raises Unknown for ways that do not go together.
    """
    state = ReachableState.of(reaches)
    outer = tracing.turns, tracing.turned, tracing.local
    ways: list[_Way] = []
    way: list[bool] | None = []
    try:
        while way is not None:
            if ways:
                state.restore()
            tracing.turns, tracing.turned, tracing.local = way, 0, outer[2]
            results = _run(tracing, run)
            changes = state.changed()
            reads = {id(s): s.read for s in changes.arrays}
            ways.append(_Way(tracing.local, results, reads, changes))
            way = next_way(way)
    finally:
        tracing.turns, tracing.turned, tracing.local = outer
    if len(ways) == 1:
        return ways[0].results
    state.restore()
    _assign(tracing, ways)
    _append(tracing, ways)
    columns = zip(*(w.results for w in ways), strict=True)
    return [_result(tracing, ways, n, list(c), absent) for n, c in enumerate(columns)]


def _run(tracing: Tracing, run: Run) -> list[Any]:
    try:
        return list(run())
    except (AssertionError, ValueError, Failing) as why:
        if not tracing.turned:
            raise
        raise Unknown("a round of a loop fails in one of its branches") from why


def _assign(tracing: Tracing, ways: Sequence[_Way]) -> None:
    changed: dict[int, Storage] = {id(s): s for w in ways for s in w.changes.arrays}
    for key, storage in changed.items():
        reads = [(w.here, w.reads.get(key, storage.read)) for w in ways]
        storage.update(_by_way(tracing, reads))


def _append(tracing: Tracing, ways: Sequence[_Way]) -> None:
    first, *others = ({id(i): (i, n) for i, n in w.changes.appended} for w in ways)
    for key, (items, new) in first.items():
        each = [new, *(other.get(key, (items, []))[1] for other in others)]
        if len({len(n) for n in each}) > 1:
            raise Unknown("a round of a loop appends to a list in one of its branches")
        for elements in zip(*each, strict=True):
            items.append(_array(tracing, ways, elements))
    if any(other.keys() != first.keys() for other in others):
        raise Unknown("a round of a loop appends to a list in one of its branches")


def _result(
    tracing: Tracing,
    ways: Sequence[_Way],
    number: int,
    values: list[Any],
    absent: Absent,
) -> Any:
    if all(v is values[0] for v in values):
        return values[0]
    if not all(isinstance(v, SymbolicArray | int | float) for v in values):
        return absent(number)
    return _array(tracing, ways, values)


def _array(
    tracing: Tracing, ways: Sequence[_Way], values: Sequence[Any]
) -> SymbolicArray:
    arrays = [lifted(tracing, v) for v in values]
    if any(a.sizes != arrays[0].sizes for a in arrays):
        raise Unknown("a round of a loop makes arrays of other shapes in its branches")
    dtype = np.result_type(*(a.dtype for a in arrays))
    reads = [
        (w.here, converted(a, dtype).now()) for w, a in zip(ways, arrays, strict=True)
    ]
    return SymbolicArray(
        tracing,
        arrays[0].sizes,
        dtype,
        _by_way(tracing, reads),
        weak=all(a.weak for a in arrays),
    )


def _by_way(tracing: Tracing, reads: Sequence[tuple[IndexSet, Read]]) -> Read:
    (here, first), *others = reads
    if not others:
        return first
    rest = _by_way(tracing, others)

    def read(indices: Indices) -> Value:
        then, otherwise = partial(first, indices), partial(rest, indices)
        return chosen(tracing.world, here, then, otherwise)

    return read
