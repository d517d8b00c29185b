"""Arrays put together and repeated: concatenate, stack, pad, repeat, tile, where."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray, kind_of
from argus.specification.broadcasting import axis_of
from argus.specification.cases import chosen, joined, needed, read_by_cases
from argus.specification.casting import converted, lifted
from argus.specification.reordering import ravel
from argus.specification.reshaping import integer_of, reshape
from argus.specification.sequences import (
    Repeated,
    concatenated_repeated,
    stacked_each,
    unwrapped,
)
from argus.specification.storage import Indices, Read
from argus.specification.table import flattened, refuse, traces
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, Value


def tracing_of(*values: Any) -> Tracing:
    """The trace of the first symbolic array among arguments."""
    for value in flattened(list(values)):
        if isinstance(value, SymbolicArray | Repeated):
            return value.tracing
    raise Unknown("no symbolic array among the arguments")


def common_type(arrays: Sequence[SymbolicArray]) -> np.dtype[Any]:
    """The type that numpy gives arrays of several types."""
    return np.result_type(*(a.dtype for a in arrays))


def parts_of(arrays: Any) -> list[SymbolicArray]:
    """The arrays of a sequence, of one element type."""
    given = list(arrays)
    tracing = tracing_of(given)
    lifted_ones = [lifted(tracing, a) for a in given]
    dtype = common_type(lifted_ones)
    return [converted(a, dtype) for a in lifted_ones]


@traces(np.concatenate)
def concatenate(arrays: Any, axis: int | None = 0, **named: Any) -> SymbolicArray:
    """One after the other along an axis."""
    refuse("np.concatenate", **named)
    arrays = unwrapped(arrays)
    if isinstance(arrays, Repeated):
        return concatenated_repeated(arrays, axis)
    parts = parts_of(arrays)
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    rank = parts[0].ndim
    if any(p.ndim != rank for p in parts):
        raise Unknown("the reference fails: arrays of several ranks in one row")
    dim, tracing = axis_of(axis, rank), parts[0].tracing
    for part in parts[1:]:
        for other in range(rank):
            if other != dim:
                mine = parts[0].sizes[other]
                tracing.need_equal(mine, part.sizes[other], "concatenate")
    ends: list[Integer] = []
    total = Integer.of(0)
    for part in parts:
        total = total + part.sizes[dim]
        ends.append(total)
    reads, world = [p.now() for p in parts], tracing.world

    def read(indices: Indices) -> Value:
        found: list[tuple[IndexSet, Value]] = []
        begin = Integer.of(0)
        for part, end in zip(reads, ends, strict=True):
            where = world.compare(indices[dim], ">=", begin) & world.compare(
                indices[dim], "<", end
            )
            if not tracing.never(where):
                own = (*indices[:dim], indices[dim] - begin, *indices[dim + 1 :])
                if tracing.holds(where):
                    return part(own)
                found.append((where, needed(world, where, partial(part, own))))
            begin = end
        if not found:
            raise Unknown("the reference reads outside of joined arrays")
        return joined(world, found)

    sizes = (*parts[0].sizes[:dim], total, *parts[0].sizes[dim + 1 :])
    return SymbolicArray(tracing, sizes, parts[0].dtype, read)


def stacked(parts: Sequence[SymbolicArray], axis: int) -> SymbolicArray:
    """Arrays of one shape along a new axis."""
    return stack(list(parts), axis)


@traces(np.block)
def block(arrays: Any) -> Any:
    """Nested lists of arrays side by side: the innermost ones along the last axis."""
    depth, inner = 0, unwrapped(arrays)
    while isinstance(inner, list):
        depth, inner = depth + 1, unwrapped(cast(list[Any], inner)[0])
    tracing = tracing_of(arrays)
    parts = [lifted(tracing, part) for part in flattened(arrays)]
    rank = max(depth, *(part.ndim for part in parts))

    def made(given: Any, left: int) -> SymbolicArray:
        given = unwrapped(given)
        if isinstance(given, list) is not (left > 0):
            raise Unknown("the reference calls np.block of lists of several depths")
        if left:
            several: list[Any] = list(given)
            return concatenate([made(part, left - 1) for part in several], -left)
        part = lifted(tracing, given)
        return reshape(part, (1,) * (rank - part.ndim) + part.shape)

    return made(arrays, depth)


@traces(np.stack)
def stack(arrays: Any, axis: int = 0, **named: Any) -> SymbolicArray:
    """Along a new axis."""
    refuse("np.stack", **named)
    arrays = unwrapped(arrays)
    if isinstance(arrays, Repeated):
        return stacked_each(arrays, axis)
    parts = parts_of(arrays)
    dim = axis_of(axis, parts[0].ndim + 1)
    key = (*[slice(None)] * dim, None)
    return concatenate([p[key] for p in parts], dim)


@traces(np.vstack)
def vstack(tup: Any, **_: Any) -> SymbolicArray:
    """Along the first dimension; vectors are rows."""
    parts = [p if p.ndim > 1 else p.reshape(1, -1) for p in parts_of(tup)]
    return concatenate(parts, 0)


@traces(np.hstack)
def hstack(tup: Any, **_: Any) -> SymbolicArray:
    """Along the second dimension; vectors one after the other."""
    parts = parts_of(tup)
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@traces(np.column_stack)
def column_stack(tup: Any) -> SymbolicArray:
    """Along the second dimension; vectors are columns."""
    return concatenate([p if p.ndim > 1 else p[:, None] for p in parts_of(tup)], 1)


@traces(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> SymbolicArray:
    """One array after another."""
    return concatenate([arr, values], axis)


@traces(np.repeat)
def repeat(a: SymbolicArray, repeats: Any, axis: int | None = None) -> SymbolicArray:
    """Each element several times in a row."""
    if axis is None:
        a, axis = ravel(a), 0
    tracing, dim = a.tracing, axis_of(axis, a.ndim)
    times = integer_of(tracing, repeats)
    read, world = a.now(), tracing.world

    def at(indices: Indices) -> Value:
        inner = world.quotient(indices[dim], times)
        return read((*indices[:dim], inner, *indices[dim + 1 :]))

    sizes = (*a.sizes[:dim], a.sizes[dim] * times, *a.sizes[dim + 1 :])
    return SymbolicArray(tracing, _simpler(tracing, sizes), a.dtype, at)


def _simpler(tracing: Tracing, sizes: tuple[Integer, ...]) -> tuple[Integer, ...]:
    """`G * (H // G)` is `H` where a launch guarantees that G divides H."""
    known = {tracing.world.quotient(n, d) * d: n for d, n in tracing.world.divisors}
    return tuple(known.get(n, n) for n in sizes)


@traces(np.tile)
def tile(A: SymbolicArray, reps: Any) -> SymbolicArray:  # noqa: N803 - numpy's name
    """The whole array several times."""
    tracing = A.tracing
    given = list(cast(Any, reps)) if isinstance(reps, list | tuple) else [reps]
    times = [integer_of(tracing, n) for n in given]
    rank = max(len(times), A.ndim)
    array = reshape(A, (*[1] * (rank - A.ndim), *A.shape))
    times = [Integer.of(1)] * (rank - len(times)) + times
    read, world = array.now(), tracing.world

    def at(indices: Indices) -> Value:
        return read(
            tuple(
                i if t.constant == 1 else world.remainder(i, n)
                for i, t, n in zip(indices, times, array.sizes, strict=True)
            )
        )

    sizes = tuple(t * n for t, n in zip(times, array.sizes, strict=True))
    return SymbolicArray(tracing, sizes, A.dtype, at)


@traces(np.roll)
def roll(a: SymbolicArray, shift: Any, axis: Any = None) -> SymbolicArray:
    """Elements moved along an axis; what leaves at one end enters at the other."""
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    tracing = a.tracing
    axes = _several(axis, 1)
    given = _several(shift, len(axes))
    steps = [
        (axis_of(int(d), a.ndim), integer_of(tracing, s))
        for d, s in zip(axes, given, strict=True)
    ]
    read, world = a.now(), tracing.world

    def at(indices: Indices) -> Value:
        cases = [((IndexSet.universe, i),) for i in indices]
        for dim, step in steps:
            size, index = a.sizes[dim], cases[dim][0][1]
            cases[dim] = ((IndexSet.universe, world.remainder(index - step, size)),)
        return read_by_cases(world, read, cases)

    return SymbolicArray(tracing, a.sizes, a.dtype, at)


def _several(value: Any, count: int) -> list[Any]:
    """One option for each of several axes."""
    if isinstance(value, tuple | list):
        return list(cast(list[Any], value))
    return [value] * count


def _sections(array: SymbolicArray, given: Any, axis: int) -> list[SymbolicArray]:
    tracing, dim = array.tracing, axis_of(axis, array.ndim)
    size = array.sizes[dim]
    if isinstance(given, int):
        length = tracing.world.quotient(size, Integer.of(given))
        tracing.need_equal(length * given, size, "split")
        bounds = [length * n for n in range(given + 1)]
    else:
        inner = [integer_of(tracing, b) for b in given]
        bounds = [Integer.of(0), *inner, size]
    from argus.specification.array import size_of

    marks = [size_of(tracing, b) for b in bounds]
    key = [slice(None)] * dim
    return [array[(*key, slice(a, b))] for a, b in itertools.pairwise(marks)]


@traces(np.split)
def split(
    ary: SymbolicArray, indices_or_sections: Any, axis: int = 0
) -> list[SymbolicArray]:
    """Parts of equal length, or between given bounds."""
    return _sections(ary, indices_or_sections, axis)


@traces(np.array_split)
def array_split(
    ary: SymbolicArray, indices_or_sections: Any, axis: int = 0
) -> list[SymbolicArray]:
    """Like `split`; parts of unequal length are not traced."""
    return _sections(ary, indices_or_sections, axis)


@traces(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> SymbolicArray:
    """One of two arrays, element by element."""
    if x is None or y is None:
        raise Unknown("the reference calls np.where with one argument")
    from argus.specification.broadcasting import broadcast, reader
    from argus.specification.cases import as_kind
    from argus.specification.ufuncs import types_of

    tracing = tracing_of(condition, x, y)
    test, a, b = (lifted(tracing, v) for v in (condition, x, y))
    dtype = a.dtype if a.dtype == b.dtype else types_of(np.maximum, (a, b))[-1]
    kind = kind_of(dtype)
    if kind == "integer":  # a number of Python gives way, and wraps
        a, b = converted(a, dtype), converted(b, dtype)
    shape = broadcast(tracing, [test.sizes, a.sizes, b.sizes], "np.where")
    reads: list[Read] = [reader(v) for v in (test, a, b)]
    world = tracing.world

    def value(read: Read, indices: Indices) -> Value:
        return as_kind(world, read(indices), kind)

    def at(indices: Indices) -> Value:
        held = as_kind(world, reads[0](indices), "truth").where
        then, other = (partial(value, read, indices) for read in reads[1:])
        return chosen(world, held, then, other)

    return SymbolicArray(tracing, shape, dtype, at)


@traces(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """That of several arrays of which the condition is the first that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise Unknown("the reference calls np.select with lists that do not match")
    tracing = tracing_of(*condlist, *choicelist, default)
    found = default
    pairs = zip(condlist, choicelist, strict=True)
    for condition, choice in reversed(list(pairs)):
        test = lifted(tracing, condition)
        if kind_of(test.dtype) != "truth":
            raise Unknown("the reference calls np.select with what is no condition")
        found = where(test, choice, found)
    return found
