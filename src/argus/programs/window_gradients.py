"""Positions of the largest in windows, and gradients of pools.

A pool with few elements in a window is a chain of choices between them. A gradient sums
over the windows that an element is in. Element ``q * stride + t`` is in some of the
windows ``q + v``, for few v that are the same everywhere: which of them it is in says
the position that a window chose, or t.
"""

from __future__ import annotations

from itertools import product
from math import inf, prod
from typing import Any

import numpy

from argus.ir.dtypes import f32
from argus.programs.operator_table import own
from argus.programs.recorder import ProgramRecorder
from argus.programs.tensor_array import TensorArray
from argus.programs.tensor_program import UntranslatedError
from argus.programs.window_operators import Pool, element_counts

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_MOST = 64
"""Elements of a window, or windows of an element, that are written out."""


@own("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window, and its position in the row-major order of an image.

    Of equal ones the first, and of those that are no numbers the last, as in torch.
    Windows of many elements have no positions.
    """
    count = len(kernel)
    pool = Pool(x, kernel, stride, padding, dilation, ceil, count)
    if not x.element.is_float:
        raise UntranslatedError("the largest of whole numbers in windows")
    windows = pool.of(x, -inf)
    largest = np.max(windows, tuple(range(-count, 0)))
    if prod(pool.kernel) > _MOST:
        return largest, None
    steps = [prod(pool.extents[d + 1 :]) for d in range(count)]
    r, shape = x.recorder, largest.shape
    starts = [
        _along(r, shape, d - count, -p, s)
        for d, (p, s) in enumerate(zip(pool.padding, pool.stride, strict=True))
    ]
    found: Any = 0
    for start, gap, step in zip(starts, pool.dilation, steps, strict=True):
        before: Any = (np.maximum(-start, 0) + (gap - 1)) // gap * gap
        found = found + (start + before) * step
    best: Any = TensorArray(r, r.filled(shape, -inf, x.element))
    corner: Any = sum(s * n for s, n in zip(starts, steps, strict=True))
    for at in product(*(range(k) for k in pool.kernel)):
        element: Any = windows[(..., *at)]
        taken = np.greater(element, best) | np.not_equal(element, element)
        moved = sum(a * d * n for a, d, n in zip(at, pool.dilation, steps, strict=True))
        best = np.where(taken, element, best)
        found = np.where(taken, corner + moved, found)
    return largest, np.broadcast_to(found, shape)


@own("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    given: TensorArray, x: TensorArray, kernel: Any, stride: Any, padding: Any,
    dilation: Any, ceil: bool, indices: TensorArray,
) -> TensorArray:  # fmt: skip
    """Each element has the gradients of the windows that chose it."""
    pool = Pool(x, kernel, stride, padding, dilation, ceil, len(kernel))

    def chosen(windows: _Windows, moved: tuple[int, ...]) -> Any:
        return np.equal(windows.of(indices, moved, -1), windows.position())

    return _Windows(x, pool).gradient(given, chosen)


@own("avg_pool1d_backward", "avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    given: TensorArray, x: TensorArray, kernel: Any, stride: Any, padding: Any,
    ceil: bool, include_padding: bool, divisor: Any,
) -> TensorArray:  # fmt: skip
    """Each element has its part of the gradients of the windows that it is in."""
    pool = Pool(x, kernel, stride, padding, 1, ceil, len(kernel))

    def inside(windows: _Windows, moved: tuple[int, ...]) -> Any:
        return windows.inside(moved)

    parts: Any = given.cast(f32)
    if divisor is not None:
        parts = parts / float(divisor)
    else:
        for count in element_counts(pool, given, include_padding):
            parts = parts / count
    return _Windows(x, pool).gradient(parts, inside)


def _along(
    r: ProgramRecorder, shape: tuple[int, ...], dim: int, start: int, step: int
) -> Any:
    """Numbers along one dimension, which all others have size 1 for."""
    sizes = [1] * len(shape)
    sizes[dim] = shape[dim]
    return TensorArray(r, r.positions(sizes, len(shape) + dim, start, step))


class _Windows:
    """Which windows the elements of an input are in.

    Arrays have two dimensions for each of space: q and t.
    """

    def __init__(self, x: TensorArray, pool: Pool) -> None:
        self.x, self.pool = x, pool
        self.count = len(pool.kernel)
        self.sizes = [
            -(-n // s) for n, s in zip(pool.extents, pool.stride, strict=True)
        ]
        pairs = zip(self.sizes, pool.stride, strict=True)
        self.shape = (*x.shape[: -self.count], *(n for pair in pairs for n in pair))
        spans = [(k - 1) * d for k, d in zip(pool.kernel, pool.dilation, strict=True)]
        self.moves = [
            range(-((w - p) // s), (s - 1 + p) // s + 1)
            for w, p, s in zip(spans, pool.padding, pool.stride, strict=True)
        ]
        if prod(len(m) for m in self.moves) > _MOST:
            raise UntranslatedError("elements that are in many windows")

    def gradient(self, given: TensorArray, chosen: Any) -> TensorArray:
        """The sum of what windows are given, where ``chosen`` says so."""
        found: Any = None
        for moved in product(*self.moves):
            part = self.of(given.cast(f32), moved, 0.0)
            kept = chosen(self, moved)
            part = part if kept is None else np.where(kept, part, 0.0)
            found = part if found is None else found + part
        found = np.broadcast_to(found, self.shape)
        ahead = self.x.shape[: -self.count]
        whole = [n * s for n, s in zip(self.sizes, self.pool.stride, strict=True)]
        line = found.cast(self.x.element).reshape(*ahead, *whole)
        return line[(..., *(slice(0, n) for n in self.pool.extents))]

    def of(self, array: TensorArray, moved: tuple[int, ...], fill: float) -> Any:
        """What window q + v of each dimension has, at every t."""
        rank = array.ndim - self.count
        counts = array.shape[rank:]
        widths, parts = [(0, 0)] * rank, [slice(None)] * rank
        parts_with_t: list[Any] = [*parts]
        for v, q, n in zip(moved, self.sizes, counts, strict=True):
            before, after = max(0, -v), max(0, v + q - n)
            widths.append((before, after))
            parts_with_t += [slice(v + before, v + before + q), None]
        return np.pad(array, widths, constant_values=fill)[tuple(parts_with_t)]

    def position(self) -> Any:
        """Of each element, in the row-major order of its image."""
        found: Any = 0
        for d in range(self.count):
            step = prod(self.pool.extents[d + 1 :])
            dim = 2 * (d - self.count)
            r = self.x.recorder
            found = found + _along(r, self.shape, dim, 0, step * self.pool.stride[d])
            found = found + _along(r, self.shape, dim + 1, 0, step)
        return found

    def inside(self, moved: tuple[int, ...]) -> Any:
        """Whether elements are in their windows; None: all are."""
        found: Any = None
        for d, v in enumerate(moved):
            k, s, p = self.pool.kernel[d], self.pool.stride[d], self.pool.padding[d]
            first = p - v * s
            if first >= 0 and first + s - 1 < k:
                continue
            tap = _along(
                self.x.recorder, self.shape, 2 * (d - self.count) + 1, first, 1
            )
            here = np.greater_equal(tap, 0) & np.less(tap, k)
            found = here if found is None else found & here
        return found
