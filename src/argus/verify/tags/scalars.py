"""Numbers that are read from tensors one by one, ``x * S[m]``: they have a place."""

from __future__ import annotations

from argus.ir.expr import Expr
from argus.ir.memory import GlobalTensor
from argus.verify.tags.state import State
from argus.verify.tags.values import Coord, Shape, Tag, Value, uniform
from argus.verify.tags.world import Element

__all__ = ["scalar_of_tensors"]


def scalar_of_tensors(state: State, value: Expr, shape: Shape) -> Value:
    """A uniform number as a tile: the coordinates of the elements it is made of.

    Where it is made of several elements that differ in a coordinate, that one is not
    its own.
    """
    world = state.world
    tensors = {p.name: p for p in world.program.params if isinstance(p, GlobalTensor)}
    found: dict[str, Coord] = {}
    several: set[str] = set()
    extents: dict[str, Expr] = {}
    for s in world.all_symbols(value):
        element = world.meanings.get(s.name)
        if not isinstance(element, Element) or element.type != "float":
            continue
        tensor = tensors[element.tensor]
        for name, at, extent in zip(
            tensor.dims, element.coords, tensor.shape, strict=True
        ):
            extents[name] = state.close(extent)
            known = found.setdefault(name, uniform(at, shape))
            if state.scope.difference(known.base, at) != 0:
                several.add(name)
    tags: dict[str, Tag] = {n: t for n, t in found.items() if n not in several}
    return Value(shape, tags, extents={n: extents[n] for n in tags})
