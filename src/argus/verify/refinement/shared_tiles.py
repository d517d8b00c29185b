"""Shared tiles: every element has bytes of its own, and accesses touch those.

A shared tile is refined by a stage of bytes if its layout is injective on them. An
access by registers names, for each (thread, register), an element; ordinary loads and
stores go to the address that the layout gives that element by definition, vectors need
its neighbours behind it, and the matrix forms exchange elements between lanes, which is
enumerated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.access import matrix_elements, vector_shared
from argus.ir.divisors import Facts
from argus.ir.expr import Const, divisor, symbols
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.layout import SharedLayout
from argus.verify.refinement.gaps import Gap

__all__ = [
    "access_gaps", "elements_at", "fixed_view", "fixed_views", "tile_gaps",
    "vector_gap",
]  # fmt: skip

Ints = NDArray[np.int64]

_ORIGINS = 256
"""So many origins of a view are looked at one by one."""


def tile_gaps(placed: Program) -> list[Gap]:
    """Shared tiles of which two elements share bytes, or one leaves its stage."""
    found: list[Gap] = []
    for alloc in placed.shared:
        if alloc.layout is None:
            found.append(Gap(alloc.span, f"{alloc.name} has no layout"))
        elif _inverse(alloc.layout, alloc.dtype.bytes, alloc.stage_bytes) is None:
            text = f"two elements of {alloc.name} share bytes, or one leaves its stage"
            found.append(Gap(alloc.span, text, wrong=True))
    return found


def fixed_view(view: SharedView) -> SharedView | None:
    """The view in stage 0; None where its origin is not constant.

    Stages differ by a multiple of the alignment of the layout (`ir/check_memory.py`),
    so that what holds in one holds in all.
    """
    if any(True for x in view.origin for _ in symbols(x)):
        return None
    return replace(view, stage=Const(0))


def elements_at(view: SharedView, offsets: Ints) -> Ints | None:
    """Which element of a view lies at each byte offset of its stage.

    Returns the coordinates in the view, shape [*offsets.shape, axes]; None where an
    offset is the beginning of no element of the view. The view has a constant origin.
    """
    alloc = view.alloc
    layout = alloc.layout
    if layout is None:
        return None
    inverse = _inverse(layout, alloc.dtype.bytes, alloc.stage_bytes)
    if inverse is None or (offsets < 0).any() or (offsets >= inverse.size).any():
        return None
    flat = inverse[offsets]
    if (flat < 0).any():
        return None
    coords = np.stack(np.unravel_index(flat, alloc.shape), axis=-1).astype(np.int64)
    origin = np.array([_constant(x) for x in view.origin], np.int64)
    apart = coords - origin
    outside = [axis for axis in range(len(alloc.shape)) if axis not in view.axes]
    if apart[..., outside].any():
        return None
    found = apart[..., list(view.axes)]
    if (found < 0).any() or (found >= np.array(view.shape)).any():
        return None
    return found


def access_gaps(op: o.AnyOp, facts: Facts) -> list[Gap]:
    """What is not shown of an access by registers; nothing for other operations.

    ``facts``: what divides scalars.
    """
    match op:
        case o.LoadShared() | o.StoreShared() if op.plan is not None:
            reason = vector_gap(op.plan, op.view, facts)
            return [Gap(op.span, *reason)] if reason else []
        case o.StoreGlobal() if op.plan is not None and op.atomic is not None:
            if op.plan.layout.replication > 1 and not op.plan.unique:
                text = "several threads change the same element"
                return [Gap(op.span, text, wrong=True)]
            return []
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
            | o.Copy() | o.Synchronisation() | o.Annotation()
        ):  # fmt: skip
            return []
        case o.RingOp():
            return [Gap(op.span, f"{type(op).__name__} in a placed program")]
        case _:
            assert_never(op)


def vector_gap(
    plan: VectorPlan, view: SharedView, facts: Facts
) -> tuple[str, bool] | None:
    """Why the access is not shown to touch the elements that its layout names.

    The second value says that it was shown not to.
    """
    if plan.width == 1 and "matrix" not in plan.instruction:
        return None  # each element by itself, at its own address
    views = fixed_views(view, facts)
    if views is None:
        return f"a view of {view.alloc.name} with an origin that is not constant", False
    sure = fixed_view(view) is not None
    for fixed in views:
        wanted = vector_shared(plan, fixed, {})
        if "matrix" in plan.instruction:
            if not np.array_equal(matrix_elements(plan, fixed, {}), wanted):
                text = f"{plan.instruction} exchanges other elements than it should"
                return text, sure
            continue
        steps = wanted - wanted[:, :, :1]
        if not (steps == np.arange(plan.width) * view.dtype.bytes).all():
            text = f"{plan.width} elements of {view.alloc.name} are not contiguous"
            return text, sure
    return None


def fixed_views(view: SharedView, facts: Facts) -> list[SharedView] | None:
    """The view at each origin that it may have, in stage 0; None for very many.

    An origin is a multiple of what divides it, and the view lies in its buffer, as
    `verify/tags/stages.py` shows. ``facts``: what divides scalars.
    """
    starts: list[range] = []
    extents = dict(zip(view.axes, view.shape, strict=True))
    for axis, (size, x) in enumerate(zip(view.alloc.shape, view.origin, strict=True)):
        if isinstance(x, Const):
            starts.append(range(_constant(x), _constant(x) + 1))
        else:
            last = size - extents.get(axis, 1)
            starts.append(range(0, last + 1, max(1, divisor(x, facts))))
    if prod(len(r) for r in starts) > _ORIGINS:
        return None
    return [
        replace(view, stage=Const(0), origin=tuple(Const(i) for i in at))
        for at in product(*starts)
    ]


@lru_cache(maxsize=256)
def _inverse(layout: SharedLayout, itemsize: int, size: int) -> Ints | None:
    """Byte offset -> flat index of the element that begins there, -1 for none.

    None if elements overlap or leave ``size`` bytes.
    """
    offsets = np.asarray(layout.offset(tuple(np.indices(layout.shape))))
    offsets = np.broadcast_to(offsets, layout.shape).ravel()
    if (offsets < 0).any() or (offsets + itemsize > size).any():
        return None
    if (offsets % itemsize).any() or np.unique(offsets).size != offsets.size:
        return None
    found = np.full(size, -1, np.int64)
    found[offsets] = np.arange(offsets.size)
    found.setflags(write=False)
    return found


def _constant(x: object) -> int:
    assert isinstance(x, Const), x
    return int(x.value)


def base_of(alloc: SharedAlloc) -> int:
    """Byte offset of stage 0 in the block's shared memory."""
    assert alloc.offset is not None, alloc.name
    return alloc.offset
