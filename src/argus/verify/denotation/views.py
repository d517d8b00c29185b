"""Tiles of global tensors: which elements they are, and where those exist.

A coordinate is an expression over axis symbols, scalars and entries of index tiles. An
element exists where all its coordinates are inside the tensor, its limits hold and its
mask is true: there a load gives it and a store writes it. Elsewhere a load gives its
fill value, and nothing is written.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.ir import ops as o
from argus.ir.expr import axis
from argus.ir.memory import GlobalTensor, GlobalView
from argus.terms import IndexSet, Integer, Unknown, Value, cast, union
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.memory import current, entry
from argus.verify.denotation.scalars import integer, integer_cases, scalar, scalars
from argus.verify.denotation.state import Context, SeenWrites, TensorAccess, integers

__all__ = ["Place", "copied", "loaded", "mask_of", "places", "scalar_load"]


@dataclass(frozen=True)
class Place:
    """Coordinates of a view's element, and where they are what it has and exist."""

    coords: tuple[Integer, ...]
    where: IndexSet


def places(
    context: Context, view: GlobalView, indices: Sequence[Integer], mask: IndexSet
) -> list[Place]:
    """The element of a view at these indices, by cases of its coordinates.

    Raises Unknown.
    """
    world = context.world
    also = {axis(i).name: Value.whole(x) for i, x in enumerate(indices)}
    for gather in view.gathers:
        found = context.element(gather.tile, [indices[gather.axis]])
        also[gather.symbol.name] = cast(world, found, "integer")
    shape = scalars(context, view.tensor.shape)
    inside = mask
    for limit in view.limits:
        value = integer_cases(context, scalar(context, limit.value, also))
        extent = integer(context, limit.extent)
        inside = inside & union(s & _within(context, x, extent) for s, x in value)
    by_cases = [integer_cases(context, scalar(context, e, also)) for e in view.coords]
    made: list[Place] = []
    for choice in itertools.product(*by_cases):
        where = inside
        for (case, coord), extent in zip(choice, shape, strict=True):
            where = where & case & _within(context, coord, extent)
        if not world.is_empty(where & context.state.where):
            made.append(Place(tuple(x for _, x in choice), where))
    return made


def _within(context: Context, coord: Integer, extent: Integer) -> IndexSet:
    world = context.world
    return world.compare(coord, ">=", 0) & world.compare(coord, "<", extent)


def mask_of(
    context: Context, mask: o.Tile | None, indices: Sequence[Integer]
) -> IndexSet:
    """Where a mask is true; everywhere without one. Raises Unknown."""
    if mask is None:
        return IndexSet.universe
    return cast(context.world, context.element(mask, indices), "truth").where


def loaded(context: Context, op: o.LoadGlobal, needed: IndexSet) -> Value:
    """What a load gives at the axes of its result, where it is needed.

    Raises Unknown.
    """
    axes = context.axes(op.result.shape)
    indices = integers(axes)
    found = places(context, op.view, indices, mask_of(context, op.mask, indices))
    cases: list[tuple[IndexSet, Value]] = []
    for place in found:
        value, seen = current(context, op.view.tensor, place.coords)
        _record(context, op, op.view.tensor, [place], False, seen)
        where = place.where.gist(needed) if len(found) == 1 else place.where
        cases.append((where, value))
    return _or_fill(context, op.view, cases, scalar(context, op.fill))


def copied(context: Context, op: o.CopyAsync) -> Value:
    """What a copy puts at the axes of its view; 0 outside. Raises Unknown."""
    indices = integers(context.axes(op.src.shape))
    found = places(context, op.src, indices, IndexSet.universe)
    _record(context, op, op.src.tensor, found, False)
    cases = [(p.where, entry(context, op.src.tensor, p.coords)) for p in found]
    return _or_fill(context, op.src, cases, Value.whole(Integer.of(0)))


def _or_fill(
    context: Context,
    view: GlobalView,
    cases: Sequence[tuple[IndexSet, Value]],
    fill: Value,
) -> Value:
    kind = "real" if view.dtype.is_float else "integer"
    outside = ~union(where for where, _ in cases)
    filled = (outside, cast(context.world, fill, kind))
    made = chosen(context.world, [*cases, filled])
    return cast(context.world, made, "truth") if view.dtype.kind == "bool" else made


def scalar_load(context: Context, op: o.LoadScalar) -> Value:
    """One element of a tensor. Raises Unknown.

    That it exists is shown by the analysis of bounds.
    """
    coords = scalars(context, op.coords)
    shape = scalars(context, op.tensor.shape)
    where = IndexSet.universe
    for coord, extent in zip(coords, shape, strict=True):
        where = where & _within(context, coord, extent)
    if not context.world.is_subset(context.state.where, where):
        raise Unknown(f"whether the element of `{op.tensor.name}` that is read exists")
    _record(context, op, op.tensor, [Place(coords, where)], False)
    made = entry(context, op.tensor, coords)
    return (
        cast(context.world, made, "truth") if op.tensor.dtype.kind == "bool" else made
    )


def written(
    context: Context, op: o.AnyOp, tensor: GlobalTensor, found: Sequence[Place]
) -> None:
    """Record that an operation writes these elements."""
    _record(context, op, tensor, found, True)


def _record(
    context: Context,
    op: o.AnyOp,
    tensor: GlobalTensor,
    found: Sequence[Place],
    write: bool,
    seen: Mapping[int, SeenWrites] | None = None,
) -> None:
    if context.dry:
        return
    state = context.state
    for place in found:
        context.record.accesses.append(
            TensorAccess(
                tensor.name,
                place.coords,
                place.where & state.where,
                state.scope,
                context.role,
                state.path,
                write,
                op.span,
                context.position(op),
                seen or {},
            )
        )
