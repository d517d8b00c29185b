"""Stores: the element that goes to C[m, n] is (M=m, N=n), complete, and not padding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, binary
from argus.ir.memory import GlobalView
from argus.verify.evidence import OperandElement
from argus.verify.tags.accumulation import EXTRA, RUNNING, partly
from argus.verify.tags.compare import Agreement, agree, unknown, value_of, within
from argus.verify.tags.findings import operand
from argus.verify.tags.lanes import lane_sums, lane_union
from argus.verify.tags.masks import excludes
from argus.verify.tags.moving import moved
from argus.verify.tags.shifts import shift_of
from argus.verify.tags.spread import ViewCoordinates
from argus.verify.tags.state import Stored, WalkState
from argus.verify.tags.sums import complete
from argus.verify.tags.values import (
    AbstractValue,
    Bools,
    Compare,
    Coord,
    Hole,
    Loaded,
    ReducedDimension,
    Tag,
    Vague,
)
from argus.verify.verdict import Verdict

__all__ = ["check_store"]


def check_store(
    state: WalkState,
    op: o.StoreGlobal | o.CopyOut,
    view: GlobalView,
    placed: ViewCoordinates,
    value: AbstractValue,
    mask: tuple[Compare, ...] | None,
    who: Bools | None,
    part: int = 0,
) -> None:
    """All obligations of one store; it is remembered for coverage.

    ``mask`` are the conditions under which an element is stored, None if there are
    none; ``who`` the holders that store; ``part`` the number of the box, for an
    operation that stores several.
    """
    tensor = view.tensor
    if who is not None:
        placed, value = _only(placed, value, who)
    for name, tag in zip(tensor.dims, placed.coords, strict=True):
        _identity(state, op, name, tag, value)
    for name, tag in placed.axes.items():
        _identity(state, op, name, tag, value)
    for index in placed.indices:
        for name, tag in index.tags.items():
            if name not in tensor.dims:
                _identity(state, op, name, tag, value, gathered=True)
    for hole in value.holes:
        _padding(state, op, view, placed, value, hole, mask)
    atomic = isinstance(op, o.StoreGlobal) and op.stored is not None
    if isinstance(op, o.Atomic) and op.atomic == "cas":
        outcome = unknown("a compare-and-swap stores only where memory has a value")
        state.report("AG0306", f"{tensor.name} is written", op.span, outcome)
    value = _accumulators(state, op, value)
    if not atomic:
        _complete(state, op, value)
    _shift(state, op, value)
    for name in value.sets:
        outcome = Agreement(
            Verdict.REFUTED, "enumeration", "", state.scope.some_point()
        )
        state.report(
            "AG0308", f"the stored sum over {name} is complete", op.span, outcome
        )
    state.stores[id(op), part] = Stored(
        op,
        tensor,
        placed.coords,
        placed.limits,
        state.scope,
        state.role,
        atomic,
        value,
        placed.indices,
        mask if who is None or mask is None else _of_those(mask, who),
    )


def _of_those(mask: tuple[Compare, ...], who: Bools) -> tuple[Compare, ...]:
    """Conditions on the elements of those that store."""
    return tuple(Compare(c.op, _line(c.left, who), _line(c.right, who)) for c in mask)


def _line(tag: Tag, who: Bools) -> Tag:
    match tag:
        case Coord():
            spread = np.broadcast_to(tag.offs, who.shape)
            return Coord(tag.base, spread[who][None, :])
        case Loaded():
            return replace(tag, at=tuple(_line(x, who) for x in tag.at))
        case Vague():
            return tag


def _only(
    placed: ViewCoordinates, value: AbstractValue, who: Bools
) -> tuple[ViewCoordinates, AbstractValue]:
    """The elements of those that store, as one row."""

    def line(tag: Tag) -> Tag:
        return _line(tag, who)

    count = int(who.sum())

    def flat(v: AbstractValue) -> AbstractValue:
        return moved(
            v, (1, count), lambda a: np.broadcast_to(a, who.shape)[who][None, :]
        )

    return (
        ViewCoordinates(
            tuple(line(c) for c in placed.coords),
            tuple((line(t), e) for t, e in placed.limits),
            {n: line(t) for n, t in placed.axes.items()},
            tuple(flat(v) for v in placed.indices),
        ),
        flat(value),
    )


def _identity(
    state: WalkState,
    op: o.StoreGlobal | o.CopyOut,
    name: str,
    tag: Tag,
    value: AbstractValue,
    gathered: bool = False,
) -> None:
    mine = value.tags.get(name)
    if mine is None or isinstance(tag, Vague):
        return
    tensor = op.dst.tensor if isinstance(op, o.CopyOut) else op.view.tensor
    outcome = agree(mine, tag, state.scope, max(0, value.loose.get(name, 0)))
    element = outcome.element
    stored = operand("stored", value, element, outcome.model, state.scope)
    wanted = value_of(tag, element, outcome.model, state.scope)
    through = isinstance(mine, Loaded) or isinstance(tag, Loaded) or gathered
    state.report(
        "AG0315" if through else "AG0305",
        f"the element stored at {name} has that {name}",
        op.span,
        outcome,
        f"an element is stored at another {name} than its own",
        f"{name} = {stored.tag.get(name)} is stored at {name} = {wanted} of "
        f"{tensor.name}",
        [stored],
        thread=element[0] if element else None,
    )


def _padding(
    state: WalkState,
    op: o.StoreGlobal | o.CopyOut,
    view: GlobalView,
    placed: ViewCoordinates,
    value: AbstractValue,
    hole: Hole,
    mask: tuple[Compare, ...] | None,
) -> None:
    """An element outside its tensor may not be one that is stored."""
    outcome = _skipped(state, view, placed, hole, mask)
    element = outcome.element
    state.report(
        "AG0310",
        f"elements outside {hole.what} are not stored",
        op.span,
        outcome,
        f"elements outside {hole.what} are stored",
        f"an element past the end of {hole.name} reaches {view.tensor.name}",
        [operand("stored", value, element, outcome.model, state.scope)],
        thread=element[0] if element else None,
        help="store only what exists: slice to the end, or give a mask",
    )


def _skipped(
    state: WalkState,
    view: GlobalView,
    placed: ViewCoordinates,
    hole: Hole,
    mask: tuple[Compare, ...] | None,
) -> Agreement:
    scope = state.scope
    conditions: list[tuple[Tag, Expr]] = [
        (tag, state.close(extent))
        for tag, extent in zip(placed.coords, view.tensor.shape, strict=True)
    ]
    conditions += list(placed.limits)
    for index in placed.indices:
        conditions += [
            (h.where, h.extent)
            for h in index.holes
            if isinstance(h.kind, float | int) and h.kind < 0
        ]
    for tag, extent in conditions:
        if isinstance(tag, Vague):
            continue
        same = agree(hole.where, tag, scope).proved
        if same and _at_most(state, extent, hole.extent):
            return Agreement(Verdict.PROVED, "normal form")
        if not same and _implied(state, hole, tag, extent):
            return Agreement(Verdict.PROVED, "normal form")
    if mask is not None and excludes(state, mask, hole):
        return Agreement(Verdict.PROVED, "normal form")
    return _reaches(state, hole, conditions)


def _implied(state: WalkState, hole: Hole, tag: Tag, extent: Expr) -> bool:
    """Whether where < hole.extent follows from 0 <= tag < extent: where = tag + c."""
    where = hole.where
    if not isinstance(where, Coord) or not isinstance(tag, Coord):
        return False
    apart = np.asarray(where.offs - tag.offs)
    if not apart.size or (apart != apart.flat[0]).any():
        return False
    c = binary("+", binary("-", where.base, tag.base), int(apart.flat[0]))
    last = binary("<=", binary("+", extent, c), hole.extent)
    return state.scope.all_hold((binary(">=", c, 0), last)).verdict is Verdict.PROVED


def _at_most(state: WalkState, a: Expr, b: Expr) -> bool:
    return a == b or state.scope.holds(binary("<=", a, b))


def _reaches(
    state: WalkState, hole: Hole, conditions: list[tuple[Tag, Expr]]
) -> Agreement:
    """A point where an element of the hole meets every condition of the store."""
    empty = within(hole.where, hole.extent, state.scope)
    if empty.proved or empty.verdict is Verdict.UNKNOWN:
        return empty
    unknown = Agreement(
        Verdict.UNKNOWN, "", f"whether elements outside {hole.what} are stored"
    )
    points = state.scope.points
    if points is None or not points.size or not isinstance(hole.where, Coord):
        return unknown  # no admissible sizes were found, or they choose no iteration
    try:
        limit = points.of(hole.extent)
        base = points.of(hole.where.base)
    except KeyError:  # an unknown scalar is part of the coordinate
        return unknown
    exprs = [extent for _, extent in conditions]
    keep = state.scope.admissible(hole.where.base, hole.extent, *exprs)
    for i in np.flatnonzero(keep)[:256] if keep is not None else ():
        at = int(base[i]) + hole.where.offs
        reached = (at >= int(limit[i])) | (at < 0)
        if not reached.any():
            continue
        model = points.at(int(i))
        for tag, extent in conditions:
            if not isinstance(tag, Coord):
                # A table may name a row that exists, for any element with an index.
                continue
            start = state.scope.value_at(tag.base, model)
            end = state.scope.value_at(extent, model)
            if start is None or end is None:
                return empty
            place = start + tag.offs
            reached = reached & (place >= 0) & (place < end)
        if reached.any():
            where = np.unravel_index(int(np.argmax(reached)), reached.shape)
            element = tuple(int(x) for x in where)
            return Agreement(Verdict.REFUTED, "admissible sizes", "", model, element)
    return unknown


def _complete(state: WalkState, op: o.AnyOp, value: AbstractValue) -> None:
    for name, several in value.sums.items():
        for s in several:
            _whole(state, op, value, name, s)


def _accumulators(state: WalkState, op: o.AnyOp, value: AbstractValue) -> AbstractValue:
    """The value with its sums per element as sums, where all elements have seen alike.

    Else one that is stored is a part, of which only all together may be complete.
    """
    found_sums = dict(value.sums)
    for name, lane in value.lanes.items():
        extent = value.extents.get(name)
        if extent is None:
            continue
        sums = lane_sums(lane, extent)
        if sums is not None:
            found_sums[name] = (*found_sums.get(name, ()), *sums)
            continue
        union = lane_union(lane, extent)
        found = None if union is None else complete(union, state.scope)
        if found is not None and found.outcome.verdict is Verdict.REFUTED:
            assert union is not None
            _whole(state, op, value, name, union)
            continue
        text = f"each stored element is a {lane.fn} over a part of {name} of its own"
        claim = f"the stored {lane.fn} has seen each {name}"
        state.report("AG0308", claim, op.span, unknown(text))
    return replace(value, sums=found_sums, lanes={})


def _shift(state: WalkState, op: o.AnyOp, value: AbstractValue) -> None:
    """What is stored is not relative to a maximum over a part of its row."""
    shift = shift_of(state.scope, value)
    if shift is None or (value.row is not None and value.shift is None):
        return
    exact = not shift.lost and all(t.row.exact for t in shift.terms)
    outcome = unknown(shift.lost or "a number of a part of the row is left in it")
    if exact:
        outcome = Agreement(
            Verdict.REFUTED, "normal form", "", state.scope.some_point(), (0, 0)
        )
    names = {n for t in shift.terms for n, _ in t.row.over}
    over = ", ".join(sorted(names)) or "a row"
    state.report(
        "AG0308",
        "what is stored is not relative to a maximum over a part of its row",
        op.span,
        outcome,
        f"a value that is relative to a maximum over a part of {over} is stored",
        "the maximum has not seen the whole row, and is not divided out",
        [operand("stored", value, (0, 0), outcome.model, state.scope)],
    )


def _whole(
    state: WalkState, op: o.AnyOp, value: AbstractValue, name: str, s: ReducedDimension
) -> None:
    """One sum, or maximum, that is stored has seen all that it is over."""
    found = complete(s, state.scope)
    times = f"{found.times} times" if found.times else "never"
    missing = OperandElement("twice" if found.times else "missing",
                      {name: found.coordinate}, ())  # fmt: skip
    operands = [operand("stored", value, (), found.outcome.model, state.scope)]
    fn = {"max": "maximum", "min": "minimum", "prod": "product"}.get(s.fn, s.fn)
    claim = f"the stored {fn} has seen each {name}{' exactly once' if s.once else ''}"
    verb = "added" if s.fn == "sum" else "seen"
    label = f"{name} = {found.coordinate} was {verb} {times}"
    message = f"a {fn} over {name} that is not complete is stored"
    if found.rule == "AG0309":
        message = f"a {fn} that counts some {name} twice is stored"
    if name.startswith(EXTRA) and not found.why:
        claim = message = f"{partly(name)} is added once"
        message = f"{partly(name)} is added {times}"
        label = "each iteration adds it" if found.times else "nothing adds it"
    elif found.why:
        label = found.why
        message = f"what is stored is no {fn} over {name.removeprefix(RUNNING)}"
    else:
        operands.append(missing)
    state.report(
        found.rule if found.outcome.verdict is Verdict.REFUTED else "AG0308",
        claim,
        op.span,
        found.outcome,
        message,
        label,
        operands,
    )
