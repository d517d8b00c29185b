"""Reductions along an axis: each coordinate once, padding only as neutral element.

A reduction across warps is several operations with a detour through shared memory. What
each partial result has seen travels with it as a set of coordinates; when all elements
have seen one and the same range, the set becomes a span like those of matrix products.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const, binary
from argus.verify.tags.accumulation import bent
from argus.verify.tags.compare import Agreement, unknown, within
from argus.verify.tags.findings import operand
from argus.verify.tags.kinds import (
    is_negative_infinity,
    is_positive_infinity,
    neutral,
)
from argus.verify.tags.rows import ends_rows
from argus.verify.tags.shifting import number_of_row, reduced_shift
from argus.verify.tags.shifts import EXTREMES
from argus.verify.tags.state import WalkState
from argus.verify.tags.sums import complete
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    Hole,
    Ints,
    Kind,
    Lane,
    Loaded,
    Prior,
    ReducedDimension,
    Sets,
    Tag,
    Vague,
)
from argus.verify.tile_bounds import bounds_of
from argus.verify.verdict import Verdict

__all__ = ["reduced"]


class _Axis:
    """A tile's elements by coordinate, the reduced axis last."""

    def __init__(self, state: WalkState, op: o.Reduce) -> None:
        self.source = state.table(op.src)
        self.result = state.table(op.result)
        self.shape = op.src.shape
        self.axis = op.axis
        self.dim = op.src.dims[op.axis]
        self.regular = True
        self._rows: dict[int, tuple[Ints, Ints]] = {}

    def rows(self, a: Ints) -> Ints:
        """Register array -> [*kept axes, n]; notes where copies differ."""
        found = self._rows.get(id(a))
        if found is None:
            # The array is kept, so that no other gets its identity.
            found = self._rows[id(a)] = a, self._by_coordinate(a)
        return found[1]

    def _by_coordinate(self, a: Ints) -> Ints:
        index = tuple(self.source[:, :, i] for i in range(len(self.shape)))
        whole = np.zeros(self.shape, np.int64)
        whole[index] = a
        if not np.array_equal(whole[index], a):
            self.regular = False
        return np.moveaxis(whole, self.axis, -1)

    def spread(self, a: Ints) -> Ints:
        """[*kept axes] -> register array of the result."""
        index = tuple(self.result[:, :, i] for i in range(self.result.shape[2]))
        return a[index] if index else np.broadcast_to(a, self.result.shape[:2])

    def constant(self, tag: Tag) -> bool:
        """Whether a component is the same along the axis."""
        match tag:
            case Coord():
                rows = self.rows(tag.offs)
                return bool((rows == rows[..., :1]).all())
            case Loaded():
                return all(self.constant(x) for x in tag.at)
            case Vague():
                return True

    def along(self, name: str, tag: Vague) -> bool:
        """Whether a component that is not known runs along the axis."""
        if tag.first is not None and not self.constant(tag.first):
            return True
        return name == self.dim

    def first(self, tag: Tag) -> Tag:
        """The component at the beginning of the axis."""
        match tag:
            case Coord():
                return self._coordinate(tag)
            case Loaded():
                at = tuple(self.first(x) for x in tag.at)
                return Loaded(tag.table, at, tag.shift)
            case Vague(reason=reason, first=Coord() as first, when=when):
                if self.constant(first):
                    return Vague(reason, self._coordinate(first), when)
                return Vague(reason)
            case Vague():
                return tag

    def _coordinate(self, tag: Coord) -> Coord:
        return Coord(tag.base, self.spread(self.rows(tag.offs)[..., 0]))


def reduced(
    state: WalkState, op: o.Reduce, source: AbstractValue | None = None
) -> AbstractValue:
    """The value of a reduction's result; ``source``: of what, if not of ``op.src``."""
    value = state.get(op.src) if source is None else source
    axis = _Axis(state, op)
    tags: dict[str, Tag] = {}
    sets: dict[str, Sets] = {}
    sums = _sums(state, op, value)
    running: list[str] = []
    for name, tag in value.tags.items():
        if isinstance(tag, Vague) and name in value.extents and axis.along(name, tag):
            flaw = Flaw(f"which {name} a {op.fn} has seen: {tag.reason}", False)
            seen_ = ReducedDimension(value.extents[name], (), op.fn, True, flaw)
            sums[name] = (*sums.get(name, ()), seen_)
        elif axis.constant(tag):
            tags[name] = axis.first(tag)
        elif isinstance(tag, Coord):
            rows = axis.rows(tag.offs)
            terms = (CoordinateRange(tag.base, 1, (), value.ends.get(name)),)
            sets[name] = _as_sets(terms, rows, axis)
            running.append(name)
    for name, s in value.sets.items():
        ids = axis.rows(s.ids)
        same = bool((ids == ids[..., :1]).all())
        members = s.table[ids[..., 0]] if same else s.table[ids]
        shape = (*members.shape[: ids.ndim - 1], -1)
        made = _as_sets(s.terms, members.reshape(shape), axis)
        sets[name] = replace(made, once=s.once, flaw=s.flaw)
    lanes: dict[str, Lane] = {}
    for name, lane in value.lanes.items():
        rows = axis.rows(lane.offs)
        if bool((rows == rows[..., :1]).all()):
            flaw = lane.flaw or _other_function(op, lane.fn)
            lanes[name] = replace(lane, offs=axis.spread(rows[..., 0]), flaw=flaw)
            continue
        running.append(name)
        flaw = lane.flaw or _other_function(op, lane.fn)
        made = _as_sets(lane.terms, rows, axis)
        sets[name] = replace(made, once=lane.once, flaw=flaw)
    for name in list(sets):
        seen = _settled(state, op, value, name, sets[name])
        if seen is not None:
            del sets[name]
            if seen:
                sums[name] = (*sums.get(name, ()), *seen)
    holes = _holes(state, op, value, axis)
    if not axis.regular:
        vague = Vague("copies of one element in different threads differ")
        tags = dict.fromkeys(tags, vague)
    kind: Kind = value.kind if value.kind == 0 or op.fn in ("max", "min") else "data"
    return AbstractValue(
        state.shape(op.result),
        tags,
        holes,
        kind,
        sums=sums,
        sets=sets,
        lanes=lanes,
        extents=value.extents,
        loose=value.loose,
        row=number_of_row(state, op) if op.fn in EXTREMES else None,
        shift=reduced_shift(state, op, value, running),
        limits={n: e for n, e in value.limits.items() if n not in sums},
        ends={n: e for n, e in value.ends.items() if n in tags},
        chain=value.chain,
    )


def _sums(
    state: WalkState, op: o.Reduce, value: AbstractValue
) -> dict[str, tuple[ReducedDimension, ...]]:
    """Parts of sums over other dimensions: only sums may be taken of them."""
    found: dict[str, tuple[ReducedDimension, ...]] = {}
    for name, several in value.sums.items():
        flaw = _other_function(op, several[0].fn)
        if several[0].fn in EXTREMES and flaw is not None:
            continue  # in the shift
        found[name] = bent(state.scope, several, flaw)
    return found


def _other_function(op: o.Reduce, fn: str) -> Flaw | None:
    """Whether a part of one reduction is taken for that of another."""
    if op.fn == fn:
        return None
    return Flaw(f"a {op.fn} is taken of what is a part of a {fn}", False)


def _as_sets(
    terms: tuple[CoordinateRange | Prior, ...], rows: Ints, axis: _Axis
) -> Sets:
    table = rows.reshape(-1, rows.shape[-1])
    ids = np.arange(len(table)).reshape(rows.shape[:-1])
    return Sets(axis.spread(ids), table, terms)


def _settled(
    state: WalkState, op: o.Reduce, value: AbstractValue, name: str, s: Sets
) -> tuple[ReducedDimension, ...] | None:
    """What all elements have seen: () if complete; None while they differ."""
    extent = value.extents.get(name)
    if extent is None:
        # A component of the author's is no dimension to be reduced.
        return ()
    rows = np.sort(s.table, axis=1)
    again = (rows[:, 1:] == rows[:, :-1]).any(axis=1)
    scope = state.scope
    if again.any() and op.fn in ("sum", "prod"):
        outcome = Agreement(Verdict.REFUTED, "enumeration", "", scope.some_point())
    else:
        outcome = Agreement(Verdict.PROVED, "enumeration")
    state.report(
        "AG0304",
        f"each {name} is counted once",
        op.span,
        outcome,
        f"a reduction counts an element along {name} twice",
        f"one {name} takes part twice",
        [operand("element", value, (0, 0), outcome.model, scope)],
    )
    if again.any():
        different = [np.unique(row) for row in rows]
        if len({len(row) for row in different}) != 1:
            return None
        rows = np.stack(different)
    low, count = int(rows[0, 0]), rows.shape[1]
    if not (rows == rows[0]).all() or rows[0, -1] - low != count - 1:
        return None
    if name in value.limits:
        extent = binary("min", extent, value.limits[name])
    terms = tuple(
        replace(t, lo=binary("+", t.lo, low), size=count)
        if isinstance(t, CoordinateRange)
        else t
        for t in s.terms
    )
    once = s.once and op.fn in ("sum", "prod")
    found = ReducedDimension(extent, terms, op.fn, once, s.flaw)
    return () if complete(found, scope).outcome.proved else (found,)


def _holes(
    state: WalkState, op: o.Reduce, value: AbstractValue, axis: _Axis
) -> tuple[Hole, ...]:
    kept: list[Hole] = []
    for h in value.holes:
        if axis.constant(h.where) and not isinstance(h.where, Vague):
            same = h.kind == 0 or op.fn in ("max", "min")
            kind: Kind = h.kind if same else "junk"
            kept.append(replace(h, where=axis.first(h.where), kind=kind))
            continue
        _check(state, op, value, h)
    return tuple(kept)


def _below_all(state: WalkState, op: o.Reduce, h: Hole) -> bool:
    """Whether what a hole holds is no larger than any element."""
    if op.fn != "max" or isinstance(h.kind, str):
        return False
    return h.kind <= bounds_of(state.world.definitions, op.src).lo


def _is_first_among_equals(state: WalkState, op: o.Reduce, h: Hole) -> bool:
    """Whether a place may be that of what a hole holds: of the last number of a type.

    Elements may be equal to it, and the first of several is taken.
    """
    if op.fn not in ("argmax", "argmin") or isinstance(h.kind, str):
        return False
    infinite = is_negative_infinity(h.kind) or is_positive_infinity(h.kind)
    return not infinite and not ends_rows(state, op.src, op.axis, h.where)


def _check(state: WalkState, op: o.Reduce, value: AbstractValue, h: Hole) -> None:
    if _is_first_among_equals(state, op, h):
        outcome = within(h.where, h.extent, state.scope)
        if not outcome.proved:
            outcome = unknown(f"an element may be {h.kind}, too, and come after it")
    elif neutral(op.fn, h.kind, op.src.dtype):
        outcome = Agreement(Verdict.PROVED, "normal form")
    elif _below_all(state, op, h):
        # So it changes nothing where there is an element.
        nothing = np.zeros((1, 1), dtype=np.int64)
        outcome = within(Coord(Const(0), nothing), h.extent, state.scope)
    else:
        outcome = within(h.where, h.extent, state.scope)
    held = "arbitrary bits" if isinstance(h.kind, str) else f"{h.kind}"
    wanted = {"sum": "0", "max": "-inf", "min": "inf", "prod": "1"}.get(op.fn, "none")
    state.report(
        "AG0310",
        f"elements outside {h.what} do not take part in the {op.fn}",
        op.span,
        outcome,
        f"elements outside {h.what} reach a {op.fn}",
        f"an element past the end of {h.name} holds {held} here",
        [
            operand(
                "element",
                value,
                outcome.element,
                outcome.model,
                state.scope,
                state.coordinate(op.src, outcome.element),
            )
        ],
        thread=outcome.element[0] if outcome.element else None,
        help=f"fill with {wanted}, or mask with `ag.where(... < extent, x, {wanted})`",
    )
