"""Elements of global memory: their tags, and which may not exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, Sym, binary
from argus.ir.memory import GlobalView
from argus.verify.evidence import Step
from argus.verify.tags.compare import agree, within
from argus.verify.tags.moving import moved
from argus.verify.tags.spread import ViewCoordinates, places, split
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    Hole,
    Ints,
    Kind,
    Loaded,
    Shape,
    Tag,
    Vague,
)

__all__ = ["elements", "loaded"]


def elements(
    state: WalkState, view: GlobalView, coordinate: list[Ints]
) -> ViewCoordinates:
    """Where a view's elements at these tile coordinates are."""
    indices = tuple(
        _index(state, g.tile, np.asarray(coordinate[g.axis])) for g in view.gathers
    )
    gathered: dict[str, Tag] = {}
    for g, value in zip(view.gathers, indices, strict=True):
        gathered[g.symbol.name] = value.number or Vague("an index that is computed")
    placed = places(view, coordinate, gathered, state.scope, state.env)
    return replace(placed, indices=indices)


def _index(state: WalkState, tile: o.Tile, coordinate: Ints) -> AbstractValue:
    """The index tile's element for each element of a view gathered along an axis.

    Which thread provides it is the code generator's affair (an exchange inside a warp
    or through shared memory, made by placing): the element is the one named.
    """
    table = state.table(tile)[:, :, 0]

    def move(a: Ints) -> Ints:
        line = np.zeros(tile.shape[0], np.int64)
        line[table] = a
        return line[coordinate]

    return moved(state.get(tile), coordinate.shape, move)


def loaded(
    state: WalkState,
    view: GlobalView,
    placed: ViewCoordinates,
    shape: Shape,
    kind: Kind,
    op: o.AnyOp,
) -> AbstractValue:
    """Tags and holes of elements loaded from these places."""
    tensor = view.tensor
    tags: dict[str, Tag] = {}
    extents: dict[str, Expr] = {}
    holes: list[Hole] = []
    ends: dict[str, Expr] = {}
    for name, tag, extent in zip(tensor.dims, placed.coords, tensor.shape, strict=True):
        extent = state.close(extent)
        extents[name] = extent
        if isinstance(tag, Vague):
            # A map: outside means the fill, which is then what the element is.
            continue
        if not placed.axes or name in view.dims or not _runs(tag):
            # A view's own coordinates take the place of those that they come from.
            tags[name] = tag
        if isinstance(tag, Coord) and not within(tag, extent, state.scope).proved:
            holes.append(Hole(tag, extent, kind, name, f"{tensor.name} along {name}"))
    for tag, extent in placed.limits:
        name = next((n for n, t in placed.axes.items() if t is tag), "limit")
        extents.setdefault(name, extent)
        along = next((n for n, t in tags.items() if _same(state, t, tag)), None)
        if along is not None:
            ends[along] = extent
        if isinstance(tag, Coord) and not within(tag, extent, state.scope).proved:
            holes.append(Hole(tag, extent, kind, name, f"the slice of {tensor.name}"))
    tags.update(placed.axes)
    for index in placed.indices:
        # A gathered element also carries the tag of the index that chose it.
        tags.update({n: t for n, t in index.tags.items() if n not in tags})
        extents.update({n: e for n, e in index.extents.items() if n not in extents})
        for h in index.holes:
            # A negative index is outside every tensor: such an element is the fill.
            outside = isinstance(h.kind, float | int) and h.kind < 0
            holes.append(replace(h, kind=kind if outside else "junk"))
    for name, component in state.tensor_tags.get(tensor.name, ()):
        tags[name] = _component(state, component, placed)
    chain = (Step(f"loaded from {tensor.name}", op.span),)
    return AbstractValue(
        shape, tags, tuple(holes), extents=extents, ends=ends, chain=chain
    )


def _same(state: WalkState, a: Tag, b: Tag) -> bool:
    return isinstance(a, Coord) and _runs(a) and agree(a, b, state.scope).proved


def _runs(tag: Tag) -> bool:
    """Whether a coordinate differs from element to element."""
    match tag:
        case Coord():
            return bool((tag.offs != tag.offs.flat[0]).any())
        case Loaded():
            return any(_runs(x) for x in tag.at)
        case Vague():
            return False


def _component(state: WalkState, e: Expr, placed: ViewCoordinates) -> Tag:
    """A component that the author gave to a tensor, over its coordinates."""
    arrays: dict[str, Ints] = {}
    inside: dict[str, Expr] = {}
    for i, tag in enumerate(placed.coords):
        if not isinstance(tag, Coord):
            return Vague("a component of a gathered coordinate")
        arrays[f"@{i}"] = tag.offs
        inside[f"%{i}"] = binary("+", tag.base, Sym(f"@{i}", "axis"))
    found = split(state.world.replace(e, inside), arrays, state.scope, state.env)
    if found is None:
        return Vague("a component that is not affine in the coordinates")
    shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
    return Coord(found[0], np.broadcast_to(np.asarray(found[1], np.int64), shape))
