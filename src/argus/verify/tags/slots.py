"""One stage of shared memory as an array of element-sized slots."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from argus.ir.access import matrix_elements, vector_shared
from argus.ir.expr import Const, evaluate
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.placement import VectorPlan
from argus.verify.tags.moving import moved
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import merged_shift
from argus.verify.tags.values import (
    AbstractValue,
    Bools,
    Coord,
    Ints,
    Tag,
    Vague,
    least_ends,
)

__all__ = [
    "at_stage_zero", "gather", "hole_of", "leaving", "overlay", "scatter", "slots_of",
]  # fmt: skip


def hole_of(value: AbstractValue, name: str) -> Tag | None:
    """The coordinate of a value's hole, or what takes its place."""
    found = next((h.where for h in value.holes if h.name == name), None)
    return value.tags.get(name) if found is None else found


def at_stage_zero(view: SharedView) -> SharedView | None:
    """The view in stage 0 with a constant origin; None where it is not constant."""
    if not all(isinstance(x, Const) for x in view.origin):
        return None
    return replace(view, stage=Const(0))


def slots_of(plan: VectorPlan, view: SharedView) -> Ints | None:
    """Byte offsets in the stage, [threads, registers]; None: a symbolic origin."""
    flat = at_stage_zero(view)
    if flat is None:
        return None
    origin = tuple(int(evaluate(x, {})) for x in flat.origin)
    return _vector_offsets(plan, flat.alloc, flat.axes, origin, flat.shape, flat.dims)


def leaving(alloc: SharedAlloc, offsets: Ints) -> Bools:
    """Which byte offsets do not begin an element of a stage."""
    size = alloc.dtype.bytes
    for extent in alloc.shape:
        size *= extent
    outside = (offsets < 0) | (offsets + alloc.dtype.bytes > size)
    return outside | (offsets % alloc.dtype.bytes != 0)


@lru_cache(maxsize=512)
def _vector_offsets(
    plan: VectorPlan,
    alloc: SharedAlloc,
    axes: tuple[int, ...],
    origin: tuple[int, ...],
    shape: tuple[int, ...],
    dims: tuple[str | None, ...],
) -> Ints:
    fixed = tuple(Const(x) for x in origin)
    view = SharedView(alloc, Const(0), fixed, axes, shape, dims)
    if "matrix" in plan.instruction:
        found = matrix_elements(plan, view, {})
    else:
        found = vector_shared(plan, view, {})
    found = found.reshape(found.shape[0], -1) - (alloc.offset or 0)
    found.setflags(write=False)
    return found


def scatter(
    value: AbstractValue, slots: Ints, size: int, who: Bools | None = None
) -> AbstractValue:
    """A value with an element per entry of ``slots`` as the content of a stage."""
    index = slots.ravel() if who is None else slots[who]
    written = np.zeros(size, np.bool_)
    written[index] = True
    clash = False

    def move(a: Ints) -> Ints:
        nonlocal clash
        spread = np.broadcast_to(a, slots.shape)
        source = spread.ravel() if who is None else spread[who]
        result = np.zeros(size, np.int64)
        result[index] = source
        clash |= not np.array_equal(result[index], source)
        return result

    made = moved(value, (size,), move)
    if clash:
        vague = Vague("different threads write one byte")
        made = replace(made, tags=dict.fromkeys(made.tags, vague))
    return replace(made, written=written)


def gather(content: AbstractValue, slots: Ints) -> AbstractValue:
    """The elements in these slots, as a value of the shape of ``slots``."""
    made = moved(content, slots.shape, lambda a: a[slots])
    return replace(made, written=None)


def overlay(
    below: AbstractValue | None, above: AbstractValue, scope: PathScope
) -> AbstractValue:
    """The content of a stage after a second write to part of it."""
    if below is None or above.written is None or bool(above.written.all()):
        return above
    if below.written is None or not (below.written & ~above.written).any():
        return above
    mask = above.written
    tags: dict[str, Tag] = {}
    for name in {**below.tags, **above.tags}:
        tags[name] = _overlaid(below.tags.get(name), above.tags.get(name), mask, scope)
    holes = {h.name: h for h in (*below.holes, *above.holes)}
    merged = tuple(
        replace(
            h,
            where=_overlaid(hole_of(below, n), hole_of(above, n), mask, scope),
            kind=h.kind if _same_kind(below, above, n) else "junk",
        )
        for n, h in holes.items()
    )
    number: Tag | None = None
    if below.number is not None and above.number is not None:
        number = _overlaid(below.number, above.number, mask, scope)
    kind = above.kind if above.kind == below.kind else "data"
    return replace(
        above,
        tags=tags,
        holes=merged,
        kind=kind,
        number=number,
        sums={**below.sums, **above.sums},
        extents={**below.extents, **above.extents},
        written=below.written | mask,
        row=None,
        shift=merged_shift(scope, below, above),
        ends=least_ends([below, above]),
    )


def _same_kind(a: AbstractValue, b: AbstractValue, name: str) -> bool:
    kinds = {h.kind for v in (a, b) for h in v.holes if h.name == name}
    return len(kinds) == 1


def _overlaid(a: Tag | None, b: Tag | None, mask: Bools, scope: PathScope) -> Tag:
    if not isinstance(a, Coord) or not isinstance(b, Coord):
        return Vague("part of the buffer has another kind of content")
    apart = scope.difference(b.base, a.base)
    if apart is None:
        return Vague("parts of the buffer were loaded at unrelated coordinates")
    return Coord(a.base, np.where(mask, b.offs + apart, a.offs))
