"""Which coordinates a sum has seen: accumulation over loops, completeness.

A sum is a union of spans [lo(it), lo(it) + size) over iterations. Spans that continue
each other from iteration to iteration become one span; that the whole is [0, extent)
without overlap is then a chain of equations. A sum that is wrong is refuted by counting
at admissible sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.sampling import Points
from argus.verify.tags.scope import PathScope
from argus.verify.tags.signs import minimands
from argus.verify.tags.values import CoordinateRange, Ints, Prior, ReducedDimension
from argus.verify.verdict import Verdict

__all__ = ["Completeness", "added", "complete", "least", "over_loop", "whole"]

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


def added(
    scope: PathScope, a: tuple[ReducedDimension, ...], b: tuple[ReducedDimension, ...]
) -> tuple[ReducedDimension, ...]:
    """The sum of two sums over one dimension."""
    if len(a) != 1 or len(b) != 1 or (whole(scope, a) and whole(scope, b)):
        return (*a, *(s for s in b if s not in a))
    x, y = a[0].extent, b[0].extent
    # A limit that a mask gives to one part is one for the whole.
    extent = least(x, y)
    return (
        ReducedDimension(
            extent,
            (*a[0].terms, *b[0].terms),
            a[0].fn,
            a[0].once and b[0].once,
            a[0].flaw or b[0].flaw,
        ),
    )


def least(a: Expr, b: Expr) -> Expr:
    """The minimum of two extents, each of their minimands once."""
    parts = list(dict.fromkeys((*minimands(a), *minimands(b))))
    found = parts[0]
    for part in parts[1:]:
        found = binary("min", found, part)
    return found


def whole(scope: PathScope, several: Sequence[ReducedDimension]) -> bool:
    """Whether nothing is missing in a sum, whichever of the several it is."""
    return all(complete(s, scope).outcome.proved for s in several)


def over_loop(
    terms: Sequence[CoordinateRange | Prior], loop: int, sym: Sym, trips: Expr
) -> tuple[CoordinateRange | Prior, ...]:
    """What a loop has added after all iterations, its own prior left out."""
    found: list[CoordinateRange | Prior] = []
    for t in terms:
        match t:
            case Prior(loop=number):
                if number != loop:
                    found.append(t)
            case CoordinateRange():
                found.append(replace(t, loops=(*t.loops, (sym, trips))))
    return tuple(found)


def complete(s: ReducedDimension, scope: PathScope) -> Completeness:
    """Whether a sum has seen each coordinate of [0, extent) exactly once.

    A maximum: at least once. Coordinates outside do not exist; that they add nothing is
    the business of padding.
    """
    found = scope.complete.get(s)
    if found is None:
        found = scope.complete[s] = _complete(s, scope)
    assert isinstance(found, Completeness)
    return found


def _complete(s: ReducedDimension, scope: PathScope) -> Completeness:
    if s.flaw is None:
        return _counted(s, scope)
    if s.flaw.certain:
        outcome = Agreement(Verdict.REFUTED, "normal form", "", scope.some_point())
        return Completeness(outcome, why=s.flaw.text)
    # A coordinate that is missing is missing whatever was done to the others.
    found = _counted(s, scope) if s.terms else Completeness(unknown(s.flaw.text))
    if found.outcome.verdict is Verdict.REFUTED:
        return found
    return Completeness(unknown(s.flaw.text), why=s.flaw.text)


def _counted(s: ReducedDimension, scope: PathScope) -> Completeness:
    if any(isinstance(t, Prior) for t in s.terms):
        model = scope.some_point()
        return Completeness(
            Agreement(Verdict.REFUTED, "normal form", "", model), coordinate=0
        )
    spans = [t for t in s.terms if isinstance(t, CoordinateRange)]
    counted = _count(spans, s, scope)
    if counted is not None:
        return counted
    return Completeness(_chain(spans, s, scope))


def _count(
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


def _chain(
    spans: list[CoordinateRange], s: ReducedDimension, scope: PathScope
) -> Agreement:
    """Lay the spans end to end from 0 to at least the extent."""
    pieces: list[tuple[Expr, Expr]] = []
    extent = s.extent
    for span in _side_by_side(spans, scope):
        joined = _joined(span, s, scope)
        if joined is None:
            return unknown("the parts of the sum do not continue each other")
        pieces.append(joined)
    at: Expr = Const(0)
    while pieces:
        found = next((p for p in pieces if _continues(p, at, s, scope)), None)
        if found is None:
            return unknown("the parts of the sum could not be put in order")
        pieces.remove(found)
        at = found[1]
    decided = scope.decide(binary(">=", at, extent))
    return Agreement(decided.verdict, decided.method, decided.reason, decided.model)


def _side_by_side(
    spans: list[CoordinateRange], scope: PathScope
) -> list[CoordinateRange]:
    """The spans, those that continue each other in every iteration put together."""
    left = list(spans)
    found: list[CoordinateRange] = []
    while left:
        span = left.pop(0)
        while True:
            after = next((x for x in left if _follows(span, x, scope)), None)
            before = next((x for x in left if _follows(x, span, scope)), None)
            beside = after or before
            if beside is None:
                break
            left.remove(beside)
            low = span.lo if after is not None else beside.lo
            span = replace(span, lo=low, size=span.size + beside.size)
        found.append(span)
    return found


def _follows(a: CoordinateRange, b: CoordinateRange, scope: PathScope) -> bool:
    alike = a.loops == b.loops and a.hi == b.hi
    return alike and scope.difference(b.lo, a.lo) == a.size


def _continues(
    piece: tuple[Expr, Expr], at: Expr, s: ReducedDimension, scope: PathScope
) -> bool:
    if scope.equal(piece[0], at).verdict is Verdict.PROVED:
        return True
    lo, hi = piece
    return (
        not s.once
        and scope.all_hold((binary("<=", lo, at), binary(">=", hi, at))).verdict
        is Verdict.PROVED
    )


def _joined(
    span: CoordinateRange, s: ReducedDimension, scope: PathScope
) -> tuple[Expr, Expr] | None:
    """A span over its loops as one [lo, hi), where iterations continue each other."""
    extent = s.extent
    lo: Expr = span.lo
    size: Expr = Const(span.size)
    world = scope.world
    hi = span.hi
    if hi is not None and scope.holds(binary(">=", hi, extent)):
        hi = None
    for sym, trips in _without_choice(span, scope):
        if hi is not None and world.depends(hi, sym):
            size, hi = binary("-", binary("min", binary("+", lo, size), hi), lo), None
        first = world.replace(lo, {sym.name: Const(0)})
        second = world.replace(lo, {sym.name: Const(1)})
        if world.depends(size, sym):
            end = _continued(lo, binary("+", lo, size), sym, trips, extent, scope)
            if end is None:
                return None
            lo, size = first, binary("-", end, first)
            continue
        linear = binary("+", first, sym * binary("-", second, first))
        if not s.once:
            ends = _covered(lo, size, sym, trips, scope)
            if ends is None:
                return None
            lo, size = ends[0], binary("-", ends[1], ends[0])
            continue
        if scope.equal(lo, linear).verdict is not Verdict.PROVED:
            return None
        step = binary("-", second, first)
        if scope.equal(step, size).verdict is Verdict.PROVED:
            lo = first
        elif scope.equal(binary("-", 0, step), size).verdict is Verdict.PROVED:
            lo = binary("+", first, binary("*", step, binary("-", trips, 1)))
        else:
            return None
        size = binary("*", size, trips)
    end = binary("+", lo, size)
    return lo, end if hi is None else binary("min", end, hi)


def _covered(
    lo: Expr, size: Expr, sym: Sym, trips: Expr, scope: PathScope
) -> tuple[Expr, Expr] | None:
    """[lo, hi) of parts that each begin in the one before or next to it."""
    world = scope.world
    step = binary("-", world.replace(lo, {sym.name: binary("+", sym, 1)}), lo)
    inside = scope.when(binary("<", sym, binary("-", trips, 1)))
    first = world.replace(lo, {sym.name: Const(0)})
    last = world.replace(lo, {sym.name: binary("-", trips, 1)})
    for low, high, change in (
        (first, last, step),
        (last, first, binary("-", 0, step)),
    ):
        near = (binary(">=", change, 0), binary("<=", change, size))
        if inside.all_hold(near).verdict is not Verdict.PROVED:
            continue
        # Without any part there is none to reach further than it steps.
        some = scope.equal(change, size).verdict is Verdict.PROVED
        if some or scope.holds(binary(">=", trips, 1)):
            return low, binary("+", high, size)
    return None


def _without_choice(span: CoordinateRange, scope: PathScope) -> list[tuple[Sym, Expr]]:
    """The loops, where only one iteration of one of them counts: that one left out.

    Such is a value that only the block with ``v == c`` adds: (.., [v == c]), (v, n).
    """
    left = list(span.loops)
    for chosen in span.loops:
        match chosen[1]:
            case Select(
                cond=Binary(op="==", left=Sym(name=name), right=Const() as c),
                then=Const(value=1),
                other=Const(value=0),
            ):
                around = next((x for x in left if x[0].name == name), None)
                if around is None or scope.world.depends(span.lo, around[0]):
                    continue
                inside = (binary(">=", c, 0), binary("<", c, around[1]))
                if scope.all_hold(inside).verdict is Verdict.PROVED:
                    left.remove(chosen)
                    left.remove(around)
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(chosen[1])
    return left


def _continued(
    lo: Expr, end: Expr, sym: Sym, trips: Expr, extent: Expr, scope: PathScope
) -> Expr | None:
    """Where parts of different lengths end, if each begins where the one before ends.

    Parts past the extent may be empty: nothing is left for them.
    """
    following = scope.world.replace(lo, {sym.name: binary("+", sym, 1)})
    done = binary("and", binary(">=", end, extent), binary(">=", following, extent))
    goal = binary("or", binary("==", end, following), done)
    inside = scope.when(binary("<", sym, binary("-", trips, 1)))
    if not inside.holds(goal):
        return None
    return scope.world.replace(end, {sym.name: binary("-", trips, 1)})
