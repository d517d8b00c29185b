"""Convolutions to few channels: taps along lines are columns of a product, too.

A tile has 64 rows of filters at least. Where there are three, each step would multiply
pixels with what is mostly empty, and read them anew for each tap. So products of a
pixel with the taps of a line are columns beside each other, and are added up behind,
each from the pixel that it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import add
from typing import Any

import numpy as np

from argus.ir.dtypes import f32
from argus.programs.convolutions.channels_last import (
    channels_last,
    filters_last,
    products_last,
    worth_channels_last,
)
from argus.programs.operators.window_operators import windows_of
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import permuted

_COLUMNS = 64
"""Columns of a tile, at most, that filters and taps of a line fill."""
_MANY, _LEAST_TAPS = 16, 3
"""Filters that are enough for tiles of their own; fewest taps of a line."""
_GAIN = 4
"""How many more bytes of the input are read otherwise than of products in f32 are
written and read, from which on that is faster."""


def few_filters(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], dilation: Sequence[int], precision: str,
) -> TensorArray | None:  # fmt: skip
    """The convolution (N, K, *lengths) of x (N, C, *space) and weight (K, C, *taps).

    None where that is no faster than each tap alone.
    """
    filters, channels, *ahead, along = weight.shape
    columns, count = filters * along, len(stride)
    read = channels * x.element.bytes * prod(ahead) * (along - 1)
    few = filters < _MANY and columns <= _COLUMNS and along >= _LEAST_TAPS
    if not few or set(stride) != {1} or read < _GAIN * 2 * columns * f32.bytes:
        return None
    order = [weight.ndim - 1, *range(weight.ndim - 1)]
    turned = weight.seen(permuted(weight.shape, order))
    every = turned.reshape(columns, channels, *ahead, 1)
    if not worth_channels_last(x, every, 1, flat=False):
        return None
    last = channels_last(x, [*borders[:-1], (0, 0)], precision=precision)
    pixels = last.seen(permuted(last.shape, [0, count + 1, *range(1, count + 1)]))
    taps = (*ahead, 1)
    wide = windows_of(pixels, taps, stride, [(0, 0)] * count, dilation, 0.0)
    windows = wide.seen(permuted(wide.shape, [0, *range(2, wide.ndim), 1]))
    space, names = "xyz"[:count], "rst"[:count]
    found = products_last(
        windows, filters_last(every, precision=precision),
        f"n{space}{names}c", f"k{names}c", f"nk{space}", dtype=f32,
    )  # fmt: skip
    each: Any = found.reshape(found.shape[0], along, filters, *found.shape[2:])
    around: Any = np.pad(each, [(0, 0)] * (each.ndim - 1) + [borders[-1]])  # type: ignore[call-overload]
    reach = dilation[-1]
    length = around.shape[-1] - (along - 1) * reach
    parts = (
        around[:, tap, ..., tap * reach : tap * reach + length] for tap in range(along)
    )
    return reduce(add, parts).cast(x.element)
