"""Convolutions of which all pixels of an image are one dimension.

Of an input with channels last, whose borders are written out, the window of pixel q of
one row reads pixels q, q + reach, ... of it. Where windows begin at each pixel (stride
1, and each phase of a transposed convolution), the same holds of all its dimensions as
one: position x of the result is position x of the input, and a tap is so many positions
after it, whatever rows and planes lie between. So a tile has as many pixels as the
product takes, of rows that may be short; positions that begin in a border are computed
for nothing. The product is stored so, in a kernel of its own, and read through a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from argus.ir.dtypes import DType
from argus.programs.convolutions.channels_last import (
    channels_last,
    channels_of,
    filters_last,
    products_last,
)
from argus.programs.products.product_forms import TMA_BYTES, TMA_DIMENSIONS
from argus.programs.products.product_tiles import predicted_time
from argus.programs.products.tma_dimensions import LARGEST
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import LinearView

_STEP = 128
"""Bytes of K that a step takes."""
_GAIN = 1.5
"""How much faster a flat product has to be: what follows it reads it again."""


@dataclass(frozen=True)
class Reading:
    """One dimension of space: where results read the input with its border.

    Result q of ``length`` reads ``first + q + u * reach``, for u of ``taps``.
    """

    length: int
    taps: int
    reach: int
    border: tuple[int, int]
    first: int = 0


@dataclass(frozen=True)
class FlatSpace:
    """All dimensions of space as one.

    ``borders`` are those of the readings, with room behind for what is read for
    nothing; ``sizes``: of the input with them. ``steps``: positions between neighbours
    of each dimension. ``length``: positions of the result. ``taps``: of each dimension;
    more of the last one than there are fill a step of K, and their filters are 0.
    """

    borders: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    length: int
    first: int
    taps: tuple[int, ...]


def flat_space(
    space: Sequence[int], readings: Sequence[Reading], channels: int, element: DType
) -> FlatSpace:
    """The positions of an input with so many channels."""
    unit = TMA_BYTES // element.bytes
    taps = [r.taps for r in readings]
    last = readings[-1]
    if last.reach == 1:
        taken = ceil(last.taps * channels * element.bytes / _STEP) * _STEP
        if taken % (channels * element.bytes) == 0:
            taps[-1] = taken // (channels * element.bytes)
    more = 0
    while True:
        borders = [r.border for r in readings]
        at = max(0, len(readings) - 2)
        borders[at] = (borders[at][0], borders[at][1] + more)
        sizes = [n + a + b for n, (a, b) in zip(space, borders, strict=True)]
        steps = [prod(sizes[d + 1 :]) for d in range(len(sizes))]
        pairs = list(zip(readings, steps, strict=True))
        length = sum((r.length - 1) * s for r, s in pairs) + 1
        length = ceil(length / unit) * unit
        first = sum(r.first * s for r, s in pairs)
        read = sum((n - 1) * r.reach * s for n, (r, s) in zip(taps, pairs, strict=True))
        if first + length + read <= prod(sizes):
            break
        more += 1
    return FlatSpace(
        tuple(borders), tuple(sizes), tuple(steps), length, first, tuple(taps)
    )


def worth_flat(
    x: TensorArray, filters: int, phases: int, readings: Sequence[Reading],
    precision: str, groups: int, *, rows: bool,
) -> bool:  # fmt: skip
    """Whether tiles of all pixels take less time than those of rows.

    ``filters``: results of a pixel and group, in each of the ``phases``. Rows of pixels
    that follow each other without a border between them are one row. ``rows``: whether
    rows alone would be multiplied by tensor cores.
    """
    if len(readings) < 2:
        return False
    channels = channels_of(x.element, x.shape[1] // groups, precision)
    flat = flat_space(x.shape[2:], readings, channels, x.element)
    images = x.shape[0] * groups
    pairs = list(zip(flat.taps, readings, flat.steps, strict=True))
    apart = [n > 1 for n, _, _ in pairs[:-1]]
    apart.append(pairs[-1][0] > 1 and readings[-1].reach != 1)
    span = sum((n - 1) * r.reach * s for n, r, s in pairs)
    if 3 + (groups > 1) + sum(apart) > TMA_DIMENSIONS and span > LARGEST // 2:
        return False  # taps would have to be one dimension
    if not rows:
        return True
    row = readings[-1].length
    several = prod(r.length for r in readings[:-1])
    for reading in readings[-2::-1]:
        if readings[-1].taps > 1:
            break
        row, several = row * reading.length, several // reading.length
        if reading.taps > 1:
            break
    k = readings[-1].taps * channels
    steps = prod(r.taps for r in readings[:-1])
    before = predicted_time(
        filters, row, k, images * several * phases, steps, x.element
    )
    after = flat_time(x, filters, phases, readings, precision, groups)
    return before > _GAIN * after


def flat_time(
    x: TensorArray, filters: int, phases: int, readings: Sequence[Reading],
    precision: str, groups: int,
) -> float:  # fmt: skip
    """The predicted time of a product of all pixels, see `worth_flat`."""
    channels = channels_of(x.element, x.shape[1] // groups, precision)
    flat = flat_space(x.shape[2:], readings, channels, x.element)
    k = readings[-1].taps * channels
    steps = prod(r.taps for r in readings[:-1])
    images = x.shape[0] * groups
    return predicted_time(filters * phases, flat.length, k, images, steps, x.element)


def without_gaps(product: TensorArray) -> TensorArray:
    """The same as a value of its own, for what cannot read it through its view.

    The others compute it on the way.
    """
    made = product.recorder.copied(product.operand)
    return TensorArray(product.recorder, made)


def flat_products(
    x: TensorArray, weight: TensorArray, readings: Sequence[Reading], precision: str
) -> TensorArray:
    """Products (N, groups, *columns, *lengths) of x (N, groups * C, *space) and weight.

    ``weight`` is (groups, *columns, C, *taps). They are read through a view.
    """
    count, groups = len(readings), len(weight)
    channels = channels_of(x.element, x.shape[1] // groups, precision)
    flat = flat_space(x.shape[2:], readings, channels, x.element)
    columns = weight.shape[1 : -count - 1]
    more = [(0, a - r.taps) for a, r in zip(flat.taps, readings, strict=True)]
    around = [(0, 0)] * (len(columns) + 2) + more
    wide: Any = np.pad(weight, around)  # type: ignore[call-overload]
    last = filters_last(
        wide.reshape(-1, *wide.shape[-count - 1 :]), precision=precision
    )
    filters = last.reshape(len(last), groups, -1, *last.shape[2:])
    images = x.reshape(x.shape[0] * groups, -1, *x.shape[2:])
    inner = channels_last(images, flat.borders, precision=precision)
    line = inner.reshape(x.shape[0], groups, prod(flat.sizes), channels)
    pairs = [
        (3 + d, r.reach * s)
        for d, (r, s) in enumerate(zip(readings, flat.steps, strict=True))
    ]
    # n, group, position, taps, c
    windows = line.seen(
        LinearView(
            (x.shape[0], groups, flat.length, *flat.taps, channels),
            (((0, 1),), ((1, 1),), ((2, 1), *pairs), ((3 + count, 1),)),
            (0, 0, flat.first, 0),
        )
    )
    taps = "rst"[:count]
    product = products_last(
        windows, filters, f"ngx{taps}c", f"gk{taps}c", "ngkx", alone=True
    )
    lengths = [r.length for r in readings]
    spaced = LinearView(
        (*product.shape[:3], *lengths),
        (
            *(((d, 1),) for d in range(3)),
            tuple((3 + d, s) for d, s in enumerate(flat.steps)),
        ),
        (0, 0, 0, 0),
    )
    return product.seen(spaced).reshape(*product.shape[:2], *columns, *lengths)
