"""What an output is to which blocks add: what it held, and everything that is added.

In real arithmetic the order of additions makes no difference. Each point of a store's
set adds once, so that the element is a sum over those points that are its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import IndexSet, Integer, Unknown, Value, World, apply, cast, reduce
from argus.verify.denotation import Store

__all__ = ["total"]


def total(
    world: World, stores: Sequence[Store], at: Sequence[Integer], before: Value
) -> Value:
    """The element at a position after the launch. Raises Unknown.

    ``before``: what it held.
    """
    found = cast(world, before, "real")
    for store in stores:
        if store.atomic != "add":
            raise Unknown("an output that is stored and added to", store.span)
        own: IndexSet = store.where
        for coord, position in zip(store.coords, at, strict=True):
            own = own & world.compare(coord, "==", position)
        added = cast(world, store.value, "real")
        found = apply(
            world, "add", found, reduce(world, "sum", store.variables, added, own)
        )
    return found
