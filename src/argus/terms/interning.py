"""One object for all equal sets, so that terms over equal sets are equal objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import islpy as isl

from argus.terms import facts
from argus.terms.integers import Monomial
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.world import World

_Mentioned: TypeAlias = frozenset[Monomial]


class Interned:
    """The canonical sets of a world, by what their facts make them mention."""

    def __init__(self) -> None:
        self.sets: dict[_Mentioned, list[tuple[IndexSet, IndexSet]]] = {}
        self.found: dict[IndexSet, IndexSet] = {}
        self.said: set[IndexSet] = set()
        """Sets that do not repeat facts."""
        self.count = 2

    def add(self, mentioned: _Mentioned, said: IndexSet, closed: IndexSet) -> None:
        """A set that equals none before it."""
        said.number = self.count
        self.count += 1
        self.sets.setdefault(mentioned, []).append((said, closed))


def canonical(world: World, where: IndexSet) -> IndexSet:
    """One object for all sets that are equal where their facts hold.

    Facts are those of what the set mentions. A set that is said to be canonical stays
    it when a world learns more: a requirement only makes more sets equal.
    """
    if isinstance(where.isl, bool):
        return where
    interned = world.interned
    known = interned.found.get(where)
    if known is not None:
        return known
    simpler = _without_extremes(world, where)
    known_facts = world.facts(simpler.monomials)
    closed = simpler & known_facts
    if facts.is_refuted(world, closed):
        found = IndexSet.nothing
    else:
        found = _equal_one(world, simpler, closed, known_facts)
    interned.found[where] = found
    interned.found[found] = found
    return found


def _without_extremes(world: World, where: IndexSet) -> IndexSet:
    """The same set without minima and maxima, where their bounds say it all.

    ``k < min(a, b)`` is ``k < a and k < b``: that there is a number below both that is
    greater than k. Whether nothing is lost is asked with all that is known.
    """
    if not _extremes(where):
        return where
    said = where.gist(world.facts(where.monomials))
    world.interned.said.add(said)
    names = [world.space.name(monomial) for monomial in _extremes(said)]
    if not names:
        return said
    wider = world.close(said).without(names).coalesced()
    wider = wider.gist(world.facts(wider.monomials))
    if _complexity(wider) > _complexity(said) or not world.is_subset(wider, said):
        return said
    world.interned.said.add(wider)
    return wider


def _extremes(where: IndexSet) -> list[Monomial]:
    """Minima and maxima that a set mentions by themselves."""
    return [m for m in where.monomials if len(m) == 1 and facts.is_extreme(m[0])]


def _complexity(where: IndexSet) -> tuple[int, int]:
    """How many quotients the parts of a set have, and how many parts there are."""
    if isinstance(where.isl, bool):
        return 0, 0
    parts = where.isl.get_basic_sets()
    return max(p.dim(isl.dim_type.div) for p in parts), len(parts)


def _equal_one(
    world: World, where: IndexSet, closed: IndexSet, known_facts: IndexSet
) -> IndexSet:
    mentioned = frozenset(closed.monomials)
    for said, other in world.interned.sets.get(mentioned, ()):
        if other.same(closed):
            return said
    # Without extremes it may be said already: then there is nothing left to leave out.
    said = where if where in world.interned.said else where.gist(known_facts)
    if said.is_universe:
        return said
    if said.number is not None:
        said = IndexSet(said.isl, said.space)
    world.interned.add(mentioned, said, closed)
    return said
