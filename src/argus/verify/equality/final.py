"""Stores without what a later store of the same block writes over.

    final(world, stores) -> the stores, at the points that are the last of their element

It is for tensors that a program accesses in program order. There a point of a store is
written over where a later point, of a store of the same role and block, has the same
coordinates. Whatever is left out is followed by another point, and program order has a
last one: so an element is what the points say that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.terms import IndexSet, Integer, Variable, World
from argus.verify.denotation import Store
from argus.verify.denotation.in_place import earlier

__all__ = ["final", "repeats", "same_points"]


def final(world: World, stores: Sequence[Store]) -> tuple[Store, ...]:
    """What is left of the stores to a tensor. Raises Unknown where sets cannot say."""
    left: list[Store] = []
    for store in stores:
        where = store.where
        for other in stores:
            if other.role == store.role:
                where = where - _overwritten(world, store, other)
        if not world.is_empty(where):
            left.append(_last(world, replace(store, where=where)))
    return tuple(left)


def repeats(stores: Sequence[Store]) -> bool:
    """Whether an element may be stored more than once, as far as loops tell."""
    first = stores[0]
    at = {v for coord in first.coords for v in coord.variables()}
    return len(stores) > 1 or any(v not in at for _, v in first.path if v is not None)


def same_points(store: Store, last: Store) -> bool:
    """Whether two stores are of the same points."""
    return store.where.same(last.where) and store.variables == last.variables


def _overwritten(world: World, store: Store, later: Store) -> IndexSet:
    """Points of a store that a point of another one (or of itself) writes over."""
    # Bounds of variables are in the set of a store.
    other = {v: world.fresh(f"later {v.name}") for v in later.variables}
    pairs = store.where & world.substitute(later.where, other)
    for block in _blocks(store) & _blocks(later):
        pairs = pairs & world.compare(other[block], "==", Integer.atom(block))
    for mine, theirs in zip(store.coords, later.coords, strict=True):
        pairs = pairs & world.compare(mine, "==", world.substitute(theirs, other))
    pairs = pairs & earlier(world, store.path, later.path, {}, other)
    if world.is_empty(pairs):
        return IndexSet.nothing
    gone = [v for made in other.values() for v in made.variables()]
    return world.project(pairs, gone)


def _blocks(store: Store) -> set[Variable]:
    """Variables of a store that are no iterations, and no places in its tile."""
    loops = {loop for _, loop in store.path if loop is not None}
    return set(store.variables) - loops - set(store.axes)


def _last(world: World, store: Store) -> Store:
    """A store at the last iteration of loops in which it writes the same tile."""
    for _, loop in reversed(store.path):
        if loop is None or loop.upper is None or _matters(store, loop):
            continue
        env = {loop: loop.upper - 1}
        last = world.substitute(store.where, env)
        if not world.is_subset(world.project(store.where, [loop]), last):
            continue
        store = replace(
            store,
            where=last,
            value=world.substitute(store.value, env),
            variables=tuple(v for v in store.variables if v != loop),
        )
    return store


def _matters(store: Store, loop: Variable) -> bool:
    """Whether coordinates, or bounds of other variables, depend on an iteration."""
    bounds = [b for v in store.variables for b in (v.lower, v.upper) if b is not None]
    return any(loop in x.variables() for x in (*store.coords, *bounds))
