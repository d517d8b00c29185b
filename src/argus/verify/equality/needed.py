"""What a set says of data, without comparisons that decide nothing.

Where ``X[k] > 0`` or not, a point is one of a row: the row does not depend on it.
"""

from __future__ import annotations

from argus.terms import IndexSet, Integer, Truth, World

__all__ = ["needed"]


def needed(world: World, where: IndexSet) -> IndexSet:
    """A set without truths that it does not depend on; nothing if it is empty."""
    if world.is_empty(where):
        return IndexSet.nothing
    for truth in [a for m in where.monomials for a in m if isinstance(a, Truth)]:
        number = Integer.atom(truth)
        bounds = world.compare(number, ">=", 0) & world.compare(number, "<=", 1)
        rest = where.without([world.space.name((truth,))])
        if (rest & bounds).same(where & bounds):
            where = rest
    return where
