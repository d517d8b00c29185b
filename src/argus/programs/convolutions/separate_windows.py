"""Transposed convolutions of which no output is reached by two inputs.

Where a window is no wider than a stride, each input makes a window of its own: one
product of matrices, with a row for each channel and tap. Its results lie in the output
one beside the other, with zeros where strides are wider than windows. So is the
gradient with respect to the input of patches, and of a convolution with one tap that
leaves pixels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.convolutions.channels_last import convolution_precision, nearest
from argus.programs.convolutions.flat_convolutions import without_gaps
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import permuted

_LEAST = 16
"""Fewer channels, or results of a pixel, than this are no work for tensor cores."""


def separate_products(
    x: TensorArray, weight: TensorArray, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], more: Sequence[int], groups: int,
) -> TensorArray | None:  # fmt: skip
    """Output (N, K, *lengths) of x (N, C, *space) and weight (C, K / groups, *taps).

    ``more``: elements behind the last window. None where windows overlap, or where a
    product would leave most of its tiles empty.
    """
    taps, space, count = weight.shape[2:], x.shape[2:], len(stride)
    # One input alone overlaps with none.
    stride = [
        max(s, k) if n == 1 else s for s, k, n in zip(stride, taps, space, strict=True)
    ]
    if set(stride) == {1} or x.element not in (bf16, f16, f32):
        return None
    for k, s, d in zip(taps, stride, dilation, strict=True):
        if k > s or (k > 1 and d > 1):
            return None
    channels, rows = weight.shape[0] // groups, prod(weight.shape[1:])
    if min(channels, rows) < _LEAST or x.element != weight.element:
        return None
    precision = convolution_precision(channels, taps, transposed=True)
    inputs = nearest(x, precision).reshape(x.shape[0], groups, channels, *space)
    filters = nearest(weight, precision).reshape(groups, channels, rows)
    pixels = "xyz"[:count]
    made = contracted(
        x.recorder, inputs.operand, filters.operand,
        f"ngc{pixels}", "gck", f"ngk{pixels}", precision=precision, alone=True,
    )  # fmt: skip
    windows = TensorArray(x.recorder, made).reshape(x.shape[0], -1, *taps, *space)
    order = [0, 1, *(d + i for d in range(2, 2 + count) for i in (count, 0))]
    turned: Any = windows.seen(permuted(windows.shape, order))
    apart = [
        pair for k, s in zip(taps, stride, strict=True) for pair in ((0, 0), (0, s - k))
    ]
    spread: Any = np.pad(turned, [(0, 0), (0, 0), *apart])
    wide = [n * s for n, s in zip(space, stride, strict=True)]
    line: Any = spread.reshape(*spread.shape[:2], *wide)
    lengths = [
        (n - 1) * s - 2 * p + k + m
        for n, s, p, k, m in zip(space, stride, padding, taps, more, strict=True)
    ]
    behind = [
        (0, max(0, p + o - w)) for o, p, w in zip(lengths, padding, wide, strict=True)
    ]
    whole: Any = (
        np.pad(line, [(0, 0), (0, 0), *behind]) if any(b for _, b in behind) else line
    )
    kept = (slice(p, p + o) for p, o in zip(padding, lengths, strict=True))
    return without_gaps(whole[(slice(None), slice(None), *kept)])
