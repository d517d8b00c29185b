"""Values whose elements move, and values as they are in other iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from argus.ir.expr import Expr
from argus.verify.tags.values import (
    AbstractValue,
    Compare,
    Coord,
    CoordinateRange,
    Lane,
    Loaded,
    Mover,
    Prior,
    ReducedDimension,
    RowStatistic,
    Sets,
    Shape,
    Tag,
    Vague,
)

__all__ = ["map_bases", "move_tag", "moved", "rewritten"]


def move_tag(tag: Tag, move: Mover) -> Tag:
    """A component after its elements moved."""
    match tag:
        case Coord():
            return Coord(tag.base, move(tag.offs))
        case Loaded():
            at = tuple(move_tag(x, move) for x in tag.at)
            return Loaded(tag.table, at, tag.shift)
        case Vague(reason=reason, first=Coord() as first, when=when):
            return Vague(reason, Coord(first.base, move(first.offs)), when)
        case Vague():
            return tag


def map_bases(tag: Tag, change: Callable[[Expr], Expr]) -> Tag:
    """A component with its uniform parts rewritten."""
    match tag:
        case Coord():
            return Coord(change(tag.base), tag.offs)
        case Loaded():
            at = tuple(map_bases(x, change) for x in tag.at)
            return Loaded(tag.table, at, tag.shift)
        case Vague(reason=reason, first=first, when=when):
            if first is None or when is None:
                return tag
            return Vague(reason, Coord(change(first.base), first.offs), change(when))


def _map_tags(value: AbstractValue, change: Callable[[Tag], Tag]) -> AbstractValue:
    mask = value.mask
    if mask is not None:
        mask = tuple(Compare(c.op, change(c.left), change(c.right)) for c in mask)
    return replace(
        value,
        tags={name: change(tag) for name, tag in value.tags.items()},
        holes=tuple(replace(h, where=change(h.where)) for h in value.holes),
        number=None if value.number is None else change(value.number),
        mask=mask,
    )


def moved(value: AbstractValue, shape: Shape, move: Mover) -> AbstractValue:
    """The value after ``move`` (an indexing, the same for every array)."""

    def change(tag: Tag) -> Tag:
        return move_tag(tag, move)

    made = _map_tags(value, change)
    sets = {n: replace(s, ids=move(s.ids)) for n, s in value.sets.items()}
    lanes = {n: replace(x, offs=move(x.offs)) for n, x in value.lanes.items()}
    written = value.written
    if written is not None:
        written = move(written.astype(np.int64)).astype(np.bool_)
    return replace(made, shape=shape, sets=sets, lanes=lanes, written=written)


def rewritten(value: AbstractValue, change: Callable[[Expr], Expr]) -> AbstractValue:
    """The value with its uniform expressions rewritten: other iterations."""
    made = _map_tags(value, lambda tag: map_bases(tag, change))
    sums = {
        name: tuple(_with_terms(s, change) for s in several)
        for name, several in value.sums.items()
    }
    sets = {n: _with_terms(s, change) for n, s in value.sets.items()}
    lanes = {n: _with_terms(x, change) for n, x in value.lanes.items()}
    limits = {n: change(e) for n, e in value.limits.items()}
    ends = {n: change(e) for n, e in value.ends.items()}
    row = None if value.row is None else _rewrite_row(value.row, change)
    shift = value.shift
    if shift is not None:
        terms = (replace(t, row=_rewrite_row(t.row, change)) for t in shift.terms)
        shift = replace(shift, terms=tuple(terms))
    return replace(
        made, sums=sums, sets=sets, lanes=lanes, limits=limits, ends=ends, row=row,
        shift=shift,
    )  # fmt: skip


def _rewrite_row(row: RowStatistic, change: Callable[[Expr], Expr]) -> RowStatistic:
    over = tuple(
        (
            name,
            tuple(_with_terms(s, change) for s in several),
        )
        for name, several in row.over
    )
    return replace(row, at=tuple(change(e) for e in row.at), over=over)


_Seen = TypeVar("_Seen", ReducedDimension, Sets, Lane)


def _with_terms(seen: _Seen, change: Callable[[Expr], Expr]) -> _Seen:
    return replace(seen, terms=tuple(_rewrite_term(t, change) for t in seen.terms))


def _rewrite_term(
    term: CoordinateRange | Prior, change: Callable[[Expr], Expr]
) -> CoordinateRange | Prior:
    if isinstance(term, Prior):
        return term
    loops = tuple((sym, change(trips)) for sym, trips in term.loops)
    hi = None if term.hi is None else change(term.hi)
    return CoordinateRange(change(term.lo), term.size, loops, hi)
