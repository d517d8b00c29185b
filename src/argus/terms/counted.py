"""Counts of which a point is known: they are above 0 where that point is one.

How many k have ``P[k] == P[b]`` and are kept, for a b that is kept: b itself is one.
Of rows from P[b] to P[b + 1] that are kept, P[b] is one, if it is kept.
Where no element of a tile is above a bound, the one that is looked at is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations, product
from typing import TYPE_CHECKING

from argus.terms.affine import least_around, places
from argus.terms.integers import Atom, Entry, Integer, Truth, Variable
from argus.terms.leaves import Call, Element, Sum
from argus.terms.sets import IndexSet
from argus.terms.term import Term

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["beside", "counted_at", "of_count", "twins"]


_MOST = 8
"""Counts, and entries beside them, that are looked at together."""


def of_count(world: World, truth: Truth) -> IndexSet:
    """Where it says that a count is above 0: wherever one of its points is known."""
    leaf = _counted(truth)
    if leaf is None:
        return IndexSet.universe
    (variable,) = leaf.variables
    bound = frozenset({variable})
    known = [*places(world, leaf.domain, variable, bound)]
    known += twins(leaf.domain, variable)
    first = None if known else least_around(world, leaf.domain, variable)
    if first is not None and first.constant is None:  # a number is the same for all
        known = [first]
    return _above(world, truth, leaf, known)


def beside(world: World, atoms: Iterable[Atom]) -> Iterator[tuple[IndexSet, IndexSet]]:
    """What entries and elements that a set mentions say of its counts: of each point.

    Where nothing is kept, ``Keep[k] > 0`` holds of no k: pairs of which one holds, that
    the count is above 0, or that the point is none of its points.
    """
    every = list(atoms)
    counts = [a for a in every if isinstance(a, Truth) and _counts(a) is not None]
    entries = [a for a in every if isinstance(a, Entry)]
    asked = [a for a in every if isinstance(a, Truth) and a not in counts]
    elements = [e for x in asked[:_MOST] for e in _elements(x)]
    for truth in counts[:_MOST]:
        leaf = _counts(truth)
        assert leaf is not None
        points = [*_points(leaf, elements), *_alike(leaf, entries[:_MOST])]
        above = world.compare(Integer.atom(truth), "==", 1)
        for there in dict.fromkeys(world.substitute(leaf.domain, p) for p in points):
            yield above, ~there


def _counted(truth: Truth) -> Sum | None:
    """The sum of a positive number over one variable that it asks about."""
    leaf = _counts(truth)
    return leaf if leaf is not None and len(leaf.variables) == 1 else None


def _counts(truth: Truth) -> Sum | None:
    """The same over any number of variables."""
    leaf = truth.term.single if isinstance(truth.term, Term) else None
    if truth.op != "gt" or not isinstance(leaf, Sum) or not leaf.variables:
        return None
    size = leaf.body.constant
    return leaf if size is not None and size > 0 else None


def _above(world: World, truth: Truth, leaf: Sum, known: Iterable[Integer]) -> IndexSet:
    found = IndexSet.universe
    above = world.compare(Integer.atom(truth), "==", 1)
    for place in known:
        there = world.substitute(leaf.domain, {leaf.variables[0]: place})
        found = found & (above | ~there)
    return found


def counted_at(
    world: World, where: IndexSet, elements: Sequence[Element]
) -> Iterator[Truth]:
    """What the counts of a set ask of some elements, which are points of theirs."""
    for leaf in (x for t in _truths(where) if (x := _counts(t)) is not None):
        for env in _points(leaf, elements):
            yield from _truths(world.substitute(leaf.domain, env))


def _truths(where: IndexSet) -> list[Truth]:
    found = (a for m in where.monomials for a in m)
    return [a for a in found if isinstance(a, Truth) and isinstance(a.term, Term)]


def _points(
    leaf: Sum, elements: Sequence[Element]
) -> Iterator[dict[Variable, Integer]]:
    """Points of a count at which it asks something of these elements."""
    own = _truths(leaf.domain)
    for mine in (e for truth in own[:_MOST] for e in _elements(truth)):
        for theirs in elements[:_MOST]:
            env = _solved(mine, theirs, leaf.variables)
            if env is not None:
                yield env


def _elements(truth: Truth) -> list[Element]:
    assert isinstance(truth.term, Term)
    return [*_elements_of(truth.term)]


def _elements_of(term: Term) -> Iterator[Element]:
    for leaf in (f for part in term.parts for f, _ in part.factors):
        if isinstance(leaf, Element):
            yield leaf
        elif isinstance(leaf, Call):
            for inner in leaf.args:
                yield from _elements_of(inner)


def _solved(
    mine: Element, theirs: Element, variables: Sequence[Variable]
) -> dict[Variable, Integer] | None:
    """What variables have to be, for one element to be another one; None: not known."""
    if mine.tensor != theirs.tensor or theirs.free & frozenset(variables):
        return None
    env: dict[Variable, Integer] = {}
    for variable in variables:
        for a, b in zip(mine.indices, theirs.indices, strict=True):
            if a.coefficient(variable) == 1:
                place = b - (a - Integer.atom(variable))
                if not place.variables() & frozenset(variables):
                    env.setdefault(variable, place)
    return env if len(env) == len(variables) else None


def _entries(where: IndexSet) -> list[Entry]:
    found = (a for m in where.monomials for a in m)
    return list(dict.fromkeys(a for a in found if isinstance(a, Entry)))


def _where_alike(one: Entry, other: Entry, variable: Variable) -> Iterator[Integer]:
    """Where a variable makes an entry another one of the same table."""
    if one.tensor != other.tensor or variable in other.variables:
        return
    for mine, theirs in zip(one.indices, other.indices, strict=True):
        place = theirs - (mine - Integer.atom(variable))
        if variable not in place.variables():
            yield place


def _alike(leaf: Sum, entries: Sequence[Entry]) -> Iterator[dict[Variable, Integer]]:
    """Points of a count at which entries that it asks about are others of a table."""
    bound, own = frozenset(leaf.variables), _entries(leaf.domain)
    others = [e for e in dict.fromkeys((*entries, *own)) if not e.variables & bound]
    known = [
        dict.fromkeys(
            place
            for one in own
            for other in others
            for place in _where_alike(one, other, variable)
            if not place.variables() & bound
        )
        for variable in leaf.variables
    ]
    for point in islice(product(*known), _MOST):
        yield dict(zip(leaf.variables, point, strict=True))


def twins(where: IndexSet, variable: Variable) -> Iterator[Integer]:
    """Where a variable makes an entry another one of the same table in a set."""
    for one, other in permutations(_entries(where), 2):
        yield from _where_alike(one, other, variable)
