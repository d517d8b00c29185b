"""Values that two branches leave behind: one or the other, by the condition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.ir.expr import Expr, Sym, select
from argus.verify.decide import negate
from argus.verify.tags.accumulation import EXTRA
from argus.verify.tags.scope import PathScope
from argus.verify.tags.shifts import merged_shift
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    Hole,
    Kind,
    Lane,
    ReducedDimension,
    Tag,
    Vague,
)

__all__ = ["is_constant", "merged"]


def is_constant(value: AbstractValue) -> bool:
    """Whether it is one number everywhere, belonging to no coordinate."""
    return not value.tags and not isinstance(value.kind, str)


def merged(
    scope: PathScope, cond: Expr, a: AbstractValue, b: AbstractValue
) -> AbstractValue:
    """``a`` where the condition holds, else ``b``."""
    if a is b or scope.holds(cond):
        return a
    if scope.holds(negate(cond)):
        return b
    row = a.row if a.row is not None and a.row == b.row else None
    tags: dict[str, Tag] = {}
    for name in {**a.tags, **b.tags}:
        x, y = a.tags.get(name), b.tags.get(name)
        if x is None and is_constant(a):
            x = y
        if y is None and is_constant(b):
            y = x
        tags[name] = _either(scope, cond, x, y)
    holes = {h.name: h for h in (*b.holes, *a.holes)}
    joined: list[Hole] = []
    for name, hole in holes.items():
        x = next((h.where for h in a.holes if h.name == name), a.tags.get(name))
        y = next((h.where for h in b.holes if h.name == name), b.tags.get(name))
        kinds = {h.kind for v in (a, b) for h in v.holes if h.name == name}
        # A constant is held by elements outside, too.
        if x is None and is_constant(a):
            x, kinds = y, {*kinds, a.kind}
        if y is None and is_constant(b):
            y, kinds = x, {*kinds, b.kind}
        kind = hole.kind if len(kinds) == 1 else "junk"
        joined.append(replace(hole, where=_either(scope, cond, x, y), kind=kind))
    number: Tag | None = None
    if a.number is not None and b.number is not None:
        number = _either(scope, cond, a.number, b.number)
    names = sorted({**a.sums, **b.sums})
    unique = {n: _either_sum(n, cond, a, b) for n in names}
    kind_: Kind = a.kind if a.kind == b.kind else "data"
    return replace(
        a, tags=tags, holes=tuple(joined), kind=kind_, number=number, mask=None,
        sums=unique, extents={**b.extents, **a.extents}, row=row,
        shift=None if row is not None else merged_shift(scope, a, b),
        lanes=_merged_lanes(a, b),
    )  # fmt: skip


def _either_sum(
    name: str, cond: Expr, x: AbstractValue, y: AbstractValue
) -> tuple[ReducedDimension, ...]:
    """The sums of one branch and of the other: each must be right.

    What only one of them adds to a part is added where that one is taken. A constant
    has seen nothing: whether it is meant to stand for a sum is not known.
    """
    a, b = x.sums.get(name), y.sums.get(name)
    if a is not None and b is not None:
        return tuple(dict.fromkeys((*a, *b)))
    if not name.startswith(EXTRA):
        (known,) = (s for s in (a, b) if s is not None)
        if not is_constant(x if a is None else y):
            return known
        flaw = Flaw("one branch leaves a constant in place of the sum", False)
        return (*known, replace(known[0], terms=(), flaw=flaw))
    taken = cond if a is not None else negate(cond)
    times = (Sym(f"{name}?", "loop"), select(taken, 1, 0))
    return tuple(
        replace(
            s,
            terms=tuple(
                replace(t, loops=(times, *t.loops))
                if isinstance(t, CoordinateRange)
                else t
                for t in s.terms
            ),
        )
        for s in a or b or ()
    )


def _merged_lanes(a: AbstractValue, b: AbstractValue) -> dict[str, Lane]:
    """Accumulators of two branches: the same ones, or nothing is known of them."""
    lanes = {**b.lanes, **a.lanes}
    for name, lane in lanes.items():
        x, y = a.lanes.get(name), b.lanes.get(name)
        if x is None or y is None:
            one = a if x is None else b
            same = is_constant(one)
        else:
            same = x.terms == y.terms and np.array_equal(x.offs, y.offs)
        if not same:
            flaw = Flaw("the branches accumulate different parts", False)
            lanes[name] = replace(lane, flaw=lane.flaw or flaw)
    return lanes


def _either(scope: PathScope, cond: Expr, x: Tag | None, y: Tag | None) -> Tag:
    if not isinstance(x, Coord) or not isinstance(y, Coord):
        if isinstance(x, Vague):
            return x
        return y if isinstance(y, Vague) else Vague("the branches differ")
    if not np.array_equal(x.offs, y.offs):
        return Vague("the branches place elements differently")
    if scope.difference(x.base, y.base) == 0:
        return x
    return Coord(select(cond, x.base, y.base), x.offs)
