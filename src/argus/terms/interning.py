"""One object for all equal sets, so that terms over equal sets are equal objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

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
    known_facts = world.facts(where.monomials)
    closed = where & known_facts
    if facts.is_refuted(world, closed):
        found = IndexSet.nothing
    else:
        found = _equal_one(world, where, closed, known_facts)
    interned.found[where] = found
    interned.found[found] = found
    return found


def _equal_one(
    world: World, where: IndexSet, closed: IndexSet, known_facts: IndexSet
) -> IndexSet:
    mentioned = frozenset(closed.monomials)
    for said, other in world.interned.sets.get(mentioned, ()):
        if other.same(closed):
            return said
    said = where.gist(known_facts)
    if said.is_universe:
        return said
    if said.number is not None:
        said = IndexSet(said.isl, said.space)
    world.interned.add(mentioned, said, closed)
    return said
