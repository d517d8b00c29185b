"""Zeros between elements: of inputs and results of transposed convolutions.

A stride puts zeros between the elements of the input. Where a number divides stride and
dilation, there are zeros between those of the result, too, and fewer to be multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from argus.ir.dtypes import f32
from argus.programs.convolutions.channels_last import convolution_precision
from argus.programs.convolutions.convolution_phases import transposed_length
from argus.programs.convolutions.direct_convolutions import copy_time
from argus.programs.tensors.tensor_array import TensorArray

__all__ = ["transposed_lengths", "worth_between_zeros", "zeros_between"]

_ROWS, _MULTIPLIED = 64, 4.8e8
"""Filters of a tile, at least, and operations on bytes of factors in a microsecond (an
H200: 387 GFLOP of parts of f32, in tiles of groups of 16 filters, took 3.2 ms)."""
_COPIES = 2
"""How often results with zeros between them are stored."""


def transposed_lengths(
    x: TensorArray, weight: TensorArray, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], more: Sequence[int],
) -> list[int]:  # fmt: skip
    """Elements of each dimension of a transposed convolution."""
    sides = zip(
        x.shape[2:], weight.shape[2:], stride, padding, dilation, more, strict=True
    )
    return [transposed_length(*side) for side in sides]


def worth_between_zeros(
    x: TensorArray, weight: TensorArray, groups: int, pixels: int, common: int
) -> bool:
    """Whether copies of the results take less time than products of zeros.

    ``pixels`` of the result, of which one of ``common`` is no zero; filters are (C, K /
    groups, *taps). Not where f32 would be multiplied in another precision.
    """
    channels, filters, *taps = weight.shape
    each, results = channels // groups, len(x) * groups * pixels
    precision = convolution_precision(each, taps)
    if precision != convolution_precision(each, taps, transposed=True):
        return False
    depth = each * prod(taps) * (1 + (precision == "f32" and x.element == f32))
    multiplied = 2 * results * max(filters, _ROWS) * depth
    spared = multiplied * x.element.bytes * (1 - 1 / common) / _MULTIPLIED
    return spared > _COPIES * copy_time(results * filters * x.element.bytes)


def zeros_between(
    x: TensorArray, steps: Sequence[int], ahead: Sequence[int], lengths: Sequence[int]
) -> TensorArray:
    """The elements of x (N, C, *space), ``steps`` apart, the first at ``ahead``.

    Of each dimension there are ``lengths`` elements; all others are 0.
    """
    r, kept = x.recorder, len(x.shape) - len(steps)
    apart: Any = x
    shape, wide = [*x.shape[:kept]], [*x.shape[:kept]]
    offsets: list[int] = []
    for size, step in zip(x.shape[kept:], steps, strict=True):
        shape.append(size * step)
        wide.append(size)
        if step > 1:
            apart = np.expand_dims(apart, len(wide))
            offsets.append(len(wide))
            wide.append(step)
    if offsets:
        first = [r.map("eq", r.positions(tuple(wide), d), 0) for d in offsets]
        whole: Any = np.broadcast_to(apart, tuple(wide))
        here = reduce(partial(r.map, "and"), first)
        x = TensorArray(r, r.map("where", here, whole.operand, 0.0))
    found: Any = x.reshape(*shape)
    pads = [
        (a, max(0, n - a - size))
        for a, n, size in zip(ahead, lengths, shape[kept:], strict=True)
    ]
    found = np.pad(found, [(0, 0)] * kept + pads)
    return found[(slice(None),) * kept + tuple(slice(0, n) for n in lengths)]
