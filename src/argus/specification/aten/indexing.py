"""Operators of ATen that read and write by tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.array import size_of
from argus.specification.aten.table import aten, in_reals
from argus.specification.broadcasting import axis_of
from argus.specification.creating import arange
from argus.specification.indirect import add_at, extreme_at, take_along_axis
from argus.terms import Unknown


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(x: Any, indices: Any) -> Any:
    """`x[indices]`; None is a whole dimension."""
    return x[tuple(slice(None) if i is None else i for i in indices)]


@aten("index_select")
def index_select(x: Any, dim: int, table: Any) -> Any:
    """Positions of a dimension."""
    return x[(*[slice(None)] * axis_of(dim, x.ndim), table)]


@aten("embedding")
def embedding(weight: Any, table: Any, *_: Any) -> Any:
    """Rows by a table."""
    return weight[table]


@aten("gather")
def gather(x: Any, dim: int, table: Any, **_: Any) -> Any:
    """Elements along a dimension, by a table for each place."""
    axis = axis_of(dim, x.ndim)
    key = [slice(0, n) for n in table.shape]
    key[axis] = slice(None)
    return take_along_axis(x[tuple(key)], table, axis)


@aten("index_put", "_unsafe_index_put")
def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with other elements where tables say; added, or replaced."""
    made = x.copy()
    key = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        add_at(x.tracing, made, key, values)
    else:
        made[key] = values
    return made


def _places(table: Any, dim: int) -> tuple[Any, ...]:
    key: list[Any] = []
    for d in range(table.ndim):
        if d == dim:
            key.append(table)
            continue
        shape = [1] * table.ndim
        shape[d] = -1
        size = size_of(table.tracing, table.sizes[d])
        key.append(arange(table.tracing, size).reshape(shape))
    return tuple(key)


@aten("scatter.src", "scatter.value")
def scatter(x: Any, dim: int, table: Any, source: Any, **_: Any) -> Any:
    """A copy with other elements along a dimension, by a table for each place."""
    made = x.copy()
    made[_places(table, axis_of(dim, x.ndim))] = source
    return made


@aten("scatter_add")
def scatter_add(x: Any, dim: int, table: Any, source: Any) -> Any:
    """Every value is added along a dimension, by a table for each place."""
    made, places = _sent(x, dim, table, source, "scatter_add")
    add_at(x.tracing, made, places, source)
    return made


def _sent(
    x: Any, dim: int, table: Any, source: Any, of: str
) -> tuple[Any, tuple[Any, ...]]:
    """A copy, and where in it each value goes. ``of``: who sends one for each place."""
    for mine, other in zip(table.sizes, source.sizes, strict=True):
        x.tracing.need_equal(mine, other, of)
    return x.copy(), _places(table, axis_of(dim, x.ndim))


@in_reals("scatter_reduce.two")
def scatter_reduce(
    x: Any, dim: int, table: Any, source: Any, reduce: str, *,
    include_self: bool = True,
) -> Any:  # fmt: skip
    """Sums, means or extremes of what is there and what tables send there."""
    if not include_self:
        raise Unknown("the graph has a scatter_reduce without what is there")
    made, places = _sent(x, dim, table, source, "scatter_reduce")
    match reduce:
        case "sum":
            add_at(x.tracing, made, places, source)
        case "mean":
            add_at(x.tracing, made, places, source)
            number = np.ones_like(x)
            add_at(x.tracing, number, places, np.ones_like(source))
            made = made / number
        case "amax" | "amin":
            extreme_at(x.tracing, reduce[1:], made, places, source)
        case _:
            raise Unknown(f"the graph has a scatter_reduce by {reduce}")
    return made
