"""Gradients of means of windows.

A gradient sums over the windows that an element is in. Element ``q * stride + t`` is in
some of the windows ``q + v``, for few v that are the same everywhere: which of them it
is in says t.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy

from argus.ir.numerics import arithmetic
from argus.programs.operators.window_operators import WindowPool, element_counts
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""
_MOST = 64
"""Windows of an element that are written out."""


@own("avg_pool1d_backward", "avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    given: TensorArray, x: TensorArray, kernel: Any, stride: Any, padding: Any,
    ceil: bool, include_padding: bool, divisor: Any,
) -> TensorArray:  # fmt: skip
    """Each element has its part of the gradients of the windows that it is in."""
    pool = WindowPool(x, kernel, stride, padding, 1, ceil, len(kernel))

    def inside(windows: PoolWindows, moved: tuple[int, ...]) -> Any:
        return windows.inside(moved)

    parts: Any = given.cast(arithmetic(given.element))
    if divisor is not None:
        parts = parts / float(divisor)
    else:
        for count in element_counts(pool, given, include_padding):
            parts = parts / count
    return PoolWindows(x, pool).gradient(parts, inside)


def _along(
    r: ProgramRecorder, shape: tuple[int, ...], dim: int, start: int, step: int
) -> Any:
    """Numbers along one dimension, which all others have size 1 for."""
    sizes = [1] * len(shape)
    sizes[dim] = shape[dim]
    return TensorArray(r, r.positions(sizes, len(shape) + dim, start, step))


class PoolWindows:
    """Which windows the elements of an input are in.

    Arrays have two dimensions for each of space: q and t.
    """

    def __init__(self, x: TensorArray, pool: WindowPool) -> None:
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
            part = self.of(given.cast(arithmetic(given.element)), moved, 0.0)
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
