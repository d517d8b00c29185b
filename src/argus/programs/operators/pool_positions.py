"""Where the largest of a window is, gradients of it, and windows of different sizes.

The largest of a window is found first; then, among elements that are equal to it, the
first one (of several NaN the last one, as in torch). Windows of different sizes are
those of adaptive pools: window ``o`` of ``count`` over ``n`` elements begins at
``o * n // count`` and ends before ``-(-(o + 1) * n // count)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from argus.ir.dtypes import f32, i64
from argus.programs.operators.scattering_operators import scatter_add
from argus.programs.operators.window_gradients import PoolWindows
from argus.programs.operators.window_operators import WindowPool, max_pool
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_EXACT_FLOATS = 1 << 24
"""Whole numbers up to it are f32."""


def _along(r: ProgramRecorder, rank: int, dim: int, n: int) -> Any:
    """Positions along one dimension, which all others have size 1 for."""
    sizes = [1] * rank
    sizes[dim] = n
    return TensorArray(r, r.positions(sizes, dim))


def _in_rows(place: Any, at: Any, extent: int) -> Any:
    """A position in rows of so many, of which there was none before the first."""
    return at if place is None else place * extent + at


def _element_of(window: Any, tap: Any, step: int, gap: int, pad: int) -> Any:
    """The coordinate of what a window has at a tap."""
    first = window if step == 1 else window * step
    first = first + (tap if gap == 1 else tap * gap)
    return first - pad if pad else first


def _place_of(most: Any, x: Any, at: Any, count: int, dims: tuple[int, ...]) -> Any:
    """Where ``x`` is ``most`` first, of positions ``at``; NaN: where it is last.

    Positions are at least 0 and below ``count``; at -1 there is none.
    """
    if count >= _EXACT_FLOATS:
        raise UntranslatedError("a position among more elements than f32 counts")
    at = at.cast(f32)
    hit: Any = np.where(np.equal(x, most), at, float(count))
    hit = np.where(np.not_equal(x, x), -1.0 - at, hit)
    key: Any = np.min(np.where(at < 0.0, float(count), hit), dims)
    return np.where(key < 0.0, -1.0 - key, key).cast(i64)


@own("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> list[Any]:  # fmt: skip
    """The largest of each window, and its position in the image."""
    count = len(kernel)
    pool = WindowPool(x, kernel, stride, padding, dilation, ceil, count)
    largest: Any = max_pool(x, kernel, stride, padding, dilation, ceil)
    r = x.recorder
    most = TensorArray(r, r.copied(largest.operand))
    windows = pool.of(x, -math.inf)
    rank = windows.ndim
    tap: Any = None
    outside: Any = None
    for d in range(count):
        k, n = pool.kernel[d], pool.extents[d]
        step, gap, pad = pool.stride[d], pool.dilation[d], pool.padding[d]
        inside = _along(r, rank, rank - count + d, k)
        tap = _in_rows(tap, inside, k)
        if pool.borders[d] == (0, 0):
            continue
        window = _along(r, rank, rank - 2 * count + d, pool.counts[d])
        at = _element_of(window, inside, step, gap, pad)
        beyond = (at < 0) | (at >= n)
        outside = beyond if outside is None else outside | beyond
    if outside is not None:
        tap = np.where(outside, -1, tap)
    wide = most.reshape(*most.shape, *[1] * count)
    dims = tuple(range(-count, 0))
    found = _place_of(wide, windows, tap, prod(pool.kernel), dims)
    place: Any = None
    rest: Any = TensorArray(r, r.copied(found.operand))
    for d in range(count):
        below = prod(pool.kernel[d + 1 :])
        window = _along(r, most.ndim, most.ndim - count + d, pool.counts[d])
        own_tap: Any = np.floor_divide(rest, below) if below > 1 else rest
        rest = rest - own_tap * below
        step, gap, pad = pool.stride[d], pool.dilation[d], pool.padding[d]
        at = _element_of(window, own_tap, step, gap, pad)
        place = _in_rows(place, at, pool.extents[d])
    return [most, TensorArray(r, r.copied(place.operand))]


@own("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    given: TensorArray, x: TensorArray, kernel: Any, stride: Any, padding: Any,
    dilation: Any, ceil: bool, indices: TensorArray,
) -> TensorArray:  # fmt: skip
    """Each element has the gradients of the windows of which it is the largest."""
    pool = WindowPool(x, kernel, stride, padding, dilation, ceil, len(kernel))
    windows = PoolWindows(x, pool)
    own_place: Any = None
    for d in range(windows.count):
        rank = len(windows.shape)
        q = rank - 2 * windows.count + 2 * d
        window = _along(x.recorder, rank, q, windows.sizes[d])
        tap = _along(x.recorder, rank, q + 1, pool.stride[d])
        at = _element_of(window, tap, pool.stride[d], 1, 0)
        own_place = _in_rows(own_place, at, pool.extents[d])

    def largest(windows: PoolWindows, moved: tuple[int, ...]) -> Any:
        return np.equal(windows.of(indices, moved, -1), own_place)

    return windows.gradient(given, largest)


# ------------------------------------------------------- windows of different sizes


def _window_of(r: ProgramRecorder, n: int, count: int) -> tuple[Any, Any]:
    """Whether each of n elements is in each of the windows (count, n); their sizes."""
    window: Any = TensorArray(r, r.positions((count, 1), 0))
    at: Any = TensorArray(r, r.positions((1, n), 1))
    begin = np.floor_divide(window * n, count)
    end = np.floor_divide((window + 1) * n + count - 1, count)
    return (at >= begin) & (at < end), (end - begin).reshape(count)


def _over_windows(x: Any, dim: int, count: int, function: Any, fill: float) -> Any:
    """A reduction over windows of a dimension, in the place of which they stand."""
    inside, _ = _window_of(x.recorder, x.shape[dim], count)
    rows: Any = np.moveaxis(x, dim, -1)[..., None, :]
    found: Any = function(np.where(inside, rows, fill), -1)
    return np.moveaxis(found, -1, dim)


def uneven_means(x: TensorArray, sizes: Sequence[int]) -> Any:
    """Means of windows of different sizes over the last dimensions."""
    found: Any = x.cast(f32)
    for dim, count in enumerate(sizes, x.ndim - len(sizes)):
        found = _over_windows(found, dim, count, np.sum, 0.0)
        _, length = _window_of(x.recorder, x.shape[dim], count)
        found = found / length.reshape(count, *[1] * (x.ndim - dim - 1)).cast(f32)
    return found


@own("_adaptive_avg_pool2d_backward")
def adaptive_means_2d_backward(given: TensorArray, x: TensorArray) -> Any:
    """Each element has its part of the gradients of the windows that it is in."""
    return _to_each(given, x, 2)


@own("_adaptive_avg_pool3d_backward")
def adaptive_means_3d_backward(given: TensorArray, x: TensorArray) -> Any:
    """The same in space."""
    return _to_each(given, x, 3)


def _to_each(given: TensorArray, x: TensorArray, count: int) -> Any:
    found: Any = given.cast(f32)
    for dim in range(x.ndim - count, x.ndim):
        n, windows = x.shape[dim], given.shape[dim]
        if n == windows:
            continue
        inside, length = _window_of(x.recorder, n, windows)
        rows: Any = np.moveaxis(found, dim, -1) / length.cast(f32)
        if n % windows == 0:
            wide = np.broadcast_to(rows[..., None], (*rows.shape, n // windows))
            spread: Any = wide.reshape(*rows.shape[:-1], n)
        else:
            spread = np.sum(np.where(inside.T, rows[..., None, :], 0.0), -1)
        found = np.moveaxis(spread, -1, dim)
    return found


@own("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: TensorArray, sizes: Any) -> list[Any]:
    """The largest of each window, and its position in the image."""
    count = len(sizes)
    extents = x.shape[-count:]
    if all(n % o == 0 for n, o in zip(extents, sizes, strict=True)):
        kernel = [n // o for n, o in zip(extents, sizes, strict=True)]
        return max_pool_with_indices(x, kernel, kernel)
    r, first = x.recorder, x.ndim - count
    place: Any = None
    for d in range(count):
        at = _along(r, x.ndim, first + d, extents[d])
        place = _in_rows(place, at, extents[d])
    most: Any = x
    found_at: Any = np.broadcast_to(place.cast(f32), x.shape)
    for d in reversed(range(count)):  # the first in a row, then of the first rows
        dim, total = first + d, prod(extents)
        rows: Any = np.moveaxis(most, dim, -1)[..., None, :]
        places: Any = np.moveaxis(found_at, dim, -1)[..., None, :]
        inside, _ = _window_of(r, extents[d], sizes[d])
        held = np.where(inside, rows, -math.inf)
        large: Any = np.max(held, -1)
        large = TensorArray(r, r.copied(large.operand))
        held_at = np.where(inside, places, -1.0)
        found = _place_of(large[..., None], held, held_at, total, (-1,))
        found = TensorArray(r, r.copied(found.operand))
        most = np.moveaxis(large, -1, dim)
        found_at = np.moveaxis(found, -1, dim).cast(f32)
    return [most, found_at.cast(i64)]


@own("adaptive_max_pool2d_backward")
def adaptive_max_pool2d_backward(
    given: TensorArray, x: TensorArray, indices: TensorArray
) -> Any:
    """Each element has the gradients of the windows of which it is the largest."""
    return _to_largest(given, x, indices, 2)


@own("adaptive_max_pool3d_backward")
def adaptive_max_pool3d_backward(
    given: TensorArray, x: TensorArray, indices: TensorArray
) -> Any:
    """The same in space."""
    return _to_largest(given, x, indices, 3)


def _to_largest(
    given: TensorArray, x: TensorArray, indices: TensorArray, count: int
) -> Any:
    r, ahead = x.recorder, x.shape[:-count]
    zeros = TensorArray(r, r.filled((*ahead, prod(x.shape[-count:])), 0.0, f32))
    line = given.cast(f32).reshape(*ahead, -1)
    return scatter_add(zeros, -1, indices.reshape(*ahead, -1), line).reshape(x.shape)
