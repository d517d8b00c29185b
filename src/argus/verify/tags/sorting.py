"""Sorts: where an element goes along the axis is a matter of data.

Shown here: padding comes after what is sorted (AG0310). What is left of an element's
tag is what all elements of its row share.
"""

from __future__ import annotations

from dataclasses import replace

from argus.ir import ops as o
from argus.verify.tags.compare import Agreement, unknown, within
from argus.verify.tags.kinds import (
    is_negative_infinity,
    is_positive_infinity,
    neutral,
)
from argus.verify.tags.rows import along_rows, ends_rows
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Coord, Hole, Ints, Tag, Vague
from argus.verify.tile_bounds import bounds_of
from argus.verify.verdict import Verdict

__all__ = ["in_order"]


def in_order(state: WalkState, op: o.Sort) -> AbstractValue:
    """The value of a sort's result."""
    value = state.get(op.src)
    if value.sums or value.sets or value.lanes:
        return state.vague(op.result, "a sort of parts of sums")
    tags: dict[str, Tag] = {}
    table = state.table(op.src)[:, :, op.axis]
    for name, tag in value.tags.items():
        if along_rows(state, op.src, op.axis, tag):
            tags[name] = tag
        elif not isinstance(tag, Coord) or _differs(tag.offs - table):
            tags[name] = Vague("a sort moves elements")
    infinite = is_negative_infinity if op.descending else is_positive_infinity
    holes: list[Hole] = []
    for h in value.holes:
        if along_rows(state, op.src, op.axis, h.where):
            holes.append(replace(h, kind="junk"))
            continue
        outcome = Agreement(Verdict.PROVED)
        if not infinite(h.kind) and not _is_last(state, op, h):
            outcome = within(h.where, h.extent, state.scope)
            if not outcome.proved:
                outcome = unknown(f"{h.kind} outside is not shown to come last")
        if isinstance(h.where, Coord) and not _differs(h.where.offs - table):
            # They stand at the end of their row, as they did before.
            holes.append(replace(h, kind="data" if op.indices else h.kind))
        state.report(
            "AG0310",
            f"elements outside {h.what} come after those that are sorted",
            op.span,
            outcome,
            help=_help(op),
        )
    return AbstractValue(
        state.shape(op.result),
        tags,
        tuple(holes),
        "data",
        extents={n: e for n, e in value.extents.items() if n in tags},
        loose={n: e for n, e in value.loose.items() if n in tags},
        limits={n: e for n, e in value.limits.items() if n in tags},
        ends={n: e for n, e in value.ends.items() if n in tags},
        chain=value.chain,
    )


def _is_last(state: WalkState, op: o.Sort, h: Hole) -> bool:
    """Whether elements that do not exist end their row, and hold its last number.

    Whole numbers have no infinity: an element may be equal to what pads the row, and
    comes first then, since equal ones keep their order.
    """
    if isinstance(h.kind, str):
        return False
    bounds = bounds_of(state.world.definitions, op.src)
    last = h.kind <= bounds.lo if op.descending else h.kind >= bounds.hi
    if not last and not neutral(
        "max" if op.descending else "min", h.kind, op.src.dtype
    ):
        return False
    return ends_rows(state, op.src, op.axis, h.where)


def _help(op: o.Sort) -> str:
    if op.src.dtype.kind == "int":
        end = op.src.dtype.integers[0 if op.descending else 1]
        return f"fill with {end}, where the row ends within the tile"
    return f"fill with {'-' if op.descending else ''}inf"


def _differs(offsets: Ints) -> bool:
    return bool((offsets != offsets.flat[0]).any())
