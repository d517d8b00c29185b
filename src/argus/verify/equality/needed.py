"""Sets without comparisons of data that decide nothing; nothing if they are empty."""

from __future__ import annotations

from argus.terms import IndexSet, World
from argus.terms.idle_data import without_idle_data

__all__ = ["needed"]


def needed(world: World, where: IndexSet) -> IndexSet:
    """A set without data that it does not depend on; nothing if it is empty."""
    if world.is_empty(where):
        return IndexSet.nothing
    return without_idle_data(world, where)
