"""Tiles that a loop adds up element by element: ``acc = acc + x`` along a row.

Element e of the accumulator belongs to no one coordinate of the row but has seen one of
each tile; a later reduction over the elements completes the sum. Here are the rules of
that addition: the tiles lie alike in their registers, and padding adds nothing.
"""

from __future__ import annotations

from dataclasses import replace

from argus.ir import ops as o
from argus.ir.expr import binary
from argus.verify.tags.compare import Outcome, within
from argus.verify.tags.findings import operand
from argus.verify.tags.kinds import neutral
from argus.verify.tags.state import State
from argus.verify.tags.values import Coord, Lane, Span, Value
from argus.verify.verdict import Verdict

__all__ = ["REDUCING", "accumulated", "pairing"]

REDUCING = {"add": "sum", "maximum": "max", "minimum": "min"}
"""Element-wise functions that accumulate, and the reduction that completes them."""


def pairing(values: list[Value], name: str) -> tuple[Value, Value] | None:
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
    state: State, op: o.Elementwise, values: list[Value], result: Value
) -> Value:
    """The result, where it is an accumulation; else with the lanes of its operands."""
    lanes = {n: x for v in reversed(values) for n, x in v.lanes.items()}
    tags, holes = dict(result.tags), list(result.holes)
    for name, lane in list(lanes.items()):
        found = pairing(values, name)
        tag = None if found is None else found[1].tags[name]
        if found is None:
            continue
        fits = isinstance(tag, Coord) and op.fn in REDUCING
        apart = tag.offs - lane.offs if isinstance(tag, Coord) else lane.offs
        if not fits or (apart != apart.flat[0]).any() or not isinstance(tag, Coord):
            _report(state, op, name, values)
            continue
        shift = int(apart.flat[0])
        lanes[name] = Lane(
            lane.offs, (*lane.terms, Span(binary("+", tag.base, shift), 1))
        )
        tags.pop(name, None)
        for h in found[1].holes:
            if h.name != name:
                continue
            holes = [x for x in holes if x.name != name]
            outcome = Outcome(Verdict.PROVED, "normal form")
            if not neutral(REDUCING[op.fn], h.kind):
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


def _report(state: State, op: o.Elementwise, name: str, values: list[Value]) -> None:
    model = state.scope.some_point()
    state.report(
        "AG0303",
        f"both operands agree on {name}, element by element",
        op.span,
        Outcome(Verdict.REFUTED, "enumeration", "", model, (0, 0)),
        f"an accumulator of several {name} is combined with one of them",
        f"{name} on one side, a sum over {name} on the other",
        [operand("operand", v, (0, 0), model, state.scope) for v in values],
    )
