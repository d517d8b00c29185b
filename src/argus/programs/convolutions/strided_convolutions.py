"""Convolutions with strides as convolutions without: a pixel for each step.

Output ``o`` sums taps ``r`` of input ``o * s + r``. With ``r = u * s + t`` that is part
``t`` of pixel ``o + u``, where a pixel is ``s`` neighbours of the input, and its parts
are further channels (space to depth). So all pixels of an image may be one dimension of
the product (`flat_convolutions.py`), and few channels become many. Taps are filled up
to whole pixels with zeros: more is multiplied, where taps are no multiples of strides.
Where windows do not overlap, each is a row of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, inf, prod
from typing import Any

import numpy as np

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.convolutions.channels_last import (
    channels_of,
    nearest,
    worth_channels_last,
)
from argus.programs.convolutions.flat_convolutions import (
    Reading,
    flat_products,
    flat_space,
    flat_time,
    without_gaps,
    worth_flat,
)
from argus.programs.operators.window_operators import windows_of
from argus.programs.products.product_forms import TMA_BYTES
from argus.programs.products.product_tiles import predicted_time
from argus.programs.tensors.memory_order import order_of
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import permuted

_GAIN = 1.25
"""How much faster it has to be: what follows it reads it again."""
_GAIN_OF_PATCHES = 2.0
"""The same where windows do not overlap: their copy joins less often what makes the
input."""
_LEAST = 16
"""Fewer channels than this are no work for tensor cores."""


def unstrided_products(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], precision: str,
) -> TensorArray | None:  # fmt: skip
    """The convolution (N, K, *lengths) of x (N, C, *space) and weight (K, C, *taps).

    None where that is no faster than windows that begin every ``stride`` pixels.
    """
    taps, count = weight.shape[2:], len(stride)
    if count < 2 or prod(taps) < 2 or set(stride) == {1}:
        return None
    lengths = [
        (n + a + b - k) // s + 1
        for n, k, s, (a, b) in zip(x.shape[2:], taps, stride, borders, strict=True)
    ]
    pixels = [ceil(k / s) for k, s in zip(taps, stride, strict=True)]
    before = _strided_time(x, weight, lengths, precision)
    if set(pixels) == {1}:
        return _patch_products(x, weight, stride, borders, precision, before)
    channels = _channels(x, stride, precision)
    filters = _pixels(weight, channels, _around(taps, pixels, stride), stride)
    space = [o + u - 1 for o, u in zip(lengths, pixels, strict=True)]
    readings = [Reading(o, u, 1, (0, 0)) for o, u in zip(lengths, pixels, strict=True)]
    wide = channels_of(x.element, filters.shape[1], precision)
    # What is read for nothing behind the last pixel is a part of the border, too.
    behind = flat_space(space, readings, wide, x.element).borders
    space = [n + more for n, (_, more) in zip(space, behind, strict=True)]
    around = _around(x.shape[2:], space, stride, [a for a, _ in borders])
    inputs = _pixels(x, channels, around, stride)
    if not worth_channels_last(inputs, filters, 1, flat=True):
        return None
    out = filters.shape[0]
    if not worth_flat(inputs, out, 1, readings, precision, 1, rows=False):
        return None
    after = flat_time(inputs, out, 1, readings, precision, 1)
    if before < _GAIN * after:
        return None
    found = flat_products(inputs, filters[None], readings, precision)
    return without_gaps(found.reshape(found.shape[0], -1, *found.shape[3:]))


def pixel_products(x: TensorArray, weight: TensorArray, precision: str) -> TensorArray:
    """The product (N, K, *space) of x (N, C, *space) and weight (K, C), `nearest`.

    Where channels lie side by side, those of the result do.
    """
    rank, space = x.ndim, "xyz"[: x.ndim - 2]
    order = order_of(x.operand)
    last = order is not None and order.innermost == 1
    product = contracted(
        x.recorder, x.operand, weight.operand,
        f"nc{space}", "kc", f"n{space}k" if last else f"nk{space}",
        precision=precision,
    )  # fmt: skip
    made = TensorArray(x.recorder, product)
    if last:
        made = made.seen(permuted(made.shape, [0, rank - 1, *range(1, rank - 1)]))
    return made


def _patch_products(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], precision: str, before: float,
) -> TensorArray | None:  # fmt: skip
    """Windows that do not overlap; None where they take no less than ``before``, us."""
    filters = weight.reshape(len(weight), -1)
    if min(filters.shape) < _LEAST or x.element not in (f32, bf16, f16):
        return None
    count = len(stride)
    wide = windows_of(x, weight.shape[2:], stride, borders, [1] * count, 0.0)
    order = [0, 1, *range(2 + count, wide.ndim), *range(2, 2 + count)]
    lengths = wide.shape[2 : 2 + count]
    patches = wide.seen(permuted(wide.shape, order))
    out, k = len(weight), filters.size // len(weight)
    time = predicted_time(out, prod(lengths), k, len(x), 1, x.element)
    full = x.element == f32 and precision == "f32"  # not what is predicted here
    if before < (inf if full else _GAIN_OF_PATCHES * time):
        return None
    rows = patches.reshape(len(x), -1, *lengths)
    with x.recorder.in_order_of_dimensions():
        found = nearest(rows, precision)
    if found is rows:  # read where it lies, a sum has no more than a tap's elements
        found = _copied_by_pixels(rows)
    return pixel_products(found, nearest(filters, precision), precision)


def _copied_by_pixels(x: TensorArray) -> TensorArray:
    """A copy of (N, C, *space) in which channels of a pixel lie side by side."""
    last = [0, *range(2, x.ndim), 1]
    seen = x.seen(permuted(x.shape, last))
    copy = TensorArray(x.recorder, x.recorder.copied(seen.operand))
    return copy.seen(permuted(copy.shape, [0, x.ndim - 1, *range(1, x.ndim - 1)]))


def _strided_time(
    x: TensorArray, weight: TensorArray, lengths: Sequence[int], precision: str
) -> float:
    """The predicted time of windows that begin every few pixels, row by row."""
    like = x[(slice(None), slice(None), *(slice(0, n) for n in lengths))]
    if not worth_channels_last(like, weight, 1, flat=False):
        return inf
    channels = channels_of(x.element, x.shape[1], precision)
    *ahead, last = weight.shape[2:]
    rows = x.shape[0] * prod(lengths[:-1])
    return predicted_time(
        weight.shape[0], lengths[-1], last * channels, rows, prod(ahead), x.element
    )


def _pixels(
    x: TensorArray, channels: int, around: Sequence[tuple[int, int]],
    stride: Sequence[int],
) -> TensorArray:  # fmt: skip
    """Seen as (N, channels * parts, *pixels), with a border of zeros."""
    kept = (
        slice(0, n + min(0, b)) for n, (_, b) in zip(x.shape[2:], around, strict=True)
    )
    inner = x[(slice(None), slice(None), *kept)]
    widths = [(0, 0), (0, channels - x.shape[1]), *((a, max(0, b)) for a, b in around)]
    wide: Any = np.pad(inner, widths)  # type: ignore[call-overload]
    digits = [
        d for n, s in zip(wide.shape[2:], stride, strict=True) for d in (n // s, s)
    ]
    apart = wide.reshape(*wide.shape[:2], *digits)
    order = [0, 1, *range(3, apart.ndim, 2), *range(2, apart.ndim, 2)]
    turned = apart.seen(permuted(apart.shape, order))
    return turned.reshape(x.shape[0], channels * prod(stride), *digits[::2])


def _channels(x: TensorArray, stride: Sequence[int], precision: str) -> int:
    """Channels of which all parts of a pixel fill whole steps of 16 bytes."""
    unit = TMA_BYTES // x.element.bytes
    unit //= gcd(unit, prod(stride) * (2 if precision == "f32" else 1))
    return ceil(x.shape[1] / unit) * unit


def _around(
    space: Sequence[int], pixels: Sequence[int], stride: Sequence[int],
    before: Sequence[int] | None = None,
) -> list[tuple[int, int]]:  # fmt: skip
    """Borders with which a space is so many pixels; below 0: what is left out."""
    ahead = [0] * len(space) if before is None else before
    return [
        (a, u * s - n - a)
        for n, u, s, a in zip(space, pixels, stride, ahead, strict=True)
    ]
