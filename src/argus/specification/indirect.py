"""Functions by tables: take, take_along_axis, bincount, searchsorted tables, `at`."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.array import INTEGER, REAL, SymbolicArray, size_of
from argus.specification.assigning import scatter_of
from argus.specification.broadcasting import axis_of
from argus.specification.casting import converted, lifted
from argus.specification.creating import arange, filled
from argus.specification.joining import tracing_of
from argus.specification.keys import Gather, items_of
from argus.specification.selecting import unselected
from argus.specification.table import refuse, traces
from argus.specification.tracing import Tracing
from argus.terms import Unknown


@traces(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    """Elements along an axis by their positions."""
    refuse("np.take", out=out)
    array = lifted(tracing_of(a, indices), a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    dim = axis_of(axis, array.ndim)
    if mode != "raise":
        indices = within(lifted(array.tracing, indices), array.shape[dim], mode)
    return array[(*[slice(None)] * dim, indices)]


def within(indices: Any, size: Any, mode: str) -> Any:
    """Indices that numpy takes beside the ends, too: `mode` of np.take, np.choose."""
    if mode == "clip":
        return np.clip(indices, 0, size - 1)
    return indices % size if mode == "wrap" else indices


def _grid(array: SymbolicArray, indices: SymbolicArray, axis: int) -> tuple[Any, ...]:
    """Index arrays of all dimensions: along the axis the table, else the position.

    Positions are those of the array: a table of one row is for all rows.
    """
    if array.ndim != indices.ndim:
        raise Unknown(
            "the reference takes along an axis by a table of other dimensions"
        )
    key: list[Any] = []
    for dim in range(indices.ndim):
        if dim == axis:
            key.append(indices)
            continue
        along = arange(indices.tracing, size_of(indices.tracing, array.sizes[dim]))
        shape = [1] * indices.ndim
        shape[dim] = -1
        key.append(along.reshape(shape))
    return tuple(key)


@traces(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Elements along an axis, by a table for each place."""
    tracing = tracing_of(arr, indices)
    array, table = lifted(tracing, arr), lifted(tracing, indices)
    if axis is None:
        array, axis = array.reshape(-1), 0
    return array[_grid(array, table, axis_of(axis, array.ndim))]


@traces(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int) -> None:
    """Assignment along an axis, by a table for each place."""
    table = lifted(tracing_of(arr, indices), indices)
    arr[_grid(arr, table, axis_of(axis, arr.ndim))] = values


def add_at(tracing: Tracing, array: Any, key: Any, values: Any) -> None:
    """`np.add.at`: every value is added, also where positions are the same."""
    if not isinstance(array, SymbolicArray):
        raise Unknown("the reference adds symbolic values to a plain array")
    key, values, mask = unselected(key, values)
    items = items_of(array, key, mask)
    given = converted(lifted(tracing, values), array.dtype)
    if any(isinstance(i, Gather) for i in items):
        scatter_of(array, items, given, mask).add()
    else:
        array[key] = array[key] + given


def extreme_at(tracing: Tracing, fn: str, array: Any, key: Any, values: Any) -> None:
    """`np.maximum.at`, `np.minimum.at`: an element and all values that are for it."""
    if not isinstance(array, SymbolicArray):
        raise Unknown("the reference compares symbolic values with a plain array")
    key, values, mask = unselected(key, values)
    items = items_of(array, key, mask)
    given = converted(lifted(tracing, values), array.dtype)
    if any(isinstance(i, Gather) for i in items):
        scatter_of(array, items, given, mask).extreme(fn)
    else:
        pick = np.maximum if fn == "max" else np.minimum
        array[key] = pick(array[key], given)


@traces(np.bincount)
def bincount(
    x: SymbolicArray, weights: Any = None, minlength: Any = 0
) -> SymbolicArray:
    """How often each number occurs, or the sum of its weights.

    The result is as long as its least length: larger numbers are assumed not to occur.
    """
    tracing = x.tracing
    if isinstance(minlength, int) and minlength == 0:
        raise Unknown("the reference calls np.bincount without minlength=")
    tracing.assume("what the reference counts by np.bincount is below minlength")
    total = filled(tracing, minlength, 0, INTEGER if weights is None else REAL)
    add_at(tracing, total, x, 1 if weights is None else weights)
    return total
