"""What is asked of a tile, as stores read it.

Tiles have a variable for each axis, by its number. What is asked of the sums of rows is
of axis 0, and a store that subtracts them from columns reads them along axis 1: names
of dimensions say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from argus.terms import IndexSet, Integer, Term, TermObligation, Variable, World
from argus.verify.denotation import Store

__all__ = ["by_stores"]

_Renamed = tuple[tuple[Variable, Integer], ...]


def by_stores(
    world: World, found: TermObligation, stores: Sequence[Store]
) -> Iterator[tuple[TermObligation, list[Store]]]:
    """An obligation with the axes that stores have, and these stores."""
    groups: dict[_Renamed, list[Store]] = {}
    for store in stores:
        groups.setdefault(_renamed(world, found, store), []).append(store)
    for renamed, several in groups.items():
        env = dict(renamed)
        if not env:
            yield found, several
            continue
        where = world.substitute(found.where, env)
        needs = found.needs
        if isinstance(needs, IndexSet):
            needs = world.substitute(needs, env)
        term = found.term
        term = world.substitute(term, env) if isinstance(term, Term) else term
        yield replace(found, term=term, where=where, needs=needs), several


def _renamed(world: World, found: TermObligation, store: Store) -> _Renamed:
    """Axes of a tile that are others of a store.

    Where names do not tell, they are the same axes if there are as many; else a store
    says nothing of them.
    """
    there = {name: axis for axis, name in store.named if name}
    alike = len(found.axes) == len(store.axes)
    made: list[tuple[Variable, Integer]] = []
    for axis, name in found.axes:
        other = there.get(name, axis if alike else None)
        if other is None or other.upper != axis.upper:
            made.append((axis, _apart(world, axis)))
        elif other != axis:
            made.append((axis, Integer.atom(other)))
    return tuple(made)


def _apart(world: World, axis: Variable) -> Integer:
    """A position along an axis that no store mentions."""
    key = ("apart", axis)
    if key not in world.memory:
        world.memory[key] = world.fresh("at", 0, axis.upper)
    made = world.memory[key]
    assert isinstance(made, Integer)
    return made
