"""Pools: reductions over windows.

Position ``o`` of the result and ``r`` of the window read ``o * stride + r * dilation``
of the input with its border.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from argus.ir.dtypes import f32
from argus.programs.tensors.operator_table import each, own
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError, ViewedValue
from argus.programs.tensors.views import windowed

_LARGE_WINDOW = 32
"""Elements of windows from which on they are taken in along one dimension at a time."""


def windows_of(
    x: TensorArray,
    kernel: Sequence[int],
    stride: Sequence[int],
    borders: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    fill: float,
) -> TensorArray:
    """Windows over the last dimensions; positions inside them come last."""
    border = [(0, 0)] * (x.ndim - len(kernel)) + list(borders)
    wide: Any = np.pad(x, border, constant_values=fill)  # type: ignore[call-overload]
    if any(
        n < (k - 1) * d + 1
        for n, k, d in zip(wide.shape[-len(kernel) :], kernel, dilation, strict=True)
    ):
        raise UntranslatedError("a window that is larger than what it moves over")
    return wide.seen(windowed(wide.shape, kernel, stride, dilation))


_Part = TypeVar("_Part")


def _only(parts: Sequence[_Part], dim: int, none: _Part) -> list[_Part]:
    """What a dimension has, and ``none`` for the others."""
    return [part if d == dim else none for d, part in enumerate(parts)]


class WindowPool:
    """The windows of a pool: how many along each dimension, and what is around them."""

    def __init__(
        self, x: TensorArray, kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil: bool, count: int,
    ) -> None:  # fmt: skip
        self.kernel = each(kernel, count)
        self.stride = each(stride, count) if stride else self.kernel
        self.padding, self.dilation = each(padding, count), each(dilation, count)
        self.extents = x.shape[-count:]
        self.counts: list[int] = []
        self.borders: list[tuple[int, int]] = []
        for n, k, s, p, d in zip(
            self.extents, self.kernel, self.stride, self.padding, self.dilation,
            strict=True,
        ):  # fmt: skip
            span = (k - 1) * d + 1
            room = n + 2 * p - span
            windows = room // s + 1
            # One that begins inside, or in the border before, may end outside.
            if ceil and room % s and windows * s < n + p:
                windows += 1
            self.counts.append(windows)
            self.borders.append((p, max(p, (windows - 1) * s + span - n - p)))

    def of(self, x: TensorArray, fill: float) -> TensorArray:
        """The windows of a tensor."""
        return windows_of(
            x, self.kernel, self.stride, self.borders, self.dilation, fill
        )

    def reduced(
        self, x: TensorArray, function: Any, fill: float, *, together: bool = False
    ) -> Any:
        """The sum or extreme of each window.

        Large windows that share elements are taken in along one dimension after the
        other, of sums in f32, but where all are wanted ``together``.
        """
        dims = [d for d, k in enumerate(self.kernel) if k > 1]
        shared = any(self.stride[d] < self.kernel[d] for d in dims)
        small = len(dims) < 2 or math.prod(self.kernel) <= _LARGE_WINDOW
        count = len(self.kernel)
        if together or small or not shared:
            return function(self.of(x, fill), tuple(range(-count, 0)))
        found: Any = x
        if function is np.sum and x.element.bits < f32.bits:
            found = x.cast(f32)
        # First that of which most is left out.
        for d in sorted(range(count), key=lambda d: -self.stride[d]):
            windows = windows_of(
                found,
                _only(self.kernel, d, 1),
                _only(self.stride, d, 1),
                _only(self.borders, d, (0, 0)),
                _only(self.dilation, d, 1),
                fill,
            )
            found = function(windows, tuple(range(-count, 0)))
        return found


@own("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window."""
    count = len(kernel)
    pool = WindowPool(x, kernel, stride, padding, dilation, ceil, count)
    if not x.element.is_float:
        raise UntranslatedError("the largest of whole numbers in windows")
    return pool.reduced(x, np.max, -math.inf)


@own("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
    include_padding: bool = True, divisor: Any = None,
) -> Any:  # fmt: skip
    """The sum of each window over the number of its elements, or a divisor."""
    count = len(kernel)
    pool = WindowPool(x, kernel, stride, padding, 1, ceil, count)
    if divisor is not None:
        return pool.reduced(x, np.sum, 0.0) / float(divisor)
    sizes = element_counts(pool, x, include_padding)
    alike = all(isinstance(size, float) for size in sizes)
    found, number = pool.reduced(x, np.sum, 0.0, together=not alike), 1.0
    for size in sizes:
        if isinstance(size, float):
            number *= size
        else:
            found = found / size
    return found / number


def element_counts(
    pool: WindowPool, like: TensorArray, include_padding: bool
) -> list[float | TensorArray]:
    """Of each dimension how many elements windows have: a number, or numbers along it.

    ``like`` has as many dimensions as the result.
    """
    count = len(pool.kernel)
    found: list[float | TensorArray] = []
    for d in range(count):
        n, k, s, p = pool.extents[d], pool.kernel[d], pool.stride[d], pool.padding[d]
        low, high = (-p, n + p) if include_padding else (0, n)
        sizes = {
            min(o * s - p + k, high) - max(o * s - p, low)
            for o in range(pool.counts[d])
        }
        if len(sizes) == 1:
            found.append(float(sizes.pop()))
        else:
            at = d - count
            shape = (*[1] * (like.ndim - count), *pool.counts)
            found.append(_sizes(like.recorder, shape, at, (k, s, p), low, high))
    return found


def _sizes(
    recorder: ProgramRecorder, shape: tuple[int, ...], dim: int,
    window: tuple[int, int, int], low: int, high: int,
) -> TensorArray:  # fmt: skip
    """How many elements from ``low`` on and below ``high`` each window has."""
    k, s, p = window
    along = [1] * len(shape)
    along[dim] = shape[dim]
    start = recorder.positions(along, len(shape) + dim, -p, s)
    end = recorder.map("minimum", recorder.map("add", start, k), high)
    begin = recorder.map("maximum", start, low)
    size = recorder.cast(recorder.map("sub", end, begin), f32)
    assert isinstance(size, ViewedValue)
    return TensorArray(recorder, size)


@own(
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d",
)  # fmt: skip
def adaptive_avg_pool(x: TensorArray, sizes: Any) -> Any:
    """Means of parts, of which each element is in one or two of a dimension."""
    from argus.programs.operators.pool_positions import uneven_means

    if any(n % o for n, o in zip(x.shape[-len(sizes) :], sizes, strict=True)):
        return uneven_means(x, sizes)
    return np.mean(_equal_parts(x, sizes), tuple(range(-len(sizes), 0)))


def _equal_parts(x: TensorArray, sizes: Sequence[int]) -> TensorArray:
    count = len(sizes)
    extents = x.shape[-count:]
    kernel = [n // o for n, o in zip(extents, sizes, strict=True)]
    return windows_of(x, kernel, kernel, [(0, 0)] * count, [1] * count, 0.0)
