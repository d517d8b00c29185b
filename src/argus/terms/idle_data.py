"""What a set says of data, without what decides nothing.

Where ``X[k] > 0`` or not, a point is one of a row: the row does not depend on it. Nor
does it where an entry is below 0, above 0, or 0.
"""

from __future__ import annotations

from argus.terms.integers import Entry, Truth
from argus.terms.sets import IndexSet
from argus.terms.world import World

__all__ = ["without_idle_data"]


def without_idle_data(world: World, where: IndexSet) -> IndexSet:
    """A set without truths and entries that it does not depend on."""
    data = [a for m in where.monomials for a in m if isinstance(a, Truth | Entry)]
    for atom in dict.fromkeys(data):
        name = world.space.name((atom,))
        known = world.facts(((atom,),))
        if not known.without([name]).is_universe:
            known = IndexSet.universe  # what is known of others by it stays
        rest = where.without([name])
        if (rest & known).same(where & known):
            where = rest
    return where
