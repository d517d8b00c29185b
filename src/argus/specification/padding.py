"""`np.pad`: a border of a constant, or of elements of the array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.broadcasting import axis_of
from argus.specification.cases import chosen
from argus.specification.casting import converted, lifted
from argus.specification.reshaping import integer_of
from argus.specification.storage import Indices
from argus.specification.table import refuse, traces
from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, Value


@traces(np.pad)
def pad(
    array: SymbolicArray, pad_width: Any, mode: Any = "constant", **named: Any
) -> SymbolicArray:
    """A border: constant, the edge repeated, or made of the array itself."""
    tracing = array.tracing
    fill = named.pop("constant_values", 0)
    refuse("np.pad", **named)
    widths = _widths(tracing, pad_width, array.ndim)
    if mode not in ("constant", "edge", *_FOLDED):
        raise Unknown(f"the reference calls np.pad with mode={mode}")
    if mode in _FOLDED:
        return _folded(array, widths, mode)
    border = converted(lifted(tracing, fill), array.dtype)
    if border.ndim:
        raise Unknown("the reference calls np.pad with several constants")
    read, world, outside = array.now(), tracing.world, border.at(())

    def edge(indices: Indices) -> Value:
        at = (
            world.maximum(world.minimum(i - low, n - 1), Integer.of(0))
            for i, (low, _), n in zip(indices, widths, array.sizes, strict=True)
        )
        return read(tuple(at))

    def constant(indices: Indices) -> Value:
        where = IndexSet.universe
        inner: list[Integer] = []
        for index, (low, high), size in zip(indices, widths, array.sizes, strict=True):
            if low.constant != 0:
                where = where & world.compare(index, ">=", low)
            if high.constant != 0:
                where = where & world.compare(index, "<", low + size)
            inner.append(index - low)
        return chosen(world, where, partial(read, tuple(inner)), lambda: outside)

    sizes = tuple(a + n + b for (a, b), n in zip(widths, array.sizes, strict=True))
    return SymbolicArray(
        tracing, sizes, array.dtype, edge if mode == "edge" else constant
    )


_FOLDED = {"reflect": 1, "symmetric": 0, "wrap": 0}
"""How many elements less than all a border has at most, so that it is one copy."""


def _folded(
    array: SymbolicArray, widths: Sequence[tuple[Integer, Integer]], mode: str
) -> SymbolicArray:
    """A border of elements of the array: mirrored, or from its other end."""
    tracing, read = array.tracing, array.now()
    world = tracing.world
    for pair, n in zip(widths, array.sizes, strict=True):
        for width in pair:
            if width.constant != 0:
                fits = world.compare(width, "<=", n - _FOLDED[mode])
                why = f"{width} <= {n - _FOLDED[mode]} (np.pad)"
                tracing.need(fits, why, shape=True)

    def at(indices: Indices, dim: int) -> Value:
        if dim == array.ndim:
            return read(indices)
        (low, high), n = widths[dim], array.sizes[dim]
        place = indices[dim] - low

        def with_place(index: Integer) -> Value:
            return at((*indices[:dim], index, *indices[dim + 1 :]), dim + 1)

        before, after = {
            "reflect": (-place, n * 2 - 2 - place),
            "symmetric": (-place - 1, n * 2 - 1 - place),
            "wrap": (place + n, place - n),
        }[mode]
        value = with_place(place)
        if low.constant != 0:
            begun = world.compare(place, ">=", 0)
            value = chosen(
                world, begun, lambda old=value: old, partial(with_place, before)
            )
        if high.constant != 0:
            ended = world.compare(place, ">=", n)
            value = chosen(
                world, ended, partial(with_place, after), lambda old=value: old
            )
        return value

    sizes = tuple(a + n + b for (a, b), n in zip(widths, array.sizes, strict=True))
    return SymbolicArray(tracing, sizes, array.dtype, lambda indices: at(indices, 0))


def _widths(tracing: Tracing, given: Any, rank: int) -> list[tuple[Integer, Integer]]:
    """Widths of a border as numpy takes them: (before, after) for each dimension."""
    if isinstance(given, dict):
        by_axis = {
            axis_of(int(k), rank): v for k, v in cast(dict[Any, Any], given).items()
        }
        rows: list[Any] = [by_axis.get(d, 0) for d in range(rank)]
    elif not isinstance(given, list | tuple | np.ndarray):
        rows = [given] * rank
    else:
        rows = list(cast(Any, given))
        if not any(isinstance(r, list | tuple | np.ndarray) for r in rows):
            rows = [rows] * rank
        elif len(rows) == 1:
            rows = rows * rank
    found: list[tuple[Integer, Integer]] = []
    for row in rows:
        both = list(cast(Any, row)) if isinstance(row, list | tuple) else [row]
        before, after = both if len(both) == 2 else (both[0], both[0])
        found.append((integer_of(tracing, before), integer_of(tracing, after)))
    if len(found) != rank:
        raise Unknown("the reference fails: widths of np.pad for other dimensions")
    for width in (w for pair in found for w in pair):
        positive = tracing.world.compare(width, ">=", 0)
        tracing.need(positive, f"{width} >= 0 (np.pad)", shape=True)
    return found
