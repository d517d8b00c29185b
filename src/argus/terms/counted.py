"""Counts of which a point is known: they are above 0 where that point is one.

How many k have ``P[k] == P[b]`` and are kept, for a b that is kept: b itself is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from argus.terms.affine import places
from argus.terms.integers import Atom, Entry, Integer, Truth, Variable
from argus.terms.leaves import Sum
from argus.terms.sets import IndexSet
from argus.terms.term import Term

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["of_count", "together", "twins"]


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
    return _above(world, truth, leaf, [*known, *twins(leaf.domain, variable)])


def together(world: World, atoms: Iterable[Atom]) -> IndexSet:
    """What entries that a set mentions say of its counts: each may be at a point.

    Where nothing is kept, ``Keep[k] > 0`` holds of no k.
    """
    every = list(atoms)
    counts = [a for a in every if isinstance(a, Truth) and _counted(a) is not None]
    entries = [a for a in every if isinstance(a, Entry)]
    found = IndexSet.universe
    for truth in counts[:_MOST]:
        leaf = _counted(truth)
        assert leaf is not None
        known = {
            place: None
            for one in _entries(leaf.domain)
            for other in entries[:_MOST]
            for place in _where_alike(one, other, leaf.variables[0])
        }
        found = found & _above(world, truth, leaf, known)
    return found


def _counted(truth: Truth) -> Sum | None:
    """The sum of a positive number over one variable that it asks about."""
    leaf = truth.term.single if isinstance(truth.term, Term) else None
    if truth.op != "gt" or not isinstance(leaf, Sum) or len(leaf.variables) != 1:
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


def twins(where: IndexSet, variable: Variable) -> Iterator[Integer]:
    """Where a variable makes an entry another one of the same table in a set."""
    for one, other in permutations(_entries(where), 2):
        yield from _where_alike(one, other, variable)
