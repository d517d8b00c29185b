"""Stores whose places a permutation names.

    relabelled(world, store) -> a store of the same elements, without the permutation

A table of P different numbers from 0 to P - 1 has each of them once. Where points of a
store reach all of its entries, and depend on which one they reach by its number alone,
the numbers that they have are those from 0 to P - 1: the same elements are written if
each entry is the number of its place.
"""

from __future__ import annotations

from dataclasses import replace

from argus.terms import IndexSet, Integer, Unknown, Variable, World
from argus.terms.integers import Atom, Entry, Monomial, Opaque, variable_of
from argus.terms.substitution import in_set_by, of_others
from argus.verify.denotation import Store
from argus.verify.denotation.state import ranges

__all__ = ["relabelled"]


def relabelled(world: World, store: Store) -> Store | None:
    """None where no permutation is shown. Raises Unknown where sets cannot say it.

    Of the new store only its points and coordinates mean something, not its value.
    """
    for entry in _entries(store):
        extents = world.distinct.get(entry.tensor, ())
        if len(extents) != 1:
            continue
        (extent,) = extents
        if _onto(world, entry.tensor, extent):
            made = _without(world, store, entry, extent)
            if made is not None:
                return made
    return None


def _entries(store: Store) -> list[Entry]:
    found: dict[Entry, None] = {}
    for coord in store.coords:
        todo = [a for monomial in coord.terms for a in monomial]
        while todo:
            atom = todo.pop()
            if isinstance(atom, Entry):
                found.setdefault(atom)
            else:
                todo += [a for x in atom.arguments for m in x.terms for a in m]
    return list(found)


def _onto(world: World, tensor: str, extent: Integer) -> bool:
    """Whether all entries of a table of different numbers are below its extent."""
    place = world.fresh("place")
    entry = world.entry(tensor, (place,))
    inside = _below(world, place, extent)
    return world.is_subset(inside, _below(world, entry, extent))


def _below(world: World, value: Integer, extent: Integer) -> IndexSet:
    return world.compare(value, ">=", 0) & world.compare(value, "<", extent)


def _without(world: World, store: Store, entry: Entry, extent: Integer) -> Store | None:
    (place,) = entry.indices
    names = sorted(place.variables() & set(store.variables), key=lambda v: v.key)
    number = world.fresh("number")
    env = {entry: number}
    coords = [_integer(world, c, env) for c in store.coords]
    where = in_set_by(world, store.where, lambda m: _monomial(world, m, env))
    mentioned = {v for c in coords for v in c.variables()} & set(names)
    if mentioned or any(isinstance(a, Entry) for m in where.monomials for a in m):
        return None
    reached = _below(world, place, extent) & ranges(world, names)
    left = world.project(where, names)
    any_ = world.fresh("any")
    every = world.project(reached & world.compare(place, "==", any_), names)
    if not world.is_subset(reached & left, where):
        return None
    if not world.is_subset(_below(world, any_, extent), every):
        return None
    same = {variable_of(number): place}
    return replace(
        store,
        where=world.substitute(left, same) & reached,
        coords=tuple(world.substitute(c, same) for c in coords),
    )


def _integer(world: World, value: Integer, env: dict[Entry, Integer]) -> Integer:
    total = Integer.of(0)
    for monomial, coefficient in value.terms.items():
        total = total + _monomial(world, monomial, env) * coefficient
    return total


def _monomial(world: World, monomial: Monomial, env: dict[Entry, Integer]) -> Integer:
    found = Integer.of(1)
    for atom in monomial:
        found = found * _atom(world, atom, env)
    return found


def _atom(world: World, atom: Atom, env: dict[Entry, Integer]) -> Integer:
    """An atom with an entry replaced. Raises Unknown for one of data."""
    if isinstance(atom, Entry) and atom in env:
        return env[atom]
    if isinstance(atom, Opaque):
        left, right = (_integer(world, a, env) for a in atom.args)
        return of_others(world, atom, left, right)
    if not isinstance(atom, Variable | Entry) and atom.variables:
        raise Unknown(f"which entry {atom} depends on")
    return Integer.atom(atom)
