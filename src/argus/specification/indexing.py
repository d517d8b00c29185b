"""Reading: `X[key]` as an array of its own, or a view where numpy makes one."""

from __future__ import annotations

from typing import Any

from argus.specification.array import SymbolicArray
from argus.specification.broadcasting import broadcast, reader
from argus.specification.cases import Cases, read_by_cases
from argus.specification.keys import (
    Gather,
    Item,
    Mask,
    New,
    Point,
    Range,
    items_of,
)
from argus.specification.storage import Indices, Read
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, Value


def selected(array: SymbolicArray, key: Any) -> Any:
    """`array[key]`.

    Raises Unknown for a mask that does not stand first, or beside others.
    """
    items = items_of(array, key)
    first = items[0] if items else None
    if isinstance(first, Mask) and all(
        isinstance(i, Range) and i.whole for i in items[1:]
    ):
        from argus.specification.selecting import Selected

        return Selected(array.copy(), first.array.copy())
    if any(isinstance(i, Mask) for i in items):
        raise Unknown("the reference selects by a mask: the size depends on data")
    if any(isinstance(i, Gather) for i in items):
        return _gathered(array, items)
    if any(isinstance(i, Point) and not _plain(i) for i in items):
        return _copied(array, items)
    found = viewed(array, items)
    # An element is a number, which stays what it is.
    return found if found.ndim else found.copy()


def _plain(point: Point) -> bool:
    return len(point.at) == 1 and point.at[0][0].is_universe


def sizes_of(items: list[Item]) -> tuple[Integer, ...]:
    """The shape that slices and new dimensions make."""
    found: list[Integer] = []
    for item in items:
        match item:
            case New():
                found.append(Integer.of(1))
            case Range(length=length):
                found.append(length)
            case _:
                continue
    return tuple(found)


def viewed(array: SymbolicArray, items: list[Item]) -> SymbolicArray:
    """Slices, points and new dimensions: a view."""
    world = array.tracing.world

    def way(indices: Indices) -> Indices:
        given = iter(indices)
        found: list[Integer] = []
        for item in items:
            match item:
                case New():
                    next(given)
                case Range(start=start, step=step):
                    found.append(next(given) * step + start)
                case Point(at=at):
                    found.append(at[0][1])
                case _:
                    raise AssertionError(item)
        return tuple(found)

    def back(indices: Indices) -> tuple[IndexSet, Indices]:
        given = iter(indices)
        where = IndexSet.universe
        found: list[Integer] = []
        for item in items:
            match item:
                case New():
                    found.append(Integer.of(0))
                case Point(at=at):
                    where = where & world.compare(next(given), "==", at[0][1])
                case Range():
                    inside, at = inverse(array.tracing, item, next(given))
                    where = where & inside
                    found.append(at)
                case _:
                    raise AssertionError(item)
        return where, tuple(found)

    return array.seen(sizes_of(items), way, back)


def inverse(tracing: Tracing, item: Range, index: Integer) -> tuple[IndexSet, Integer]:
    """Where a position of a dimension lies in a slice of it, and where in that."""
    world = tracing.world
    if item.whole:
        return IndexSet.universe, index
    offset = index - item.start if item.step > 0 else item.start - index
    stride = Integer.of(abs(item.step))
    at = world.quotient(offset, stride)
    where = world.compare(offset, ">=", 0) & world.compare(at, "<", item.length)
    if stride.constant != 1:
        where = where & world.compare(world.remainder(offset, stride), "==", 0)
    return where, at


def _copied(array: SymbolicArray, items: list[Item]) -> SymbolicArray:
    """Points that differ by cases: a copy, as elements of tables are."""
    read, world = array.now(), array.tracing.world

    def at(indices: Indices) -> Value:
        given = iter(indices)
        found: list[Cases] = []
        for item in items:
            match item:
                case New():
                    next(given)
                case Range(start=start, step=step):
                    found.append(((IndexSet.universe, next(given) * step + start),))
                case Point(at=cases):
                    found.append(cases)
                case _:
                    raise AssertionError(item)
        return read_by_cases(world, read, found)

    return SymbolicArray(array.tracing, sizes_of(items), array.dtype, at)


def gather_shape(
    tracing: Tracing, items: list[Item]
) -> tuple[tuple[Integer, ...], tuple[Integer, ...], int]:
    """The whole shape, that of the index arrays, and where these dimensions stand.

    They stand where the arrays do; first, where arrays and points are not together.
    """
    arrays = [i.array for i in items if isinstance(i, Gather)]
    inner = broadcast(tracing, [a.sizes for a in arrays], "an index")
    at = [n for n, i in enumerate(items) if isinstance(i, Gather | Point)]
    together = at == list(range(at[0], at[-1] + 1))
    before = sizes_of(items[: at[0]]) if together else ()
    after = sizes_of(items[at[0] :] if together else items)
    return (*before, *inner, *after), inner, len(before)


def _gathered(array: SymbolicArray, items: list[Item]) -> SymbolicArray:
    tracing = array.tracing
    world, read = tracing.world, array.now()
    shape, inner, place = gather_shape(tracing, items)
    readers: dict[int, Read] = {
        n: reader(i.array) for n, i in enumerate(items) if isinstance(i, Gather)
    }

    def at(indices: Indices) -> Value:
        mine = indices[place : place + len(inner)]
        given = iter((*indices[:place], *indices[place + len(inner) :]))
        found: list[Cases] = []
        for n, item in enumerate(items):
            match item:
                case New():
                    next(given)
                case Range(start=start, step=step):
                    found.append(((IndexSet.universe, next(given) * step + start),))
                case Point(at=cases):
                    found.append(cases)
                case Gather():
                    found.append(item.at(tracing, readers[n](mine)))
                case Mask():
                    raise AssertionError(item)
        return read_by_cases(world, read, found)

    return SymbolicArray(tracing, shape, array.dtype, at)
