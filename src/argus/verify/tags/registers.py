"""Operations on register tiles: what each does to the tags of its elements.

Data move between registers by the maps that the code generator prints
(`Fragment.register_map`, `Fragment.window`), or not at all. Shown here: elements that
are combined agree on the dimensions they share (AG0303), a reduction counts each
coordinate once (AG0304), padding takes part in none except as its neutral element
(AG0310), and a reinterpreted register holds the element that its new coordinates name
(AG0316).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.verify.tags.combining import folded, scanned
from argus.verify.tags.compare import Agreement
from argus.verify.tags.elementwise import elementwise
from argus.verify.tags.findings import operand
from argus.verify.tags.held import held
from argus.verify.tags.loops import close
from argus.verify.tags.moving import moved
from argus.verify.tags.reductions import reduced
from argus.verify.tags.reshaping import joined, reshaped
from argus.verify.tags.scalars import scalar_of_tensors
from argus.verify.tags.sorting import in_order
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    constant,
    known_number,
    uniform,
)
from argus.verify.tile_bounds import bounds_of
from argus.verify.verdict import Verdict

__all__ = ["run"]


def run(state: WalkState, op: o.AnyRegisterOp) -> AbstractValue:
    """The value of the operation's result."""
    match op:
        case o.Full():
            return _full(state, op)
        case o.Index():
            table = state.table(op.result)
            offs = table[:, :, op.axis]
            return AbstractValue(offs.shape, number=Coord(Const(0), offs))
        case o.Elementwise():
            return elementwise(state, op)
        case o.Cast():
            return _cast(state, op)
        case o.Reduce():
            return reduced(state, op)
        case o.Reshape():
            return reshaped(state, op)
        case o.Join():
            return joined(state, op)
        case o.Moving():
            return _moved(state, op)
        case o.Scan():
            return scanned(state, op)
        case o.Sort():
            return in_order(state, op)
        case o.ScanTotal():
            return folded(state, op)
        case o.Reinterpret():
            return _reinterpreted(state, op)
        case _:
            assert_never(op)


def _full(state: WalkState, op: o.Full) -> AbstractValue:
    shape = state.shape(op.result)
    value = close(state.world, op.value, state.env)
    if isinstance(value, Const):
        number = None if isinstance(value.value, float) else uniform(value, shape)
        return replace(constant(known_number(value.value), shape), number=number)
    if value.type == "int":
        number = held(state.world, uniform(value, shape), op.result.dtype)
        return AbstractValue(shape, number=number)
    return scalar_of_tensors(state, value, shape)


def _fits(state: WalkState, op: o.Cast) -> bool:
    """Whether the result's type has all numbers that the source may have."""
    least, most = op.result.dtype.integers
    bounds = bounds_of(state.world.definitions, op.src)
    return least <= bounds.lo and bounds.hi <= most


def _cast(state: WalkState, op: o.Cast) -> AbstractValue:
    value = state.get(op.src)
    keeps = op.result.dtype.kind == "int" and op.src.dtype.kind == "int"
    if keeps and not op.result.dtype.holds(op.src.dtype) and not _fits(state, op):
        # It may be another number, and so the index of another element.
        return state.vague(op.result, "a number in a type that may not hold it")
    return replace(
        value,
        number=value.number if keeps else None,
        mask=value.mask if op.result.dtype.kind == "bool" else None,
    )


def _moved(state: WalkState, op: o.Moving) -> AbstractValue:
    """Elements of one source; ``axes_of`` says what its axes are called now."""
    (source,), axes = op.sources, op.axes_of()
    found = op.held(state.layout(op.result), state.layout(source))
    if found is None or axes is None:
        return state.vague(op.result, f"{op.words}: data of other threads")
    shape = state.shape(op.result)
    value = moved(state.get(source), shape, lambda a: a[:, found[1]])
    return state.renamed(value, source, op.result, axes, op.span)


def _reinterpreted(state: WalkState, op: o.Reinterpret) -> AbstractValue:
    """The registers stay; each named axis must run along what it is named after."""
    value = state.get(op.src)
    table = state.table(op.result)
    for axis, name in enumerate(op.result.dims):
        if name is None or name not in value.tags:
            continue
        tag = value.tags[name]
        if not isinstance(tag, Coord):
            continue
        claimed = Coord(tag.base, table[:, :, axis])
        apart = tag.offs - claimed.offs
        same = bool((apart == apart.flat[0]).all())
        model = state.scope.some_point()
        at = np.unravel_index(int(np.argmax(apart != apart.flat[0])), apart.shape)
        element = tuple(int(i) for i in at)
        outcome = (
            Agreement(Verdict.PROVED, "enumeration")
            if same
            else Agreement(Verdict.REFUTED, "enumeration", "", model, element)
        )
        found = int(tag.offs[element]) - int(tag.offs.flat[0])
        wanted = int(claimed.offs[element]) - int(claimed.offs.flat[0])
        state.report(
            "AG0316",
            f"the registers hold the elements along {name} that the layout names",
            op.span,
            outcome,
            f"a reinterpreted register holds another element along {name}",
            f"{name} is {found} further on than in register 0, the layout says "
            f"{wanted}",
            [operand("register", value, element, model, state.scope)],
            thread=element[0],
        )
    return value
