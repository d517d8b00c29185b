"""Components that the author gives to the elements of a shared tile (`ag.tag`).

A tag speaks of what the bytes hold at that place of its role. Where the role itself has
written them, the tag belongs to what was written, and every reader of it sees it. Else
it belongs to what this role reads of that fill from there on, until the role writes the
buffer again. Slots outside the tagged view have no such component.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from argus.ir.expr import Const, Expr, evaluate
from argus.ir.memory import SharedAlloc, SharedView
from argus.verify.tags.memory import Memory
from argus.verify.tags.scope import PathScope
from argus.verify.tags.slots import at_stage_zero
from argus.verify.tags.values import AbstractValue, Bools, Coord, Ints, Tag, Vague

__all__ = [
    "Tagged",
    "amended",
    "offsets_of",
    "over_slots",
    "with_components",
    "without",
]

_PARTLY = Vague("only some of these elements have been tagged anew")


@dataclass(frozen=True, eq=False)
class Tagged:
    """Components of the elements of one stage and fill; ``where``: its tagged slots."""

    alloc: SharedAlloc
    stage: Expr
    number: Expr | None
    tags: dict[str, Tag]
    where: Bools


def offsets_of(view: SharedView) -> Ints | None:
    """Byte offsets in the stage by view coordinate; None: a symbolic origin."""
    flat = at_stage_zero(view)
    layout = view.alloc.layout
    if flat is None or layout is None:
        return None
    index = np.indices(view.shape, dtype=np.int64)
    coords: list[Ints] = [
        np.full(view.shape, int(evaluate(x, {})), np.int64) for x in flat.origin
    ]
    for view_axis, axis in enumerate(view.axes):
        coords[axis] = coords[axis] + index[view_axis]
    return np.asarray(layout.offset(coords))


def over_slots(
    view: SharedView,
    offsets: Ints,
    tags: dict[str, Tag],
    stage: Expr,
    number: Expr | None,
) -> Tagged:
    """Components by view coordinate as components by slot."""
    slots = offsets // view.dtype.bytes
    size = int(np.prod(view.alloc.shape))
    where = np.zeros(size, np.bool_)
    where[slots] = True
    spread: dict[str, Tag] = {}
    for name, tag in tags.items():
        if isinstance(tag, Coord):
            held = np.zeros(size, np.int64)
            held[slots] = np.broadcast_to(tag.offs, slots.shape)
            spread[name] = Coord(tag.base, held)
        else:
            spread[name] = Vague("a component that is not affine in the coordinates")
    return Tagged(view.alloc, stage, number, spread, where)


def amended(memory: Memory, made: Tagged, role: str, scope: PathScope) -> bool:
    """Give the components to what this role has written there; whether it has."""
    found = False
    if isinstance(made.stage, Const) and isinstance(made.stage.value, int):
        key = (role, made.alloc, made.stage.value)
        if key in memory.current:
            memory.current[key] = _with(memory.current[key], made)
            found = True
    writes = memory.writes.get(made.alloc, {})
    for number, write in writes.items():
        if write.role != role or write.scope.loops != scope.loops:
            continue
        if scope.difference(write.stage, made.stage) == 0:
            writes[number] = replace(write, content=_with(write.content, made))
            found = True
    return found


def _with(content: AbstractValue, made: Tagged) -> AbstractValue:
    whole = bool(made.where.all()) or (
        content.written is not None and not (content.written & ~made.where).any()
    )
    tags = dict(content.tags)
    for name, tag in made.tags.items():
        if whole:
            tags[name] = tag
        elif name in tags:
            tags[name] = _PARTLY
    return replace(content, tags=tags)


def with_components(
    several: Collection[Tagged],
    view: SharedView,
    slots: Ints,
    found: AbstractValue,
    stage: Expr,
    number: Expr | None,
    scope: PathScope,
) -> AbstractValue:
    """What was read from these slots, with the components that it was given."""
    for made in several:
        if made.alloc is not view.alloc or scope.difference(made.stage, stage) != 0:
            continue
        if made.number is None or number is None:
            if made.number is not number:
                continue
        elif scope.difference(made.number, number) != 0:
            continue
        tags = dict(found.tags)
        for name, tag in made.tags.items():
            if not made.where[slots].all():
                if name in tags:
                    tags[name] = _PARTLY
            elif isinstance(tag, Coord):
                tags[name] = Coord(tag.base, tag.offs[slots])
            else:
                tags[name] = tag
        found = replace(found, tags=tags)
    return found


def without(
    several: Collection[Tagged], written: Collection[SharedAlloc]
) -> list[Tagged]:
    """The tags that remain when these buffers are written."""
    return [t for t in several if t.alloc not in written]
