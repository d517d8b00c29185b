"""The first place of a row, of places that lanes keep of parts of the row.

    best[k], at[k] = max and first place of X[n] over n with n % 128 == k
    m = max(best);  I = min(at[k] where best[k] == m)

Let the parts of the lanes together be the row, and m be the largest number of the row,
which has one. The first place p of m in the row lies in the part of some lane k. No
number of this part is larger, and no earlier one is m, so that ``best[k] == m`` and
``at[k] == p``. Any other lane with ``best[k] == m`` has its place in the row, where m
is, and so not before p. The least of these places is p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argus.terms import (
    Element,
    Generator,
    IndexSet,
    Integer,
    Max,
    Term,
    Unknown,
    Variable,
    Whole,
    World,
)
from argus.terms.cast import truncated
from argus.terms.extreme_places import points_of
from argus.terms.folds import fold
from argus.terms.integers import Truncated, Truth
from argus.terms.maxima import opened
from argus.terms.sums import tidy
from argus.terms.term import whole
from argus.verify.equality.aligned import aligned
from argus.verify.equality.mentioned import leaves
from argus.verify.equality.rows import has_points, no_larger, row, source

__all__ = ["least_of_lanes"]


@dataclass(frozen=True)
class _Lanes:
    """Places of lanes, where a domain holds: of the part of each, and its numbers."""

    names: Sequence[Variable]
    domain: IndexSet
    place: Variable
    part: IndexSet
    numbers: Term


def least_of_lanes(world: World, here: IndexSet, leaf: Max) -> Iterator[Term]:
    """The largest ``c - at[k]`` over the lanes k whose number is that of the row.

    The other numbers of the maximum are no larger than that of any place.
    """
    for mine in leaf.generators:
        ((names, domain, body),) = opened(world, [source(mine)])
        found = _place(world, names, domain, body)
        if found is None:
            continue
        rest, kept = found
        first = rest.integer
        if first is None:
            continue
        others = [g for g in leaf.generators if g is not mine]
        for truth, best, over in _asked(world, kept):
            ((at,), points, numbers) = over
            place = Integer.atom(at)
            if _is_row(world, here, kept, truth, best, over) and no_larger(
                world, here & points, others, first - place
            ):
                made = fold(world, "argmax", [((at,), points, numbers)])
                yield rest - whole(truncated(world, made))


def _place(
    world: World, lanes: Sequence[Variable], domain: IndexSet, body: Term
) -> tuple[Term, _Lanes] | None:
    """``c`` and the places of lanes that it is without, of ``c - at[k]``."""
    for part, coefficient in body.parts.items():
        if coefficient != -1 or part.exponent is not None or len(part.factors) != 1:
            continue
        ((leaf, power),) = part.factors
        if power != 1 or not isinstance(leaf, Whole):
            continue
        points = points_of(leaf.atom)
        if points is None or not isinstance(leaf.atom, Truncated):
            continue
        rest = body - Term({part: coefficient})
        if not rest.free_variables().isdisjoint(lanes):
            continue
        (((at,), inner, numbers),) = opened(world, [source(points)])
        return rest, _Lanes(lanes, domain, at, inner, numbers)
    return None


_Row = tuple[tuple[Variable], IndexSet, Term]


def _asked(world: World, kept: _Lanes) -> Iterator[tuple[Truth, Generator, _Row]]:
    """That the number of a lane is the largest of a row; of what that of a lane is."""
    for truth in (a for m in kept.domain.monomials if len(m) == 1 for a in m):
        if not isinstance(truth, Truth) or truth.op != "eq":
            continue
        if not isinstance(truth.term, Term) or len(truth.term.parts) != 2:
            continue
        pairs = list(truth.term.parts.items())
        for (one, a), (other, b) in (pairs, pairs[::-1]):
            best, over = row(one), row(other)
            if best is None or over is None or a != -b:
                continue
            if not over.free.isdisjoint(kept.names):
                continue
            (((at,), points, numbers),) = opened(world, [source(over)])
            yield truth, best, ((at,), points, numbers)


def _is_row(
    world: World,
    here: IndexSet,
    kept: _Lanes,
    truth: Truth,
    best: Generator,
    over: _Row,
) -> bool:
    """Whether the parts of lanes are a row, and their numbers those of the row."""
    ((at,), points, numbers) = over
    if not has_points(world, here, at, points):
        return False
    name = world.space.name((truth,))
    every = kept.domain.without([name])  # lanes, whatever their numbers are
    alike = world.told(Integer.atom(truth), True)
    if not world.is_subset(here & alike & every, kept.domain):
        return False
    if not world.is_subset(here & kept.domain, alike):
        return False
    there = {at: Integer.atom(kept.place)}
    row_points = world.substitute(points, there)
    row_numbers = world.substitute(numbers, there)
    mine = here & kept.domain & kept.part
    if not _same(world, mine, kept.numbers, row_numbers):
        return False
    part = _part(world, here & every, kept.place, best, over)
    if part is None:
        return False
    lane = here & kept.domain
    if not world.is_subset(mine, part) or not world.is_subset(lane & part, kept.part):
        return False
    if not world.is_subset(here & every & part, row_points):
        return False
    try:
        covered = world.project(every & part, kept.names)
    except Unknown:
        return False
    return world.is_subset(here & row_points, covered)


def _part(
    world: World, where: IndexSet, place: Variable, best: Generator, over: _Row
) -> IndexSet | None:
    """The places of the numbers of which that of a lane is the largest."""
    ((at,), _, numbers) = over
    ((names, domain, body),) = opened(world, [source(best)])
    for index in _places(at, numbers, body):
        row_numbers = world.substitute(numbers, {at: index})
        if not _same(world, where & domain, body, row_numbers):
            continue
        here = world.compare(Integer.atom(place), "==", index)
        try:
            return world.project(world.close(domain & here), names)
        except Unknown:
            return None
    return None


def _places(at: Variable, row_numbers: Term, numbers: Term) -> Iterator[Integer]:
    """Where in a row an element may be, by the indices of both."""
    mine = [x for x in leaves(numbers) if isinstance(x, Element)]
    for theirs in leaves(row_numbers):
        if not isinstance(theirs, Element):
            continue
        for i, index in enumerate(theirs.indices):
            rest = index - Integer.atom(at)
            if at in rest.variables():
                continue
            for element in mine:
                if element.tensor == theirs.tensor:
                    yield element.indices[i] - rest


def _same(world: World, where: IndexSet, one: Term, other: Term) -> bool:
    """Whether two numbers are one, with indices that are written in two ways."""
    difference = tidy(world, one - other)
    return not tidy(world, aligned(world, where, difference)).parts
