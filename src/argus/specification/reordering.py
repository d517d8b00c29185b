"""Views that move dimensions or walk them another way."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.broadcasting import axes_of, axis_of, expanded
from argus.specification.casting import lifted
from argus.specification.reshaping import reshape, shape_of
from argus.specification.storage import Indices
from argus.specification.table import call, refuse, traces
from argus.terms import IndexSet, Integer, Unknown

__all__ = ["broadcast_to", "ravel", "swapaxes"]


@traces(np.ravel)
def ravel(array: SymbolicArray, order: Any = "C") -> SymbolicArray:
    """One dimension."""
    return reshape(array, -1, order)


@traces(np.transpose, np.permute_dims if hasattr(np, "permute_dims") else np.transpose)
def transpose(array: SymbolicArray, axes: Any = None) -> SymbolicArray:
    """Dimensions in another order; reversed where none is said."""
    rank = array.ndim
    order = tuple(reversed(range(rank))) if axes is None else axes_of(axes, rank)
    if sorted(order) != list(range(rank)):
        raise Unknown(f"the reference fails: axes {order} of {rank} dimensions")

    def way(indices: Indices) -> Indices:
        return tuple(indices[order.index(d)] for d in range(rank))

    def back(indices: Indices) -> tuple[IndexSet, Indices]:
        return IndexSet.universe, tuple(indices[d] for d in order)

    return array.seen(tuple(array.sizes[d] for d in order), way, back)


@traces(np.swapaxes)
def swapaxes(array: SymbolicArray, axis1: int, axis2: int) -> SymbolicArray:
    """Two dimensions exchanged."""
    order = list(range(array.ndim))
    a, b = axis_of(axis1, array.ndim), axis_of(axis2, array.ndim)
    order[a], order[b] = order[b], order[a]
    return transpose(array, order)


if hasattr(np, "matrix_transpose"):

    @traces(np.matrix_transpose)
    def matrix_transpose(x: SymbolicArray) -> SymbolicArray:
        """The last two dimensions exchanged."""
        return swapaxes(x, -1, -2)


@traces(np.moveaxis)
def moveaxis(array: SymbolicArray, source: Any, destination: Any) -> SymbolicArray:
    """Dimensions taken out and put in at other places."""
    rank = array.ndim
    out, into = axes_of(source, rank), axes_of(destination, rank)
    order = [d for d in range(rank) if d not in out]
    for at, dim in sorted(zip(into, out, strict=True)):
        order.insert(at, dim)
    return transpose(array, order)


@traces(np.rollaxis)
def rollaxis(array: SymbolicArray, axis: int, start: int = 0) -> SymbolicArray:
    """One dimension moved before another."""
    dim = axis_of(axis, array.ndim)
    at = start + array.ndim if start < 0 else start
    return moveaxis(array, dim, at - 1 if dim < at else at)


@traces(np.expand_dims)
def expand_dims(a: SymbolicArray, axis: Any) -> SymbolicArray:
    """New dimensions of size 1."""
    given = tuple(cast(Any, axis)) if isinstance(axis, tuple | list) else (axis,)
    axes = axes_of(given, a.ndim + len(given))
    rank = a.ndim + len(axes)
    return a[tuple(None if d in axes else slice(None) for d in range(rank))]


@traces(np.squeeze)
def squeeze(a: SymbolicArray, axis: Any = None) -> SymbolicArray:
    """Without dimensions of size 1."""
    if axis is None:
        axes = tuple(d for d, n in enumerate(a.sizes) if n.constant == 1)
    else:
        axes = axes_of(axis, a.ndim)
    for dim in axes:
        a.tracing.need_equal(a.sizes[dim], Integer.of(1), "squeeze")
    return a[tuple(0 if d in axes else slice(None) for d in range(a.ndim))]


@traces(np.broadcast_to)
def broadcast_to(
    array: SymbolicArray, shape: Any, subok: bool = False
) -> SymbolicArray:
    """Repeated along dimensions of size 1, and new ones."""
    return expanded(array, shape_of(array.tracing, shape), "broadcast_to")


@traces(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> list[SymbolicArray]:
    """All of one shape."""
    from argus.specification.broadcasting import broadcast

    tracing = next(a.tracing for a in args if isinstance(a, SymbolicArray))
    arrays = [lifted(tracing, a) for a in args]
    shape = broadcast(tracing, [a.sizes for a in arrays], "broadcast_arrays")
    return [expanded(a, shape, "broadcast_arrays") for a in arrays]


@traces(np.atleast_1d)
def atleast_1d(*arys: SymbolicArray) -> Any:
    """At least one dimension."""
    found = [a if a.ndim else a[None] for a in arys]
    return found[0] if len(found) == 1 else tuple(found)


@traces(np.atleast_2d)
def atleast_2d(*arys: SymbolicArray) -> Any:
    """At least two dimensions."""
    found = [a if a.ndim > 1 else atleast_1d(a)[None, :] for a in arys]
    return found[0] if len(found) == 1 else tuple(found)


@traces(np.flip)
def flip(m: SymbolicArray, axis: Any = None) -> SymbolicArray:
    """Dimensions read backwards."""
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1 if d in axes else 1) for d in range(m.ndim))]


@traces(np.rot90)
def rot90(m: SymbolicArray, k: int = 1, axes: Any = (0, 1)) -> SymbolicArray:
    """A plane turned from its first dimension to its second, k times by 90 degrees."""
    first, second = (axis_of(axis, m.ndim) for axis in axes)
    for _ in range(k % 4):
        m = swapaxes(flip(m, second), first, second)
    return m


@traces(np.fliplr)
def fliplr(m: SymbolicArray) -> SymbolicArray:
    """The second dimension read backwards."""
    return flip(m, 1)


@traces(np.flipud)
def flipud(m: SymbolicArray) -> SymbolicArray:
    """The first dimension read backwards."""
    return flip(m, 0)


@traces(np.diagonal)
def diagonal(
    a: SymbolicArray, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> SymbolicArray:
    """Elements whose positions in two dimensions are the same; last in the result."""
    tracing, rank = a.tracing, a.ndim
    first, second = axis_of(axis1, rank), axis_of(axis2, rank)
    rest = [d for d in range(rank) if d not in (first, second)]
    down, right = max(-offset, 0), max(offset, 0)
    length = tracing.world.minimum(a.sizes[first] - down, a.sizes[second] - right)
    length = tracing.world.maximum(length, Integer.of(0))

    def way(indices: Indices) -> Indices:
        found: dict[int, Integer] = dict(zip(rest, indices[:-1], strict=True))
        found |= {first: indices[-1] + down, second: indices[-1] + right}
        return tuple(found[d] for d in range(rank))

    return a.seen((*(a.sizes[d] for d in rest), length), way, None)


@traces(np.trace)
def trace(
    a: SymbolicArray, offset: int = 0, axis1: int = 0, axis2: int = 1, **named: Any
) -> Any:
    """The sum of a diagonal."""
    refuse("np.trace", **named)
    return call(np.sum, diagonal(a, offset, axis1, axis2), axis=-1)


@traces(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: SymbolicArray, window_shape: Any, axis: Any = None, **_: Any
) -> SymbolicArray:
    """Windows: dimensions of positions in them come last."""
    tracing = x.tracing
    windows = shape_of(tracing, window_shape)
    axes = axes_of(axis, x.ndim)
    if len(windows) != len(axes):
        raise Unknown("the reference fails: as many windows as axes are needed")
    sizes = list(x.sizes)
    for dim, window in zip(axes, windows, strict=True):
        fits = tracing.world.compare(window, "<=", sizes[dim])
        tracing.need(fits, f"{window} <= {sizes[dim]} (a window)", shape=True)
        sizes[dim] = sizes[dim] - window + 1

    def way(indices: Indices) -> Indices:
        found = list(indices[: x.ndim])
        for dim, inner in zip(axes, indices[x.ndim :], strict=True):
            found[dim] = found[dim] + inner
        return tuple(found)

    return x.seen((*sizes, *windows), way, None)
