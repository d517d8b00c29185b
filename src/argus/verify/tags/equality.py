"""Are two abstract values the same for every element? For fixed points of loops.

"No" may also mean that it was not found out: then another pass is made.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from argus.ir.expr import Expr
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import is_one, same
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    Hole,
    Lane,
    Loaded,
    Sets,
    Tag,
    Vague,
)
from argus.verify.verdict import Verdict

__all__ = ["equal_contents", "equal_values"]

K = TypeVar("K", bound=Hashable)


def equal_contents(
    scope: PathScope, a: Mapping[K, AbstractValue], b: Mapping[K, AbstractValue]
) -> bool:
    """Whether two states of shared memory are the same."""
    return a.keys() == b.keys() and all(equal_values(scope, a[k], b[k]) for k in a)


def equal_values(scope: PathScope, a: AbstractValue, b: AbstractValue) -> bool:
    """Whether all that is known of two values is the same."""
    if a is b:
        return True
    return (
        a.shape == b.shape
        and a.kind == b.kind
        and _tags(scope, a.tags, b.tags)
        and all(any(_hole(scope, x, y) for y in b.holes) for x in a.holes)
        and all(any(_hole(scope, x, y) for x in a.holes) for y in b.holes)
        and _maybe(scope, a.number, b.number)
        and _mask(scope, a, b)
        and a.sums == b.sums
        and a.sets.keys() == b.sets.keys()
        and all(_sets(s, b.sets[n]) for n, s in a.sets.items())
        and a.lanes.keys() == b.lanes.keys()
        and all(_lane(x, b.lanes[n]) for n, x in a.lanes.items())
        and a.loose == b.loose
        and a.limits == b.limits
        and a.ends == b.ends
        and _row(scope, a, b)
        and same(scope, a.shift, b.shift)
        and _written(a, b)
    )


def _tags(scope: PathScope, a: Mapping[str, Tag], b: Mapping[str, Tag]) -> bool:
    return a.keys() == b.keys() and all(_tag(scope, a[n], b[n]) for n in a)


def _maybe(scope: PathScope, a: Tag | None, b: Tag | None) -> bool:
    if a is None or b is None:
        return a is b
    return _tag(scope, a, b)


def _tag(scope: PathScope, a: Tag, b: Tag) -> bool:
    match a, b:
        case Coord(), Coord():
            return np.array_equal(a.offs, b.offs) and _expr(scope, a.base, b.base)
        case Loaded(), Loaded():
            return (
                a.table == b.table
                and a.shift == b.shift
                and len(a.at) == len(b.at)
                and all(_tag(scope, x, y) for x, y in zip(a.at, b.at, strict=True))
            )
        case Vague(), Vague():
            return a.reason == b.reason
        case Coord() | Loaded() | Vague(), _:
            return False


def _expr(scope: PathScope, a: Expr, b: Expr) -> bool:
    return a == b or scope.equal(a, b).verdict is Verdict.PROVED


def _hole(scope: PathScope, a: Hole, b: Hole) -> bool:
    same = (a.name, a.kind, a.extent) == (b.name, b.kind, b.extent)
    return same and _tag(scope, a.where, b.where)


def _mask(scope: PathScope, a: AbstractValue, b: AbstractValue) -> bool:
    if a.mask is None or b.mask is None:
        return a.mask is b.mask
    return len(a.mask) == len(b.mask) and all(
        x.op == y.op and _tag(scope, x.left, y.left) and _tag(scope, x.right, y.right)
        for x, y in zip(a.mask, b.mask, strict=True)
    )


def _sets(a: Sets, b: Sets) -> bool:
    return (
        a.terms == b.terms
        and np.array_equal(a.ids, b.ids)
        and np.array_equal(a.table, b.table)
    )


def _lane(a: Lane, b: Lane) -> bool:
    kept = (a.terms, a.fn, a.once, a.flaw) == (b.terms, b.fn, b.once, b.flaw)
    return kept and np.array_equal(a.offs, b.offs)


def _row(scope: PathScope, a: AbstractValue, b: AbstractValue) -> bool:
    if a.row is None or b.row is None:
        return a.row is b.row
    return is_one(scope, a.row, b.row)


def _written(a: AbstractValue, b: AbstractValue) -> bool:
    if a.written is None or b.written is None:
        return a.written is b.written
    return np.array_equal(a.written, b.written)
