"""Entries of tables: which are at one place, and what holds of those at two places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

from argus.terms.integers import Entry, Integer, Monomial
from argus.terms.sets import IndexSet, union

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["PairFact", "places", "same_entries"]

_ENTRIES = 3
"""Pairs of entries of one tensor, or of places of one fact, that are looked at."""

_Place = tuple[Integer, ...]


@dataclass(frozen=True)
class PairFact:
    """What holds of the entries of tables at each two different places.

    The ``tables`` have one shape, ``extents``. ``holds(i, j)``: what is said of places
    i and j, in this order; nothing is said of places outside.
    """

    tables: tuple[str, ...]
    extents: tuple[Integer, ...]
    holds: Callable[[_Place, _Place], IndexSet]

    def both_ways(self, world: World, one: _Place, other: _Place) -> IndexSet:
        """What is said of two places that lie inside, unless they are the same."""
        key = ("pair", self.holds, one, other)
        if key not in world.memory:
            world.memory[key] = self.holds(one, other) & self.holds(other, one)
        found = world.memory[key]
        assert isinstance(found, IndexSet)
        return found

    def inside(self, world: World, place: _Place) -> IndexSet:
        """Where a place is one of the tables'."""
        return world.inside(place, self.extents)


def places(world: World, where: IndexSet) -> IndexSet:
    """A set with what it says of places in tables of which something holds by pairs.

    Where what holds of entries at two places does not, these are one place.
    """
    if not world.pair_facts or isinstance(where.isl, bool):
        return where
    atoms = dict.fromkeys(m[0] for m in where.monomials if len(m) == 1)
    for fact in world.pair_facts:
        mine = (
            a.indices for a in atoms if isinstance(a, Entry) and a.tensor in fact.tables
        )
        pairs = combinations(dict.fromkeys(mine), 2)
        for one, other in islice(pairs, _ENTRIES):
            inside = fact.inside(world, one) & fact.inside(world, other)
            holds = fact.both_ways(world, one, other)
            if (where & holds).is_nothing and (where - inside).is_nothing:
                for i, j in zip(one, other, strict=True):
                    where = where & world.compare(i, "==", j)
    return where


def same_entries(
    world: World, monomials: Sequence[Monomial]
) -> Iterator[tuple[IndexSet, IndexSet]]:
    """Of entries of one tensor: that they stand at other places, or are the same.

    At other places holds what is said of pairs.
    """
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
        for fact in world.pair_facts:
            if one.tensor in fact.tables:
                ends = one.indices, other.indices
                inside = fact.inside(world, ends[0]) & fact.inside(world, ends[1])
                different = different & (~inside | fact.both_ways(world, *ends))
        yield different, same & ~apart
