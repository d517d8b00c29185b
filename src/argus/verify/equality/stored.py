"""The outputs of a kernel as functions of a position: a kernel as a specification.

A position is written as its digits: of `64*i + a` with a below 64, `i` is the quotient
by 64 and `a` the remainder. That the rest of a coordinate is always below the factor
makes the digits the only ones, and the element the only one that is stored there.
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
    union,
)
from argus.verify.denotation import Denotation, Store
from argus.verify.denotation.cases import free_variables
from argus.verify.equality.additions import total
from argus.verify.equality.coverage import digits, initial
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
            where, env = digits(self.world, store, indices)
            value = self.world.substitute(store.value, env)
            if any(v in store.variables for v in free_variables(value)):
                raise Unknown("a value that its position does not determine")
            taken = union(w for w, _ in parts)
            if not self.world.is_empty(where & taken):
                raise Unknown("an element that two statements store", store.span)
            parts.append((where, value))
        return joined(self.world, parts)


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
