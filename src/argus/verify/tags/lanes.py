"""Tiles that a loop adds up element by element: ``acc = acc + x`` along a row.

Element e of the accumulator belongs to no one coordinate of the row but has seen one of
each tile; a later reduction over the elements completes the sum. Here are the rules of
that addition: the tiles lie alike in their registers, and padding adds nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, binary
from argus.verify.tags.accumulation import EXTRA, harm
from argus.verify.tags.compare import Agreement, within
from argus.verify.tags.findings import operand
from argus.verify.tags.kinds import neutral
from argus.verify.tags.state import WalkState
from argus.verify.tags.sums import whole
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    Lane,
    Prior,
    ReducedDimension,
)
from argus.verify.verdict import Verdict

__all__ = ["REDUCING", "accumulated", "lane_sums", "lane_union", "pairing"]

REDUCING = {"add": "sum", "sub": "sum", "maximum": "max", "minimum": "min"}
"""Element-wise functions that accumulate, and the reduction that completes them."""


def pairing(
    values: list[AbstractValue], name: str
) -> tuple[AbstractValue, AbstractValue] | None:
    """The accumulator and the tile that is added, for one component."""
    if len(values) != 2:
        return None
    a, b = values
    if name in a.lanes and name in b.tags:
        return a, b
    if name in b.lanes and name in a.tags:
        return b, a
    return None


def accumulated(
    state: WalkState,
    op: o.Elementwise,
    values: list[AbstractValue],
    result: AbstractValue,
) -> AbstractValue:
    """The result, where it is an accumulation; else with the lanes of its operands."""
    names = dict.fromkeys(n for v in values for n in v.lanes)
    lanes: dict[str, Lane] = {}
    for name in names:
        if not _accumulates(op, values, name):
            continue
        pair = pairing(values, name)
        kept = _kept(state, op, values, name) if pair is None else pair[0].lanes[name]
        if kept is not None:
            lanes[name] = kept
    tags, holes = dict(result.tags), list(result.holes)
    for name, lane in list(lanes.items()):
        found = pairing(values, name) if name in lanes else None
        tag = None if found is None else found[1].tags[name]
        if found is None:
            continue
        fits = isinstance(tag, Coord) and op.fn in REDUCING
        apart = tag.offs - lane.offs if isinstance(tag, Coord) else lane.offs
        if not fits or (apart != apart.flat[0]).any() or not isinstance(tag, Coord):
            _report(state, op, name, values)
            continue
        shift = int(apart.flat[0])
        end = found[1].ends.get(name)
        span = CoordinateRange(binary("+", tag.base, shift), 1, (), end)
        fn = REDUCING[op.fn]
        flaw = lane.flaw
        grown = any(not isinstance(t, Prior) for t in lane.terms)
        if fn != lane.fn and grown and flaw is None:
            flaw = Flaw(f"a {lane.fn} and a {fn} of parts are mixed", False)
        # A scale that changes along with another sum is used in each of its parts.
        once = fn == "sum" and not _beside(*found)
        lanes[name] = Lane(lane.offs, (*lane.terms, span), fn, once, flaw)
        tags.pop(name, None)
        for h in found[1].holes:
            if h.name != name:
                continue
            holes = [x for x in holes if x.name != name]
            outcome = Agreement(Verdict.PROVED, "normal form")
            if not neutral(REDUCING[op.fn], h.kind, op.result.dtype):
                outcome = within(h.where, h.extent, state.scope)
            state.report(
                "AG0310",
                f"elements outside {h.what} do not take part in the {op.fn}",
                op.span,
                outcome,
                f"elements outside {h.what} are accumulated",
                f"an element past the end of {name} holds {h.kind} here",
                [
                    operand(
                        "element", found[1], outcome.element, outcome.model, state.scope
                    )
                ],
            )
    return replace(result, tags=tags, holes=tuple(holes), lanes=lanes)


def lane_sums(lane: Lane, extent: Expr) -> tuple[ReducedDimension, ...] | None:
    """The sum that each element is; None where they have seen different coordinates.

    ``extent`` is that of the dimension.
    """
    if not lane.offs.size or (lane.offs != lane.offs.flat[0]).any():
        return None
    return (_shifted_sum(lane, extent, int(lane.offs.flat[0]), 1),)


def lane_union(lane: Lane, extent: Expr) -> ReducedDimension | None:
    """What all elements together have seen; None where they leave gaps."""
    seen = np.unique(lane.offs)
    low, count = int(seen[0]), len(seen)
    if int(seen[-1]) - low != count - 1:
        return None
    return _shifted_sum(lane, extent, low, count)


def _shifted_sum(lane: Lane, extent: Expr, low: int, count: int) -> ReducedDimension:
    terms = tuple(
        replace(t, lo=binary("+", t.lo, low), size=count)
        if isinstance(t, CoordinateRange)
        else t
        for t in lane.terms
    )
    return ReducedDimension(extent, terms, lane.fn, lane.once, lane.flaw)


def _kept(
    state: WalkState, op: o.Elementwise, values: list[AbstractValue], name: str
) -> Lane | None:
    """An accumulator after an operation that adds no tile along its dimension."""
    held = {i: v.lanes[name] for i, v in enumerate(values) if name in v.lanes}
    at, lane = next(iter(held.items()))
    if len(held) > 1:
        return _together(op, list(held.values()))
    if lane.fn != "sum":
        return lane
    extent = values[at].extents.get(name)
    sums = None if extent is None else lane_sums(lane, extent)
    if lane.flaw is not None or (sums is not None and whole(state.scope, sums)):
        return lane
    begun = any(isinstance(t, Prior) for t in lane.terms)
    return replace(lane, flaw=harm(op.fn, at, values, begun))


def _accumulates(op: o.Elementwise, values: list[AbstractValue], name: str) -> bool:
    """Whether the result is an accumulation, too, where an operand is one.

    What is computed of a maximum is none; how it depends on it is in its shift.
    """
    found = {v.lanes[name].fn for v in values if name in v.lanes}
    return "sum" in found or found == {REDUCING.get(op.fn)}


def _together(op: o.Elementwise, lanes: list[Lane]) -> Lane:
    """Two accumulators in one operation."""
    a, b = lanes[0], lanes[1]
    if a.terms == b.terms and np.array_equal(a.offs, b.offs) and op.fn not in REDUCING:
        return a
    fits = len(lanes) == 2 and REDUCING.get(op.fn) == a.fn == b.fn
    if not fits or not np.array_equal(a.offs, b.offs):
        text = f"two accumulators over different parts are combined by {op.fn}"
        return replace(a, flaw=a.flaw or b.flaw or Flaw(text, False))
    terms, once = (*a.terms, *b.terms), a.once and b.once
    return Lane(a.offs, terms, a.fn, once, a.flaw or b.flaw)


def _beside(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether both are parts of a sum over another dimension, too."""
    return any(
        n in b.sums and a.sums[n][0].fn == "sum" and not n.startswith(EXTRA)
        for n in a.sums
    )


def _report(
    state: WalkState, op: o.Elementwise, name: str, values: list[AbstractValue]
) -> None:
    model = state.scope.some_point()
    state.report(
        "AG0303",
        f"both operands agree on {name}, element by element",
        op.span,
        Agreement(Verdict.REFUTED, "enumeration", "", model, (0, 0)),
        f"an accumulator of several {name} is combined with one of them",
        f"{name} on one side, a sum over {name} on the other",
        [operand("operand", v, (0, 0), model, state.scope) for v in values],
    )
