"""How often a sum has seen each coordinate, counted at admissible sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.verify.tags.compare import Agreement
from argus.verify.tags.sampling import Points
from argus.verify.tags.scope import PathScope
from argus.verify.tags.values import CoordinateRange, Ints, ReducedDimension
from argus.verify.verdict import Verdict

__all__ = ["Completeness", "miscounted"]

_MOST, _MOST_TRIPS, _MOST_TERMS = 4096, 1024, 1 << 16
_TOGETHER = 8
"""Points that are looked at together."""


@dataclass(frozen=True)
class Completeness:
    """Whether [0, extent) was seen exactly once; a coordinate that was not."""

    outcome: Agreement
    rule: str = "AG0308"
    coordinate: int = 0
    times: int = 0
    why: str = ""


def miscounted(
    spans: list[CoordinateRange], s: ReducedDimension, scope: PathScope
) -> Completeness | None:
    """A coordinate seen not once (of a maximum: never) at some admissible point."""
    extent = s.extent
    points = scope.points
    if points is None:
        return None
    try:
        order = np.argsort(np.abs(points.of(extent)), kind="stable")
    except KeyError:  # a bound that is no number of sizes and tables
        return None
    # Small sizes first, then some of every size.
    few = np.concatenate([order[:16], order[:: max(1, len(order) // 48)]])
    few = few[points.of(extent)[few] <= _MOST]
    for first in range(0, len(few), _TOGETHER):
        some = few[first : first + _TOGETHER]
        found = _seen(spans, some, s, scope)
        for i, seen in zip(some, found, strict=True):
            if seen is None:
                return None
            wrong = np.flatnonzero(seen != 1 if s.once else seen == 0)
            if len(wrong):
                at = int(wrong[0])
                rule = "AG0309" if seen[at] > 1 else "AG0308"
                model = points.at(int(i))
                outcome = Agreement(Verdict.REFUTED, "admissible sizes", "", model)
                return Completeness(outcome, rule, at, int(seen[at]))
    return None


def _seen(
    spans: list[CoordinateRange], some: Ints, s: ReducedDimension, scope: PathScope
) -> list[Ints | None]:
    """How often each coordinate is in a span, at some points; None: not known."""
    points = scope.points
    assert points is not None
    # A table may name an end below its start: no coordinate then.
    extents = np.maximum(points.of(s.extent)[some].astype(np.int64), 0)
    ends = np.cumsum(extents + 1)
    change = np.zeros(int(ends[-1]), np.int64)
    unknown_at = np.zeros(len(some), np.bool_)
    try:
        for span in spans:
            owner, lo, hi = _ends(span, some, scope, unknown_at)
            first, n = (ends - extents - 1)[owner], extents[owner]
            np.add.at(change, first + np.clip(np.minimum(lo, hi), 0, n), 1)
            np.add.at(change, first + np.clip(hi, 0, n), -1)
    except (ValueError, OverflowError):
        if len(some) == 1:
            return [None]
        return [one for i in range(len(some)) for one in _seen(
            spans, some[i : i + 1], s, scope
        )]  # fmt: skip
    parts = np.split(np.cumsum(change), ends[:-1])
    return [
        None if lacking else part[:-1]
        for part, lacking in zip(parts, unknown_at, strict=True)
    ]


def _ends(
    span: CoordinateRange, some: Ints, scope: PathScope, unknown_at: NDArray[np.bool_]
) -> tuple[Ints, Ints, Ints]:
    """Which point it is, where the span begins and where it ends, in each iteration.

    Points at which that cannot be evaluated are noted, and left out.
    """
    world, points = scope.world, scope.points
    assert points is not None
    points = Points(
        world,
        {
            n: v[some]
            for n, v in points.values_.items()
            if n not in world.meanings and v.dtype.kind in "iu"
        },
    )
    owner = np.arange(len(some))
    none = np.zeros(0, np.int64)
    try:
        # The innermost loop comes first; its trips may depend on those around it.
        for sym, trips in reversed(span.loops):
            times = np.maximum(points.of(trips).astype(np.int64), 0)
            unknown_at[owner[times > _MOST_TRIPS]] = True
            unknown_at |= np.bincount(owner, times, len(some)) > _MOST_TERMS
            times[unknown_at[owner]] = 0
            rows = np.repeat(np.arange(len(times)), times)
            its = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
            picked = {
                n: v[rows] for n, v in points.values_.items() if n not in world.meanings
            }
            points, owner = Points(world, {**picked, sym.name: its}), owner[rows]
            if not len(rows):
                return none, none, none
        lo = points.of(span.lo).astype(np.int64)
        hi = lo + span.size
        if span.hi is not None:
            hi = np.minimum(hi, points.of(span.hi).astype(np.int64))
    except KeyError:
        unknown_at[owner] = True
        return none, none, none
    return owner, lo, hi
