"""Masks of stores: an element that a mask leaves out is written by nobody."""

from __future__ import annotations

import numpy as np

from argus.ir.expr import binary
from argus.verify.tags.compare import Agreement, agree, unknown
from argus.verify.tags.state import Stored
from argus.verify.tags.values import Bools, Compare, Coord
from argus.verify.verdict import Verdict

__all__ = ["left_out"]

_POINTS = 64
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_UNKNOWN = "what the mask of a store leaves out is not known to be written by another"


def left_out(stored: Stored, alone: bool) -> Agreement:
    """Whether the mask of a store keeps every element that exists.

    Refuted by an element that it leaves out if the store is ``alone``; else another
    may be meant to write it, which is not looked for.
    """
    if stored.mask is None:
        return Agreement(Verdict.PROVED)
    if stored.mask and all(_keeps(stored, c) for c in stored.mask):
        return Agreement(Verdict.PROVED)
    look = bool(stored.mask) and alone
    found = _counterexample(stored, stored.mask) if look else None
    return unknown(_UNKNOWN) if found is None else found


def _keeps(stored: Stored, c: Compare) -> bool:
    """Whether a condition is true of every element inside the tensor."""
    for op, left, right in (
        (c.op, c.left, c.right),
        (_MIRRORED.get(c.op, ""), c.right, c.left),
    ):
        if op not in ("<", "<=") or not isinstance(right, Coord):
            continue
        known = list(zip(stored.coords, stored.tensor.shape, strict=True))
        for index in stored.indices:
            # A dimension that was summed has an extent, and no coordinate any more.
            known += [
                (index.tags[n], e) for n, e in index.extents.items() if n in index.tags
            ]
        for coord, extent in known:
            if not agree(left, coord, stored.scope).proved or not right.offs.size:
                continue
            # left < extent holds of what exists, and extent <= right.
            last = binary("+", right.base, int(right.offs.min()) + (op == "<="))
            if stored.scope.holds(binary("<=", extent, last)):
                return True
    return False


def _counterexample(stored: Stored, mask: tuple[Compare, ...]) -> Agreement | None:
    """An element inside the tensor, at an admissible point, that is not stored."""
    scope = stored.scope
    keep = scope.admissible()
    if keep is None or scope.points is None:
        return None
    for i in np.flatnonzero(keep)[:_POINTS]:
        model = scope.points.at(int(i))
        stays: Bools = np.ones(1, np.bool_)
        for coord, extent in zip(stored.coords, stored.tensor.shape, strict=True):
            end = scope.value_at(extent, model)
            place = _at(stored, coord, model)
            if place is None or end is None:
                return None
            stays = stays & (place >= 0) & (place < end)
        for c in mask:
            left, right = _at(stored, c.left, model), _at(stored, c.right, model)
            if left is None or right is None:
                return None
            masked = ~_COMPARED[c.op](left, right)
            wrong = stays & masked
            if wrong.any():
                at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
                element = tuple(int(x) for x in at)
                return Agreement(
                    Verdict.REFUTED, "admissible sizes", "", model, element
                )
    return None


_COMPARED = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def _at(stored: Stored, tag: object, model: dict[str, int]) -> np.ndarray | None:
    if not isinstance(tag, Coord):
        return None
    base = stored.scope.value_at(tag.base, model)
    return None if base is None else base + tag.offs
