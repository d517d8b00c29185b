"""Entries of tables: which are at one place, and which are different."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING

from argus.terms.integers import Entry, Integer, Monomial
from argus.terms.sets import IndexSet, union

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["places", "same_entries"]

_ENTRIES = 3
"""Pairs of entries of one tensor that are looked at."""


def places(world: World, where: IndexSet) -> IndexSet:
    """A set with what it says of places in tables whose entries are all different.

    Where two entries of such a table are one number, they stand at one place.
    """
    if not world.distinct or isinstance(where.isl, bool):
        return where
    atoms = dict.fromkeys(m[0] for m in where.monomials if len(m) == 1)
    entries = [a for a in atoms if isinstance(a, Entry) and a.tensor in world.distinct]
    for one, other in islice(combinations(entries, 2), _ENTRIES):
        if one.tensor != other.tensor:
            continue
        same = world.compare(Integer.atom(one), "==", Integer.atom(other))
        inside = _inside(world, one) & _inside(world, other)
        if (where - (same & inside)).is_nothing:
            for i, j in zip(one.indices, other.indices, strict=True):
                where = where & world.compare(i, "==", j)
    return where


def _inside(world: World, entry: Entry) -> IndexSet:
    """Where a place is one of its table."""
    found = IndexSet.universe
    for index, extent in zip(entry.indices, world.distinct[entry.tensor], strict=True):
        found = found & world.compare(index, ">=", 0)
        found = found & world.compare(index, "<", extent)
    return found


def same_entries(
    world: World, monomials: Sequence[Monomial]
) -> Iterator[tuple[IndexSet, IndexSet]]:
    """Of entries of one tensor: that they stand at other places, or are the same."""
    atoms = dict.fromkeys(a for m in monomials for a in m)
    pairs = combinations([a for a in atoms if isinstance(a, Entry)], 2)
    alike = ((a, b) for a, b in pairs if a.tensor == b.tensor)
    for one, other in islice(alike, _ENTRIES):
        apart = union(
            world.compare(i, "!=", j)
            for i, j in zip(one.indices, other.indices, strict=True)
        )
        same = world.compare(Integer.atom(one), "==", Integer.atom(other))
        different = apart
        if one.tensor in world.distinct:
            different = apart & ~(same & _inside(world, one) & _inside(world, other))
        yield different, same & ~apart
