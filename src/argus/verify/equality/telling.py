"""Points at which two terms are different numbers.

Terms may be written differently and be the same number at most points: tiles have no
end that is filled where a size is a multiple of theirs. So points at which something of
the terms differs are tried first, then those of several sizes, on made-up data, and a
run looks where the numbers differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from argus.clock import now
from argus.terms import IndexSet, Integer, Term, Unknown, Variable, World
from argus.terms.evaluate import Point, evaluate
from argus.terms.input_values import RandomData
from argus.terms.sampling import least
from argus.verify.equality.differing import differing
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
_SEVERAL = 2
"""A size beside another one, where it may be that."""
_MOST = 4
"""Points that are handed on."""


def telling(world: World, found: Mismatch) -> tuple[dict[Variable, int], ...]:
    """Points of the mismatch, those at which the terms differ by most first.

    One is enough where it is known to tell; else some at which something of the terms
    differs. None where the set has no known point.
    """
    until = now() + _SECONDS
    scored: dict[frozenset[tuple[Variable, int]], tuple[float, Point]] = {}
    try:
        for where, weight in _parts(world, found):
            point = least(world, where, _sizes(found))
            key = frozenset((point or {}).items())
            if point is not None and key not in scored:
                apart = _apart(found.left, found.right, point)
                scored[key] = max(apart, weight), point
                if apart > _CLEAR or found.missing:
                    break
            if now() > until:
                break
        if not scored:
            point = _of_products(world, found)
            if point is not None:
                apart = _apart(found.left, found.right, point)
                scored[frozenset(point.items())] = apart, point
    except Unknown:
        pass  # there is no time left, or a set is too hard: what was found is enough
    ranked = sorted(scored.values(), key=lambda x: -x[0])
    several = 1 if ranked and ranked[0][0] > _CLEAR else _MOST
    return tuple(dict(point) for _, point in ranked[:several])


def _of_products(world: World, found: Mismatch) -> dict[Variable, int] | None:
    """A point of a set that speaks of products of sizes: all but one are few.

    Of ``M*N`` isl knows nothing; of ``M*65`` all.
    """
    sizes = _sizes(found)
    products = [m for m in found.where.monomials if len(m) > 1]
    for size in sizes:
        others = {
            a for m in products if size in m for a in m if a is not size and a in sizes
        }
        fixed = {v: _LEAST[1] for v in sizes if v in others}
        if not fixed:
            continue
        env = {v: Integer.of(n) for v, n in fixed.items()}
        where = world.substitute(found.where, env)
        point = least(world, where, [v for v in sizes if v not in fixed])
        if point is not None:
            return {**point, **fixed}
    return None


def _parts(world: World, found: Mismatch) -> Iterator[tuple[IndexSet, float]]:
    """Parts of the mismatch, and how likely the numbers there are to differ.

    Where something of the terms differs come first; then one of the sizes that the
    terms speak of is large at a time, the others are from 2.
    """
    ordered = _named(found)
    sizes = [v for v in ordered if _is_size(v)]
    places = [v for v in ordered if not _is_size(v)]
    for part in differing(world, found):
        others = part
        for size in sizes:
            others = others & world.compare(Integer.atom(size), ">=", _SEVERAL)
        yield others, _ROUNDED
        yield part, _ROUNDED / 2
    yield found.where, 0.0
    few, *more = _LEAST
    parts = [_part(world, found.where, sizes, size, few) for size in sizes]
    for part in parts:
        yield part, 0.0
    for part in parts:
        for place in places:
            yield part & world.compare(Integer.atom(place), "==", 1), 0.0
    for bound in more:
        for size in sizes:
            yield _part(world, found.where, sizes, size, bound), 0.0


def _part(
    world: World,
    where: IndexSet,
    sizes: Sequence[Variable],
    size: Variable,
    bound: int,
) -> IndexSet:
    for other in sizes:
        low = bound if other == size else _SEVERAL
        where = where & world.compare(Integer.atom(other), ">=", low)
    return where


def _named(found: Mismatch) -> list[Variable]:
    named = found.left.free_variables() | found.right.free_variables()
    return sorted(named | found.where.variables(), key=lambda v: v.name)


def _sizes(found: Mismatch) -> list[Variable]:
    return [v for v in _named(found) if _is_size(v)]


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
