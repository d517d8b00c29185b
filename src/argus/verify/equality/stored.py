"""The outputs of a kernel as functions of a position: a kernel as a specification.

A position is written as its digits: of `64*i + a` with a below 64, `i` is the quotient
by 64 and `a` the remainder. That the rest of a coordinate is always below the factor
makes the digits the only ones, and the element the only one that is stored there.

Where a table names the positions (`Start[t] + i`) there are no digits. If no two points
of the store are at one position, the element is the sum over those that are. What no
store writes is what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.ir.expr import Const, Sym
from argus.ir.memory import GlobalTensor
from argus.terms import (
    IndexSet,
    Integer,
    Unknown,
    Value,
    World,
    joined,
    reduce,
    union,
)
from argus.terms.some_points import some_points
from argus.terms.sums import renamed
from argus.verify.denotation import Denotation, Store
from argus.verify.denotation.state import ranges
from argus.verify.equality.additions import total
from argus.verify.equality.coverage import digits, initial, points_at
from argus.verify.equality.final import final

__all__ = ["StoredArray", "shape_of", "stored_arrays"]


@dataclass(frozen=True)
class StoredArray:
    """An output of a kernel. ``stores``: all stores to it."""

    world: World
    sizes: tuple[Integer, ...]
    stores: tuple[Store, ...]

    def at(self, indices: list[Integer]) -> Value:
        """The element at a position. Raises Unknown."""
        if any(s.atomic for s in self.stores):
            before = initial(self.world, self.stores[0], indices)
            return total(self.world, self.stores, indices, before)
        try:
            return self._stored(self.stores, indices)
        except Unknown:
            # A tile program is read in program order: the last store counts.
            return self._stored(final(self.world, self.stores), indices)

    def _stored(self, stores: Sequence[Store], indices: list[Integer]) -> Value:
        parts: list[tuple[IndexSet, Value]] = []
        for store in stores:
            try:
                where, value = _by_digits(self.world, store, indices)
            except Unknown as why:
                where, value = _of_one_point(self.world, store, indices, why)
            taken = union(w for w, _ in parts)
            if not self.world.is_empty(where & taken):
                raise Unknown("an element that two statements store", store.span)
            parts.append((where, value))
        left = self.world.inside(indices, self.sizes) - union(w for w, _ in parts)
        if not self.world.is_empty(left):
            parts.append((left, initial(self.world, stores[0], indices)))
        return joined(self.world, parts)


def _by_digits(
    world: World, store: Store, at: Sequence[Integer]
) -> tuple[IndexSet, Value]:
    """Where a store writes a position, and what. Raises Unknown."""
    where, env = digits(world, store, at)
    value = world.substitute(store.value, env)
    if any(v in store.variables for v in value.free_variables()):
        raise Unknown("a value that its position does not determine")
    return where, value


def _of_one_point(
    world: World, store: Store, at: Sequence[Integer], why: Unknown
) -> tuple[IndexSet, Value]:
    """The same where at most one point of a store writes a position.

    Raises ``why`` where that is not shown.
    """
    points, value = points_at(world, store, at), store.value
    for env in points.replaced:
        value = world.substitute(value, env)
    where = points.where & ranges(world, points.variables)
    env, names = renamed(world, points.variables)
    where, value = world.substitute(where, env), world.substitute(value, env)
    again, _ = renamed(world, names)
    apart = union(world.compare(Integer.atom(v), "!=", again[v]) for v in names)
    if not world.is_empty(where & world.substitute(where, again) & apart):
        raise why
    return some_points(world, [(names, where)]), reduce(
        world, "sum", names, value, where
    )


def stored_arrays(denotation: Denotation) -> dict[str, StoredArray]:
    """The outputs of a kernel, by name. Raises Unknown where one is lost."""
    if denotation.unknown is not None:
        raise denotation.unknown
    found: dict[str, list[Store]] = {}
    for store in denotation.stores:
        found.setdefault(store.tensor.name, []).append(store)
    world = denotation.world
    return {
        name: StoredArray(world, shape_of(world, stores[0].tensor), tuple(stores))
        for name, stores in found.items()
    }


def shape_of(world: World, tensor: GlobalTensor) -> tuple[Integer, ...]:
    """Extents of a tensor as integers of a world. Raises Unknown."""
    found: list[Integer] = []
    for extent in tensor.shape:
        match extent:
            case Const(value=value):
                found.append(Integer.of(int(value)))
            case Sym(name=name):
                found.append(world.size(name))
            case _:
                raise Unknown(f"the extent {extent} of `{tensor.name}`")
    return tuple(found)
