"""What an output is to which blocks add: what it held, and everything that is added.

In real arithmetic the order of additions makes no difference. Each point of a store's
set adds once, so that the element is a sum over those points that are its own. So it is
with maxima and minima: their order makes no difference to any numbers.
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
    kinds = {store.atomic for store in stores}
    if len(kinds) > 1 or None in kinds:
        raise Unknown("an output that is changed in several ways", stores[-1].span)
    for store in stores:
        own: IndexSet = store.where
        for coord, position in zip(store.coords, at, strict=True):
            own = own & world.compare(coord, "==", position)
        value = cast(world, store.value, "real")
        if store.atomic == "add":
            added = reduce(world, "sum", store.variables, value, own)
            found = apply(world, "add", found, added)
        else:
            fn = store.atomic or ""
            most = reduce(world, fn, store.variables, value, own)
            found = apply(world, {"max": "maximum", "min": "minimum"}[fn], found, most)
    return found
