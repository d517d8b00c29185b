"""Pools and convolutions: reductions and sums of products over windows.

Position ``o`` of the result and ``r`` of the window read ``o * stride + r * dilation``
of the input with its border.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.ir.dtypes import f32
from argus.programs.numpy_functions import contracted, flip
from argus.programs.operator_table import each, own
from argus.programs.recorder import ProgramRecorder
from argus.programs.tensor_array import TensorArray
from argus.programs.tensor_program import UntranslatedError, ViewedValue
from argus.programs.views import LinearView, windowed


def convolution_precision() -> str:
    """What torch multiplies of f32 in convolutions, by its flag of this moment."""
    import torch

    return "tf32" if torch.backends.cudnn.allow_tf32 else "f32"


def _windows(
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


class _Pool:
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
        return _windows(x, self.kernel, self.stride, self.borders, self.dilation, fill)


@own("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window."""
    count = len(kernel)
    pool = _Pool(x, kernel, stride, padding, dilation, ceil, count)
    if not x.element.is_float:
        raise UntranslatedError("the largest of whole numbers in windows")
    return np.max(pool.of(x, -math.inf), tuple(range(-count, 0)))


@own("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(*args: Any, **named: Any) -> Any:
    """The largest of each window; its position is not translated."""
    return max_pool(*args, **named), None


@own("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: TensorArray, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
    include_padding: bool = True, divisor: Any = None,
) -> Any:  # fmt: skip
    """The sum of each window over the number of its elements, or a divisor."""
    count = len(kernel)
    pool = _Pool(x, kernel, stride, padding, 1, ceil, count)
    total: Any = np.sum(pool.of(x, 0.0), tuple(range(-count, 0)))
    if divisor is not None:
        return total / float(divisor)
    found, number = total, 1
    for d in range(count):
        n, k, s, p = pool.extents[d], pool.kernel[d], pool.stride[d], pool.padding[d]
        low, high = (-p, n + p) if include_padding else (0, n)
        sizes = {
            min(o * s - p + k, high) - max(o * s - p, low)
            for o in range(pool.counts[d])
        }
        if len(sizes) == 1:
            number *= sizes.pop()
            continue
        found = found / _sizes(x.recorder, total.shape, d - count, (k, s, p), low, high)
    return found / float(number)


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
    """Means of equal parts. Raises UntranslatedError where parts are not equal."""
    return np.mean(_equal_parts(x, sizes), tuple(range(-len(sizes), 0)))


@own("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: TensorArray, sizes: Any) -> Any:
    """The largest of equal parts; its position is not translated."""
    return np.max(_equal_parts(x, sizes), tuple(range(-len(sizes), 0))), None


def _equal_parts(x: TensorArray, sizes: Sequence[int]) -> TensorArray:
    count = len(sizes)
    extents = x.shape[-count:]
    if any(n % o for n, o in zip(extents, sizes, strict=True)):
        raise UntranslatedError(f"windows of different sizes: {extents} as {sizes}")
    kernel = [n // o for n, o in zip(extents, sizes, strict=True)]
    return _windows(x, kernel, kernel, [(0, 0)] * count, [1] * count, 0.0)


# ---------------------------------------------------------------------- convolutions


@own("convolution")
def convolution(
    x: TensorArray, weight: TensorArray, bias: Any, stride: Any, padding: Any,
    dilation: Any, transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Sums of products over windows and the channels of a group."""
    count = weight.ndim - 2
    steps, pads, gaps = (each(v, count) for v in (stride, padding, dilation))
    if transposed:
        found = _transposed(
            x, weight, steps, pads, gaps, each(output_padding, count), groups
        )
    else:
        wide = _windows(x, weight.shape[2:], steps, [(p, p) for p in pads], gaps, 0.0)
        found = _products(wide, weight, groups)
    return found if bias is None else found + bias.reshape(-1, *[1] * count)


def _products(wide: TensorArray, weight: TensorArray, groups: int) -> TensorArray:
    """Windows (N, C, *space, *taps) times filters (K, C / groups, *taps)."""
    count = weight.ndim - 2
    space, taps = "xyz"[:count], "rst"[:count]
    if groups == 1:
        product = contracted(
            wide.recorder, wide.operand, weight.operand,
            f"nc{space}{taps}", f"kc{taps}", f"nk{space}",
            precision=convolution_precision(),
        )  # fmt: skip
        return TensorArray(wide.recorder, product)
    inputs = wide.reshape(wide.shape[0], groups, -1, *wide.shape[2:])
    filters = weight.reshape(groups, -1, *weight.shape[1:])
    product = contracted(
        wide.recorder, inputs.operand, filters.operand,
        f"ngc{space}{taps}", f"gkc{taps}", f"ngk{space}",
        precision=convolution_precision(),
    )  # fmt: skip
    parts = TensorArray(wide.recorder, product)
    return parts.reshape(parts.shape[0], -1, *parts.shape[3:])


def _transposed(
    x: TensorArray, weight: TensorArray, stride: list[int], padding: list[int],
    dilation: list[int], more: list[int], groups: int,
) -> TensorArray:  # fmt: skip
    """Output o sums input i times tap r over all ``i * stride + r * dilation = o + p``.

    Filters are (C, K / groups, *taps).
    """
    taps = weight.shape[2:]
    whole = all(d % s == 1 % s for s, d in zip(stride, dilation, strict=True))
    if not whole or (len(taps) == 3 and groups > 1):  # more dimensions than fit
        return _spread_out(x, weight, stride, padding, dilation, more, groups)
    phases = [
        _Phases(n, k, s, p, d, m)
        for n, k, s, p, d, m in zip(
            x.shape[2:], taps, stride, padding, dilation, more, strict=True
        )
    ]
    count = len(phases)
    inner: Any = np.pad(x, [(0, 0)] * 2 + [f.input_border for f in phases])
    places = [((d, 1),) for d in range(2)]
    # n, c, and of each dimension: q, t and u
    left = LinearView(
        (*x.shape[:2], *(n for f in phases for n in f.sizes)),
        (*places, *(f.input_factors(2 + 3 * i) for i, f in enumerate(phases))),
        (0, 0, *(f.input_start for f in phases)),
    )
    wide: Any = np.pad(weight, [(0, 0)] * 2 + [f.tap_border for f in phases])
    right = LinearView(
        (*weight.shape[:2], *(n for f in phases for n in f.sizes[1:])),
        (*places, *(f.tap_factors(2 + 2 * i) for i, f in enumerate(phases))),
        (0, 0, *(f.tap_start for f in phases)),
    )
    letters = ["qtu", "pso", "eiv"][:count]
    inputs: Any = inner.seen(left).reshape(
        x.shape[0], groups, -1, *left.shape[2:]
    )  # fmt: skip
    filters: Any = wide.seen(right).reshape(groups, -1, *right.shape[1:])
    product = contracted(
        x.recorder, inputs.operand, filters.operand,
        "ngc" + "".join(letters), "gck" + "".join(a[1:] for a in letters),
        "ngk" + "".join(a[:2] for a in letters),
        precision=convolution_precision(),
    )  # fmt: skip
    found: Any = TensorArray(x.recorder, product)
    whole = [f.sizes[0] * f.sizes[1] for f in phases]
    found = found.reshape(x.shape[0], -1, *whole)
    return found[(slice(None), slice(None), *(slice(0, f.length) for f in phases))]


class _Phases:
    """One dimension of a transposed convolution, as sums over whole indices.

    With ``o = q * s + t`` the taps that count are ``r = u * s + t + p`` less a
    multiple of s, for which ``i = (o + p - r * d) / s`` is a whole number, since d is
    one more than a multiple of s.
    """

    def __init__(self, n: int, k: int, s: int, p: int, d: int, more: int) -> None:
        self.length = (n - 1) * s - 2 * p + d * (k - 1) + more + 1
        if self.length < 1:
            raise UntranslatedError("a transposed convolution without output")
        phase, ahead = p % s, int(p % s > 0)
        self.sizes = (-(-self.length // s), s, (k - 1 - phase) // s + 1 + ahead)
        self.step, self.again = s, (d - 1) // s
        self._tap = phase - s * ahead
        """The tap at t = u = 0, which may be below 0."""
        self._input = p // s - self.again * self._tap + ahead
        _, _, count = self.sizes
        last = self._tap + s * (count - 1) + s - 1
        self.tap_border = (max(0, -self._tap), max(0, last - k + 1))
        low = self._input - (1 + self.again * s) * (count - 1) - self.again * (s - 1)
        high = self._input + self.sizes[0] - 1
        self.input_border = (max(0, -low), max(0, high - n + 1))

    @property
    def tap_start(self) -> int:
        """The first tap, in the border."""
        return self._tap + self.tap_border[0]

    @property
    def input_start(self) -> int:
        """The first input, in the border."""
        return self._input + self.input_border[0]

    def input_factors(self, dim: int) -> tuple[tuple[int, int], ...]:
        """Of q, t and u, which are dimensions from ``dim`` on."""
        both = -1 - self.again * self.step
        return ((dim, 1), (dim + 1, -self.again), (dim + 2, both))

    def tap_factors(self, dim: int) -> tuple[tuple[int, int], ...]:
        """Of t and u, which are dimensions from ``dim`` on."""
        return ((dim, 1), (dim + 1, self.step))


def _spread_out(
    x: TensorArray, weight: TensorArray, stride: list[int], padding: list[int],
    dilation: list[int], more: list[int], groups: int,
) -> TensorArray:  # fmt: skip
    """The convolution of the input, ``stride - 1`` zeros after each of its elements.

    The taps are in reverse; the input with zeros is a tensor of its own.
    """
    spread: Any = x
    for dim, s in enumerate(stride, 2):
        apart: Any = np.expand_dims(spread, dim + 1)
        width = [(0, s - 1) if d == dim + 1 else (0, 0) for d in range(apart.ndim)]
        size = spread.shape[dim] * s
        shape = (*spread.shape[:dim], size, *spread.shape[dim + 1 :])
        apart = np.pad(apart, width).reshape(*shape)
        made = x.recorder.copied(apart.operand)
        kept = (slice(None),) * dim + (slice(0, size - s + 1),)
        spread = TensorArray(x.recorder, made)[kept]
    borders = [
        ((k - 1) * d - p, (k - 1) * d - p + m)
        for k, d, p, m in zip(weight.shape[2:], dilation, padding, more, strict=True)
    ]
    one = [1] * len(stride)
    wide = _windows(spread, weight.shape[2:], one, borders, dilation, 0.0)
    taps: Any = flip(weight, tuple(range(2, weight.ndim)))
    split: Any = taps.reshape(groups, -1, *weight.shape[1:])
    filters: Any = np.swapaxes(split, 1, 2)
    return _products(wide, filters.reshape(-1, *filters.shape[2:]), groups)
