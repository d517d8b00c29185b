"""A point at which two terms are different numbers.

Terms may be written differently and be the same number at most points: tiles have no
end that is filled where a size is a multiple of theirs. So points of several sizes are
tried, on made-up data, and a run looks where the numbers differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from math import isfinite

from argus.terms import IndexSet, Integer, Term, Unknown, Variable, World
from argus.terms.evaluate import Point, RandomData, evaluate
from argus.verify.equality.result import Mismatch

__all__ = ["telling"]

_SECONDS = 0.5
"""CPU time for the search."""
_LEAST = (3, 33, 129)
"""Sizes that are tried: those after a power of two begin another tile."""
_ROUNDED = 1e-9
"""A difference that evaluating makes."""
_CLEAR = 1 / 64
"""A difference, in parts of the larger number, that rounding does not hide."""


def telling(world: World, found: Mismatch) -> dict[Variable, int] | None:
    """A point of the mismatch, one at which the terms differ if that is found in time.

    None where the set has no known point.
    """
    first = world.sample(found.where)
    if first is None or found.missing:
        return first
    until = time.process_time() + _SECONDS
    best, most = first, _ROUNDED
    try:
        seen: set[frozenset[tuple[Variable, int]]] = set()
        for where in _parts(world, found):
            point = world.sample(where)
            if point is not None and frozenset(point.items()) not in seen:
                seen.add(frozenset(point.items()))
                apart = _apart(found.left, found.right, point)
                if apart > most:
                    best, most = point, apart
            if most > _CLEAR or time.process_time() > until:
                break
    except Unknown:
        pass  # there is no time left, or a set is too hard: what was found is enough
    return best


def _parts(world: World, found: Mismatch) -> Iterator[IndexSet]:
    """The points, then those of larger sizes, and there at the second place of each.

    One of the sizes that the terms speak of is large at a time, the others are from 2.
    """
    yield found.where
    named = found.left.free_variables() | found.right.free_variables()
    ordered = sorted(named, key=lambda v: v.name)
    sizes = [v for v in ordered if _is_size(v)]
    places = [v for v in ordered if not _is_size(v)]
    few, *more = _LEAST
    parts = [_part(world, found.where, sizes, size, few) for size in sizes]
    yield from parts
    for part in parts:
        for place in places:
            yield part & world.compare(Integer.atom(place), "==", 1)
    for least in more:
        for size in sizes:
            yield _part(world, found.where, sizes, size, least)


def _part(
    world: World,
    where: IndexSet,
    sizes: Sequence[Variable],
    size: Variable,
    least: int,
) -> IndexSet:
    for other in sizes:
        bound = least if other == size else 2
        where = where & world.compare(Integer.atom(other), ">=", bound)
    return where


def _is_size(variable: Variable) -> bool:
    return variable.upper is None and variable.lower is not None


def _apart(left: Term, right: Term, point: Point) -> float:
    """How much the terms differ at a point, in parts of the larger one."""
    data = RandomData()
    try:
        a, b = (float(evaluate(term, point, data)) for term in (left, right))
    except (Unknown, KeyError, ArithmeticError, ValueError):
        return 0.0
    if not (isfinite(a) and isfinite(b)) or a == b:
        return 0.0
    return abs(a - b) / max(abs(a), abs(b))
