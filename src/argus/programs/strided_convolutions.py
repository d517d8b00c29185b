"""Convolutions with strides as convolutions without: a pixel for each step.

Output ``o`` sums taps ``r`` of input ``o * s + r``. With ``r = u * s + t`` that is part
``t`` of pixel ``o + u``, where a pixel is ``s`` neighbours of the input, and its parts
are further channels (space to depth). So all pixels of an image may be one dimension of
the product (`flat_convolutions.py`), and few channels become many. Taps are filled up
to whole pixels with zeros: more is multiplied, where taps are no multiples of strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, prod
from typing import Any

import numpy as np

from argus.programs.channels_last import channels_of, worth_channels_last
from argus.programs.flat_convolutions import (
    Reading,
    flat_products,
    flat_space,
    flat_time,
    without_gaps,
    worth_flat,
)
from argus.programs.products import TMA_BYTES, predicted_time
from argus.programs.tensor_array import TensorArray
from argus.programs.views import permuted

_GAIN = 1.25
"""How much faster it has to be: what follows it reads it again."""


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
    if _strided_time(x, weight, lengths, precision) < _GAIN * after:
        return None
    found = flat_products(inputs, filters[None], readings, precision)
    return without_gaps(found.reshape(found.shape[0], -1, *found.shape[3:]))


def _strided_time(
    x: TensorArray, weight: TensorArray, lengths: Sequence[int], precision: str
) -> float:
    """The predicted time of windows that begin every few pixels, row by row."""
    like = x[(slice(None), slice(None), *(slice(0, n) for n in lengths))]
    if not worth_channels_last(like, weight, 1, flat=False):
        return float("inf")
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
