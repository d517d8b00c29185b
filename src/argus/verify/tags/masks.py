"""Conditions on coordinates: which elements a mask keeps, and whether that is right."""

from __future__ import annotations

import numpy as np

from argus.ir import ops as o
from argus.ir.expr import Expr, binary
from argus.verify.tags.compare import agree, unknown
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import AbstractValue, Compare, Coord, Hole, Ints, Tag

__all__ = ["check_mask", "excludes", "is_plain", "limits_of"]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def is_plain(tag: Tag | None) -> bool:
    """Whether a component is one number for all elements."""
    return isinstance(tag, Coord) and not tag.offs.any()


def check_mask(
    state: WalkState, op: o.Elementwise, mask: tuple[Compare, ...], value: AbstractValue
) -> None:
    """A condition on the end of a dimension looks at the element's own coordinate.

    Another one is not wrong by itself (it may leave out a border on purpose), so it is
    unknown rather than refuted.
    """
    for c in mask:
        left, right = (c.left, c.right) if c.op in ("<", "<=") else (c.right, c.left)
        if not isinstance(left, Coord) or not isinstance(right, Coord):
            continue
        for name, tag in value.tags.items():
            extent = value.extents.get(name)
            if extent is None or state.scope.difference(right.base, extent) is None:
                continue
            if right.offs.any() or not isinstance(tag, Coord):
                continue
            same = agree(tag, left, state.scope)
            text = f"a mask compares another coordinate with the extent of {name}"
            state.report(
                "AG0303",
                f"what masks the end of {name} is the element's own {name}",
                op.span,
                same if same.proved else unknown(text),
            )


def limits_of(
    state: WalkState, mask: tuple[Compare, ...], value: AbstractValue
) -> dict[str, Expr]:
    """First coordinate that the mask keeps out of every element, by component."""
    found: dict[str, Expr] = {}
    for c in mask:
        for op, left, right in (
            (c.op, c.left, c.right),
            (_MIRRORED.get(c.op, c.op), c.right, c.left),
        ):
            if op not in ("<", "<=") or not isinstance(right, Coord):
                continue
            for name, tag in value.tags.items():
                if not isinstance(tag, Coord) or not isinstance(left, Coord):
                    continue
                if not agree(tag, left, state.scope).proved:
                    continue
                high = int(right.offs.max()) + (op == "<=")
                limit = binary("+", right.base, high)
                before = found.get(name)
                found[name] = binary("min", before, limit) if before else limit
    return found


def excludes(state: WalkState, mask: tuple[Compare, ...], hole: Hole) -> bool:
    """Whether the mask is false wherever the hole's coordinate is past the end.

    A hole reaches below 0 only where that is not excluded by the coordinate itself.
    """
    if not isinstance(hole.where, Coord):
        return False
    low = int(hole.where.offs.min()) if hole.where.offs.size else 0
    floor = binary(">=", binary("+", hole.where.base, low), 0)
    below = not state.scope.holds(floor)
    above = True
    for c in mask:
        for op, left, right in (
            (c.op, c.left, c.right),
            (_MIRRORED.get(c.op, c.op), c.right, c.left),
        ):
            if not isinstance(left, Coord) or not isinstance(right, Coord):
                continue
            if op in ("<", "<=") and not right.offs.any():
                limit = right.base if op == "<" else binary("+", right.base, 1)
                # left < limit and left + d >= where  ==>  where < limit + d <= extent
                d = binary("-", hole.where.base, left.base)
                moved = Coord(hole.where.base, left.offs)
                if _covers(state, hole.where, moved) and state.scope.holds(
                    binary("<=", binary("+", limit, d), hole.extent)
                ):
                    above = False
            if op == ">=" and is_plain(right):
                d = binary("-", hole.where.base, left.base)
                moved = Coord(hole.where.base, left.offs)
                least = binary(">=", binary("+", right.base, d), 0)
                if _covers(state, moved, hole.where) and state.scope.holds(least):
                    below = False
    return not above and not below


def _covers(state: WalkState, small: Coord, large: Coord) -> bool:
    """Whether small <= large for every element."""
    apart: Ints = np.asarray(large.offs - small.offs)
    least = int(apart.min()) if apart.size else 0
    return state.scope.holds(
        binary(">=", binary("+", binary("-", large.base, small.base), least), 0)
    )
