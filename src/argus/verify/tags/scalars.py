"""Numbers that are read from tensors one by one, ``x * S[m]``: they have a place.

A scalar that a loop adds up, ``t = t + X[m, n]``, is a sum like that of a tile: over
the coordinates that change from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.expr import Expr, Sym, symbols
from argus.ir.memory import GlobalTensor
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import (
    AbstractValue,
    Coord,
    CoordinateRange,
    Flaw,
    ReducedDimension,
    Shape,
    Tag,
    uniform,
)
from argus.verify.tags.world import LoadedScalar, OpaqueScalar, TagWorld, Total

__all__ = ["scalar_of_tensors"]

_Loops = tuple[tuple[Sym, Expr], ...]


def scalar_of_tensors(state: WalkState, value: Expr, shape: Shape) -> AbstractValue:
    """A uniform number as a tile: the coordinates of the elements it is made of.

    Where it is made of several elements that differ in a coordinate, that one is not
    its own.
    """
    world = state.world
    tensors = {p.name: p for p in world.program.params if isinstance(p, GlobalTensor)}
    found: dict[str, Coord] = {}
    sums: dict[str, tuple[ReducedDimension, ...]] = {}
    several: set[str] = set()
    extents: dict[str, Expr] = {}
    for element, loops in _elements(world, value, ()):
        tensor = tensors[element.tensor]
        for name, at, extent in zip(
            tensor.dims, element.coords, tensor.shape, strict=True
        ):
            extents[name] = state.close(extent)
            if any(world.depends(at, index) for index, _ in loops):
                made = ReducedDimension(extents[name], (CoordinateRange(at, 1, loops),))
                sums[name] = _with(sums.get(name), made)
                continue
            known = found.setdefault(name, uniform(at, shape))
            if state.scope.difference(known.base, at) != 0:
                several.add(name)
    tags: dict[str, Tag] = {
        n: t for n, t in found.items() if n not in several and n not in sums
    }
    return AbstractValue(
        shape, tags, sums=sums, extents={n: extents[n] for n in (*tags, *sums)}
    )


def _with(
    before: tuple[ReducedDimension, ...] | None, made: ReducedDimension
) -> tuple[ReducedDimension, ...]:
    """The sum of what two factors of one term have seen: the same, or not known."""
    if before is None or before[0].terms == made.terms:
        return (made,)
    flaw = Flaw("a scalar is added up from elements at different places", False)
    return (ReducedDimension(made.extent, made.terms, flaw=flaw),)


def _elements(
    world: TagWorld, value: Expr, loops: _Loops
) -> Iterator[tuple[LoadedScalar, _Loops]]:
    """Elements that a number is made of, with the sums that they are in."""
    for s in symbols(value):
        match world.meanings.get(s.name):
            case LoadedScalar(type="float") as element:
                yield element, loops
            case Total(delta=delta, index=index, upto=upto):
                yield from _elements(world, delta, ((index, upto), *loops))
            case LoadedScalar() | OpaqueScalar() | None:
                pass
