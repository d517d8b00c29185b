"""Which coordinates a sum has seen: accumulation over loops, completeness.

A sum is a union of spans [lo(it), lo(it) + size) over iterations. Spans that continue
each other from iteration to iteration become one span; that the whole is [0, extent)
without overlap is then a chain of equations. A sum that is wrong is refuted by counting
at admissible sizes (`coordinate_counts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary
from argus.verify.tags.compare import Agreement, unknown
from argus.verify.tags.coordinate_counts import Completeness, miscounted
from argus.verify.tags.scope import PathScope
from argus.verify.tags.signs import minimands
from argus.verify.tags.values import CoordinateRange, Prior, ReducedDimension
from argus.verify.verdict import Verdict

__all__ = ["Completeness", "added", "complete", "least", "over_loop", "whole"]


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
    counted = miscounted(spans, s, scope)
    if counted is not None:
        return counted
    return Completeness(_chain(spans, s, scope))


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
