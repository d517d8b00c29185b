"""Where the largest of a window is, gradients of it, and windows of different sizes.

The largest of a window is found first; then, among elements that are equal to it, the
first one (of several NaN the last one, as in torch). Windows of different sizes are
those of adaptive pools: window ``o`` of ``count`` over ``n`` elements begins at
``o * n // count`` and ends before ``-(-(o + 1) * n // count)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy

from argus.ir.dtypes import f32, i64
from argus.programs.operators.scattering_operators import scatter_add
from argus.programs.operators.table_operators import rows_of
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
_SMALL_WINDOW = 16
"""Elements of windows that are taken in along all dimensions together."""


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


def _ends(r: ProgramRecorder, n: int, count: int) -> tuple[Any, Any]:
    """Where windows begin, and end (count, 1)."""
    window: Any = TensorArray(r, r.positions((count, 1), 0))
    begin = np.floor_divide(window * n, count)
    return begin, np.floor_divide((window + 1) * n + count - 1, count)


def _largest_window(n: int, count: int) -> int:
    return max(-(-(o + 1) * n // count) - o * n // count for o in range(count))


@dataclass(frozen=True)
class _UnevenWindows:
    """Windows of different sizes: each dimension is two, windows and places in one.

    ``held``: what is there, or in the place of what is past the end any element;
    ``inside``: whether something is. ``places``: positions along each dimension.
    ``dims``: the places in windows.
    """

    held: Any
    inside: Any
    places: tuple[Any, ...]
    dims: tuple[int, ...]

    @classmethod
    def of(cls, x: Any, first: int, sizes: Sequence[int]) -> _UnevenWindows:
        """Those over dimensions from ``first`` on, of so many windows each."""
        r, count = x.recorder, len(sizes)
        behind = (1,) * (x.ndim - first - count)
        places: list[Any] = []
        held, inside = x, None
        for d, windows in enumerate(sizes):
            n = x.shape[first + d]
            taps = _largest_window(n, windows)
            tap: Any = TensorArray(r, r.positions((1, taps), 1))
            begin, end = _ends(r, n, windows)
            shape = [1] * (2 * count)
            shape[2 * d : 2 * d + 2] = windows, taps
            at = begin + tap
            own = (at < end).reshape(*shape, *behind)
            inside = own if inside is None else inside & own
            place = np.minimum(at, n - 1)
            held = rows_of(held, first + 2 * d, place)
            places.append(place.reshape(shape))
        taken = tuple(first + 2 * d + 1 for d in range(count))
        spread = tuple(p.reshape(*p.shape, *behind) for p in places)
        return cls(held, inside, spread, taken)


def _steps(x: Any, sizes: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Which dimensions are taken together, and from where on: all if windows are small.

    Else the first one by itself, along which neighbours lie side by side.
    """
    first = x.ndim - len(sizes)
    taps = prod(
        _largest_window(n, o) for n, o in zip(x.shape[first:], sizes, strict=True)
    )
    if taps <= _SMALL_WINDOW:
        return [(first, tuple(sizes))]
    return [(first + d, (o,)) for d, o in enumerate(sizes)]


def uneven_means(x: TensorArray, sizes: Sequence[int]) -> Any:
    """Means of windows of different sizes over the last dimensions."""
    found: Any = x.cast(f32)
    for first, counts in _steps(x, sizes):
        windows = _UnevenWindows.of(found, first, counts)
        shape = found.shape
        found = np.sum(np.where(windows.inside, windows.held, 0.0), windows.dims)
        for dim, count in enumerate(counts, first):
            begin, end = _ends(x.recorder, shape[dim], count)
            length = (end - begin).reshape(count, *[1] * (x.ndim - dim - 1))
            found = found / length.cast(f32)
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
    """The windows of an element are those of n among the windows, as among elements."""
    found: Any = given.cast(f32)
    first = x.ndim - count
    for dim in range(first, x.ndim):
        n, windows = x.shape[dim], given.shape[dim]
        if n == windows:
            continue
        begin, end = _ends(x.recorder, n, windows)
        length = (end - begin).reshape(windows, *[1] * (x.ndim - dim - 1))
        found = found / length.cast(f32)
        if n % windows == 0:
            shape = found.shape
            wide: Any = found.reshape(*shape[: dim + 1], 1, *shape[dim + 1 :])
            parts = (*shape[: dim + 1], n // windows, *shape[dim + 1 :])
            wide = np.broadcast_to(wide, parts)
            found = wide.reshape(*shape[:dim], n, *shape[dim + 1 :])
    for start, sizes in _steps(found, x.shape[first:]):
        if found.shape[start : start + len(sizes)] == tuple(sizes):
            continue
        own = _UnevenWindows.of(found, start, sizes)
        found = np.sum(np.where(own.inside, own.held, 0.0), own.dims)
    return found


@own("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: TensorArray, sizes: Any) -> list[Any]:
    """The largest of each window, and its position in the image."""
    count = len(sizes)
    extents = x.shape[-count:]
    if all(n % o == 0 for n, o in zip(extents, sizes, strict=True)):
        kernel = [n // o for n, o in zip(extents, sizes, strict=True)]
        return max_pool_with_indices(x, kernel, kernel)
    r, first = x.recorder, x.ndim - count
    large: Any = x
    for start, counts in _steps(x, sizes):
        windows = _UnevenWindows.of(large, start, counts)
        held = np.where(windows.inside, windows.held, -math.inf)
        large = np.max(held, windows.dims)
    most = TensorArray(r, r.copied(large.operand))
    windows = _UnevenWindows.of(x, first, sizes)
    place: Any = None
    for at, extent in zip(windows.places, extents, strict=True):
        place = _in_rows(place, at, extent)
    place = np.where(windows.inside, place, -1)
    wide = [1] * (2 * count)
    wide[::2] = sizes
    found = _place_of(
        most.reshape(*most.shape[:first], *wide),
        windows.held,
        place,
        prod(extents),
        windows.dims,
    )
    return [most, TensorArray(r, r.copied(found.operand))]


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
