"""Writing: `X[key] = value` gives an array other elements.

Slices, points and masks of the whole array say for each element whether it is written
and by what. Index arrays are solved for the position in them where they are affine.
Where they are tables, the entries are assumed to be different (numpy keeps the last of
several writers, a kernel any): then the written element is a sum with one summand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from argus.specification import ragged
from argus.specification.array import SymbolicArray, positions
from argus.specification.broadcasting import expanded, reader
from argus.specification.cases import as_kind, chosen
from argus.specification.casting import converted, lifted
from argus.specification.indexing import (
    gather_shape,
    inverse,
    sizes_of,
    viewed,
)
from argus.specification.keys import (
    Gather,
    Item,
    Mask,
    New,
    Point,
    Range,
    items_of,
    used,
)
from argus.specification.scattering import Equation, Scatter
from argus.specification.selecting import Selected, of_selected, unselected
from argus.specification.storage import Indices
from argus.terms import IndexSet, Integer, Unknown, Value


def assigned(array: SymbolicArray, key: Any, value: Any) -> None:
    """`array[key] = value`, in the base of a view, too.

    Raises Unknown for keys that are not traced.
    """
    tracing = array.tracing
    key, value, mask = unselected(key, value)
    items = items_of(array, key, mask)
    if any(isinstance(i, Mask) for i in items):
        _masked(array, items, value)
        return
    given = converted(lifted(tracing, value), array.dtype)
    if any(isinstance(i, Gather) for i in items):
        scatter = scatter_of(array, items, given, mask)
        scatter.require_different()
        scatter.replace()
    elif any(isinstance(i, Point) and len(i.at) > 1 for i in items):
        raise Unknown("the reference assigns to a position that differs by cases")
    else:
        ragged.note(tracing, items)
        target = viewed(array, [_unconditional(i) for i in items])
        target.assign(expanded(_squeezed(given, target), target.sizes, "=").now())


def _unconditional(item: Item) -> Item:
    """A point of data is assumed to be a position, which its case says."""
    if isinstance(item, Point):
        return Point(item.size, ((IndexSet.universe, item.at[0][1]),))
    return item


def _squeezed(value: SymbolicArray, target: SymbolicArray) -> SymbolicArray:
    """Without leading dimensions of size 1 that the target lacks, as numpy allows."""
    while value.ndim > target.ndim and value.sizes[0].constant == 1:
        value = value[0]
    return value


def _masked(array: SymbolicArray, items: list[Item], value: Any) -> None:
    """`array[mask] = number`: the mask covers leading dimensions.

    `array[mask] = other[mask]`, too: each element is that of the other array.
    """
    tracing = array.tracing
    first, *rest = items
    if not isinstance(first, Mask) or not all(
        isinstance(i, Range) and i.whole for i in rest
    ):
        raise Unknown("the reference assigns by a mask beside other indices")
    mask, count = first.array.now(), len(first.sizes)
    begin = count
    if isinstance(value, Selected):
        value, begin = of_selected(first.array, value), 0
    given = converted(lifted(tracing, value), array.dtype)
    if given.ndim > array.ndim - begin:
        raise Unknown(
            "the reference assigns an array by a mask: which, depends on data"
        )
    new = reader(expanded(given, array.sizes[begin:], "= by a mask"))
    old = array.now()

    def read(indices: Indices) -> Value:
        where = as_kind(tracing.world, mask(indices[:count]), "truth").where
        then, otherwise = partial(new, indices[begin:]), partial(old, indices)
        return chosen(tracing.world, where, then, otherwise)

    array.assign(read)


@dataclass(frozen=True)
class _Written:
    """Where an element of the array comes from in the assigned value."""

    where: IndexSet
    before: Indices
    after: Indices
    targets: tuple[Integer, ...]


def scatter_of(
    array: SymbolicArray,
    items: list[Item],
    value: SymbolicArray,
    mask: SymbolicArray | None = None,
) -> Scatter:
    """What index arrays say: which positions in them name an element.

    ``mask``: of the positions that have it. Raises Unknown for keys that have new
    dimensions or points of data beside them.
    """
    tracing = array.tracing
    if any(isinstance(i, New | Mask) for i in items):
        raise Unknown("the reference assigns by index arrays and new dimensions")
    shape, inner, place = gather_shape(tracing, items)
    spread = reader(expanded(value, shape, "= by an index"))
    variables = positions(tracing, inner, "p")
    wanted: list[tuple[int, Integer, IndexSet]] = []
    for dim, item in enumerate(items):
        match item:
            case Gather():
                cases = item.at(tracing, reader(item.array)(variables))
                cases = used(tracing, cases, mask, variables)
            case Point(at=at):
                cases = at
            case _:
                continue
        if len(cases) != 1:
            raise Unknown("the reference assigns to positions that differ by cases")
        wanted.append((dim, cases[0][1], cases[0][0]))
    slices = [(dim, item) for dim, item in enumerate(items) if isinstance(item, Range)]
    count = len(sizes_of(items[: wanted[0][0]])) if place else 0

    def equations(indices: Indices) -> Equation:
        where = IndexSet.universe
        inside: list[Integer] = []
        for dim, item in slices:
            mine, at = inverse(tracing, item, indices[dim])
            where = where & mine
            inside.append(at)
        pairs = tuple((entry, indices[dim]) for dim, entry, _ in wanted)
        for _, _, condition in wanted:
            where = where & condition
        return Equation(where, pairs, (*inside[:count], *variables, *inside[count:]))

    return Scatter(array, variables, inner, equations, spread)
