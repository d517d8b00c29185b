"""Counts of which a point is known: they are above 0 where that point is one.

How many k have ``P[k] == P[b]`` and are kept, for a b that is kept: b itself is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from argus.terms.affine import places
from argus.terms.integers import Entry, Integer, Truth, Variable
from argus.terms.leaves import Sum
from argus.terms.sets import IndexSet
from argus.terms.term import Term

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["of_count", "twins"]


def of_count(world: World, truth: Truth) -> IndexSet:
    """Where it says that a count is above 0: wherever one of its points is known."""
    leaf = truth.term.single if isinstance(truth.term, Term) else None
    if truth.op != "gt" or not isinstance(leaf, Sum) or len(leaf.variables) != 1:
        return IndexSet.universe
    size = leaf.body.constant
    if size is None or size <= 0:
        return IndexSet.universe
    (variable,) = leaf.variables
    found = IndexSet.universe
    above = world.compare(Integer.atom(truth), "==", 1)
    for place in _points(world, leaf.domain, variable):
        there = world.substitute(leaf.domain, {variable: place})
        found = found & (above | ~there)
    return found


def _points(world: World, where: IndexSet, variable: Variable) -> Iterator[Integer]:
    yield from places(world, where, variable, frozenset({variable}))
    yield from twins(where, variable)


def twins(where: IndexSet, variable: Variable) -> Iterator[Integer]:
    """Where a variable makes an entry another one of the same table in a set."""
    value = Integer.atom(variable)
    entries = [a for m in where.monomials for a in m if isinstance(a, Entry)]
    for one, other in permutations(dict.fromkeys(entries), 2):
        if one.tensor != other.tensor or variable in other.variables:
            continue
        for mine, theirs in zip(one.indices, other.indices, strict=True):
            place = theirs - (mine - value)
            if variable not in place.variables():
                yield place
