"""Tiles under another shape, and tiles put together.

Registers do not move when a tile is reshaped: only the names of its axes change. A
name that is new is a digit of the coordinates that were there, where these are known
and begin at a whole digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, binary
from argus.verify.tags.accumulation import EXTRA
from argus.verify.tags.branches import is_constant
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import merged_shift
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    UNNAMED,
    AbstractValue,
    Bools,
    Coord,
    Flaw,
    Hole,
    Ints,
    ReducedDimension,
    Shift,
    Tag,
    Vague,
    least_ends,
)

__all__ = ["joined", "reshaped"]

Place = Callable[[Sequence[Ints]], Ints]
"""One array of the joined tile, from one for each part."""


def reshaped(state: WalkState, op: o.Reshape) -> AbstractValue:
    """The components of the elements, under the names that the axes have now."""
    value = state.get(op.src)
    renamed: list[int | None] = [None] * len(op.src.shape)
    groups: list[tuple[list[int], list[int]]] = []
    for before, after in _groups(op.src.shape, op.result.shape):
        if len(before) == 1 and len(after) == 1:
            renamed[before[0]] = after[0]
        else:
            groups.append((before, after))
    value = state.renamed(value, op.src, op.result, renamed, op.span)
    for before, after in groups:
        value = _regrouped(state, op, value, before, after)
    return value


def _groups(
    shape: tuple[int, ...], other: tuple[int, ...]
) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of both shapes that hold the same digits; axes of one element have none."""
    before = [a for a, n in enumerate(shape) if n > 1]
    after = [a for a, n in enumerate(other) if n > 1]
    while before:
        mine, others = [before.pop(0)], [after.pop(0)]
        while (m := prod(shape[a] for a in mine)) != (
            n := prod(other[a] for a in others)
        ):
            (mine if m < n else others).append((before if m < n else after).pop(0))
        yield mine, others


def _regrouped(
    state: WalkState,
    op: o.Reshape,
    value: AbstractValue,
    before: list[int],
    after: list[int],
) -> AbstractValue:
    """The value under the names of axes that are made of others.

    Coordinates that the new names say are no longer there under the old ones, but where
    no new axis has a name.
    """
    old = [n for a in before if (n := op.src.dims[a]) is not None and n in value.tags]
    new = {a: name for a in after if (name := op.result.dims[a]) is not None}
    if not old or not new:
        loose = {**value.loose, **dict.fromkeys(old, UNNAMED)}
        return replace(value, loose=loose)
    tags, extents, loose = dict(value.tags), dict(value.extents), dict(value.loose)
    line = _line(state, op, value, before)
    holes = _put_together(op, value, line, before, new) if len(after) == 1 else None
    for name in old:
        if name not in value.sets:
            tags.pop(name)
            extents.pop(name, None)
            loose.pop(name, None)
        else:
            loose[name] = UNNAMED
    for axis, name in new.items():
        tags[name], extent = _digit(state.scope, op, line, axis, after)
        loose[name] = op.result.shape[axis]
        extents.pop(name, None)
        if extent is not None:
            extents[name] = extent
    return replace(
        value, tags=tags, extents=extents, loose=loose, holes=holes or value.holes
    )


def _put_together(
    op: o.Reshape,
    value: AbstractValue,
    line: tuple[Tag, Expr | None],
    before: list[int],
    new: dict[int, str],
) -> tuple[Hole, ...]:
    """What lies outside along the first of several axes does so along all as one."""
    first = value.tags.get(op.src.dims[before[0]] or "")
    inner = prod(op.src.shape[a] for a in before[1:])
    (name,) = new.values()
    made: list[Hole] = []
    for hole in value.holes:
        where = hole.where
        if isinstance(where, Coord) and isinstance(first, Coord):
            same = np.array_equal(where.offs, first.offs)
            if same and where.base == first.base:
                extent = binary("*", hole.extent, Const(inner))
                hole = replace(hole, where=line[0], extent=extent, name=name)
        made.append(hole)
    return tuple(made)


def _line(
    state: WalkState, op: o.Reshape, value: AbstractValue, axes: list[int]
) -> tuple[Tag, Expr | None]:
    """The coordinate along several axes as one, and its extent.

    Of all axes but the first a tile has the whole dimension, or there is no such
    coordinate. An axis without a name is one that the author made.
    """
    scope, table = state.scope, state.table(op.src)
    base: Expr = Const(0)
    offs: Ints = np.zeros(value.shape, dtype=np.int64)
    extent: Expr | None = None
    for number, axis in enumerate(axes):
        name, size = op.src.dims[axis], op.src.shape[axis]
        tag: Tag = Coord(Const(0), table[:, :, axis])
        known: Expr | None = Const(size)
        if name is not None and name in value.tags:
            tag, known = value.tags[name], value.extents.get(name)
        if not isinstance(tag, Coord):
            return tag if isinstance(tag, Vague) else Vague("it is looked up"), None
        if number == 0:
            extent = known
        else:
            if known is None or not scope.holds(binary("==", known, Const(size))):
                text = f"a part of {name} was put together with other dimensions"
                return Vague(text), None
            extent = None if extent is None else binary("*", extent, Const(size))
        base = binary("+", binary("*", base, Const(size)), tag.base)
        offs = offs * size + tag.offs
    return Coord(base, offs), extent


def _digit(
    scope: PathScope,
    op: o.Reshape,
    line: tuple[Tag, Expr | None],
    axis: int,
    axes: list[int],
) -> tuple[Tag, Expr | None]:
    """The coordinate along one of several axes, and its extent."""
    tag, extent = line
    shape = op.result.shape
    if not isinstance(tag, Coord):
        return tag, None
    inner = prod(shape[a] for a in axes[1:])
    least = int(tag.offs.min())
    begin = binary("+", tag.base, Const(least))
    if not scope.holds(binary("==", binary("%", begin, Const(inner)), Const(0))):
        return Vague("an axis was split where no whole part of it begins"), None
    place = axes.index(axis)
    below = prod(shape[a] for a in axes[place + 1 :])
    offs = (tag.offs - least) // below
    if place > 0:
        size = shape[axis]
        return Coord(Const(0), offs % size), Const(size)
    if extent is not None:
        extent = binary("//", extent, Const(inner))
    return Coord(binary("//", begin, Const(inner)), offs), extent


# ------------------------------------------------------------------ tiles put together


def joined(state: WalkState, op: o.Join) -> AbstractValue:
    """Each element is that of its part; what is true of one part only is not known."""
    _, which, own = state.layout(op.parts[0]).join(op.axis, len(op.parts))
    parts = [state.get(x) for x in op.parts]
    scope = state.scope

    def place(arrays: Sequence[Ints]) -> Ints:
        held = np.stack([np.broadcast_to(a, parts[0].shape) for a in arrays])
        return held[which, :, own].T

    names = list(dict.fromkeys(n for v in parts for n in v.tags))
    tags = {n: _tag(scope, place, [v.tags.get(n) for v in parts], n) for n in names}
    number = None
    if all(v.number is not None for v in parts):
        number = _tag(scope, place, [v.number for v in parts], "it")
    kinds = {v.kind for v in parts}
    shapes = replace(parts[0], shape=state.shape(op.result))
    first = parts[0]
    same_row = all(v.row == first.row for v in parts)
    loose: dict[str, int] = {}
    for v in parts:
        for name, size in v.loose.items():
            loose[name] = UNNAMED if UNNAMED in (size, loose.get(name)) else size
    return replace(
        shapes,
        tags=tags,
        holes=_holes(scope, place, parts),
        kind=first.kind if len(kinds) == 1 else "data",
        number=number,
        mask=None,
        sums=_sums(parts),
        sets={},
        lanes={},
        extents={n: e for v in reversed(parts) for n, e in v.extents.items()},
        loose=loose,
        limits={
            n: e
            for n, e in first.limits.items()
            if all(v.limits.get(n) == e for v in parts)
        },
        ends=least_ends(parts),
        row=first.row if same_row else None,
        shift=_shift(scope, parts),
        written=_written(place, parts),
    )


def _tag(scope: PathScope, place: Place, tags: Sequence[Tag | None], name: str) -> Tag:
    first = tags[0]
    if not isinstance(first, Coord):
        if isinstance(first, Vague):
            return first
        return Vague(f"tiles with other {name} were joined")
    offs: list[Ints] = []
    for tag in tags:
        if isinstance(tag, Vague):
            return tag
        apart = (
            scope.difference(tag.base, first.base) if isinstance(tag, Coord) else None
        )
        if apart is None or not isinstance(tag, Coord):
            return Vague(f"tiles with other {name} were joined")
        offs.append(tag.offs + apart)
    return Coord(first.base, place(offs))


def _holes(
    scope: PathScope, place: Place, parts: Sequence[AbstractValue]
) -> tuple[Hole, ...]:
    """An element may be outside where that of its part may."""
    found: dict[str, Hole] = {h.name: h for v in parts for h in v.holes}
    made: list[Hole] = []
    for name, hole in found.items():
        own = [next((h for h in v.holes if h.name == name), None) for v in parts]
        same = all(h is not None and h.extent == hole.extent for h in own)
        where: Tag = Vague(f"one of the tiles that were joined has all its {name}")
        if same:
            where = _tag(scope, place, [h.where if h else None for h in own], name)
        kinds = {h.kind for h in own if h is not None}
        made.append(
            replace(hole, where=where, kind=hole.kind if len(kinds) == 1 else "junk")
        )
    return tuple(made)


def _sums(parts: Sequence[AbstractValue]) -> dict[str, tuple[ReducedDimension, ...]]:
    """The sums of all parts: each must be right."""
    found: dict[str, tuple[ReducedDimension, ...]] = {}
    for v in parts:
        for name, several in v.sums.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *several)))
    for name, several in found.items():
        lacks = [v for v in parts if name not in v.sums]
        if lacks and (name.startswith(EXTRA) or any(map(is_constant, lacks))):
            flaw = Flaw("a sum was joined with what is none", False)
            found[name] = (*several, replace(several[0], terms=(), flaw=flaw))
    for v in parts:
        for name in (*v.sets, *v.lanes):
            extent = v.extents.get(name, Const(1))
            flaw = Flaw(
                "tiles of which each element has its own sum were joined", False
            )
            found[name] = (
                *found.get(name, ()),
                ReducedDimension(extent, (), flaw=flaw),
            )
    return found


def _shift(scope: PathScope, parts: Sequence[AbstractValue]) -> Shift | None:
    def both(a: AbstractValue, b: AbstractValue) -> AbstractValue:
        return replace(a, shift=merged_shift(scope, a, b), row=None)

    return reduce(both, parts).shift


def _written(place: Place, parts: Sequence[AbstractValue]) -> Bools | None:
    if all(v.written is None for v in parts):
        return None
    every = np.ones(parts[0].shape, dtype=np.int64)
    arrays = [every if v.written is None else v.written.astype(np.int64) for v in parts]
    return place(arrays).astype(np.bool_)
