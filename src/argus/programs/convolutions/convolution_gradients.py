"""Gradients of convolutions as products.

That of the input is a transposed convolution with the same filters; of a transposed
one, a convolution. That of filters sums over images n and pixels o:

    weight[k, c, r] = sum of given[n, k, o] * x[n, c, o * stride + r * dilation]

As a product of matrices, columns are channels and taps, and the sum runs over pixels.
Tensor cores take factors that lie along the sum, so windows are a copy of their own in
that order (im2col: Chellapilla, Puri and Simard, 2006); with one tap there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.convolutions.channels_last import convolution_precision, nearest
from argus.programs.convolutions.convolution_operators import convolution
from argus.programs.operators.window_operators import windows_of
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.operator_table import each, own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import permuted

_LEAST_ROWS = 8
"""Filters, or channels times taps, of a group below which tiles are mostly empty."""

_FRACTION = 4
"""What is so many times smaller than an input takes little time to be stored."""


@own("convolution_backward")
def convolution_backward(
    given: TensorArray, x: TensorArray, weight: TensorArray, bias_sizes: Any,
    stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int, wanted: Sequence[bool],
) -> list[Any]:  # fmt: skip
    """Gradients of input, filters and bias, of those that are ``wanted``."""
    count = weight.ndim - 2
    steps, pads, gaps = (each(v, count) for v in (stride, padding, dilation))
    found: list[Any] = [None, None, None]
    if wanted[0]:
        more = [0] * count
        if not transposed:
            more = [
                n - ((o - 1) * s - 2 * p + d * (k - 1) + 1)
                for n, o, k, s, p, d in zip(
                    x.shape[2:], given.shape[2:], weight.shape[2:], steps, pads, gaps,
                    strict=True,
                )
            ]  # fmt: skip
        found[0] = convolution(
            given, weight, None, steps, pads, gaps, not transposed, more, groups
        )
    if wanted[1]:
        narrow, wide = (x, given) if transposed else (given, x)
        taps = weight.shape[2:]
        with x.recorder.in_order_of_dimensions():
            found[1] = _of_filters(narrow, wide, taps, steps, pads, gaps, groups)
    if wanted[2]:
        found[2] = np.sum(given, (0, *range(2, given.ndim)))  # type: ignore[call-overload]
    return found


def _of_filters(
    narrow: TensorArray, wide: TensorArray, taps: Sequence[int], stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], groups: int,
) -> TensorArray:  # fmt: skip
    """Gradients (K, C / groups, *taps) of filters.

    ``narrow`` (N, K, *pixels) has a pixel for each window of ``wide`` (N, C, *space).
    """
    count, space = len(taps), narrow.shape[2:]
    precision = convolution_precision(wide.shape[1] // groups, taps)
    images, r = wide.shape[0], wide.recorder
    own_rows = narrow.shape[1] // groups
    columns = wide.shape[1] // groups * prod(taps)
    few = (
        min(own_rows, columns) < _LEAST_ROWS
        or narrow.element != wide.element
        or wide.element not in (bf16, f16, f32)
    )
    if few and groups == 1:  # sums walk pixels, which take turns where they lie apart
        narrow, wide = _with_lines(narrow), _with_lines(wide)
    windows = windows_of(
        wide, taps, stride, [(p, p) for p in padding], dilation, 0.0
    )  # (N, C, *pixels, *taps)
    windows = windows[(slice(None), slice(None), *(slice(0, n) for n in space))]
    narrow = narrow.reshape(images, groups, own_rows, *space)
    if few:
        return _in_loops(narrow, windows, count, precision)
    order = [0, 1, *range(2 + count, 2 + 2 * count), *range(2, 2 + count)]
    turned = nearest(windows.seen(permuted(windows.shape, order)), precision)
    if prod(taps) > 1:
        turned = TensorArray(r, r.copied(turned.operand))
    line = turned.reshape(images, groups, columns, prod(space))
    rows = nearest(narrow.reshape(images, groups, own_rows, prod(space)), precision)
    made = contracted(
        r, rows.operand, line.operand, "ngkx", "ngcx", "gkc", precision=precision
    )
    return TensorArray(r, made).reshape(groups * own_rows, -1, *taps)


def _with_lines(x: TensorArray) -> TensorArray:
    """The same, as a copy where pixels of a line do not lie side by side."""
    if _side_by_side(x):
        return x
    return TensorArray(x.recorder, x.recorder.copied(x.operand))


def _in_loops(
    narrow: TensorArray, windows: TensorArray, count: int, precision: str
) -> TensorArray:
    """Gradients of filters without tensor cores, in parts, so that many blocks sum.

    ``narrow`` is (N, groups, K / groups, *pixels), ``windows`` (N, C, *pixels, *taps).
    A part is an image; and some of its rows where pixels do not lie side by side, since
    then a block has channels instead.
    """
    images, groups, own_rows, *space = narrow.shape
    taps = windows.shape[2 + count :]
    split = windows.reshape(images, groups, -1, *windows.shape[2:])
    pixels, at = "xyz"[:count], "rst"[:count]
    each = groups * own_rows * split.shape[2] * prod(taps) * images
    cut = ""
    if count > 1 and each <= narrow.size:
        cut = "n"
        parts = max(
            d
            for d in range(1, space[0] + 1)
            if space[0] % d == 0 and (d == 1 or each * d * _FRACTION <= narrow.size)
        )
        if parts > 1 and not _side_by_side(narrow):
            digits = (parts, space[0] // parts, *space[1:])
            narrow = narrow.reshape(images, groups, own_rows, *digits)
            split = split.reshape(images, groups, split.shape[2], *digits, *taps)
            cut, pixels = "np", "p" + pixels
    made = contracted(
        narrow.recorder, narrow.operand, split.operand, f"ngk{pixels}",
        f"ngc{pixels}{at}", f"{cut}gkc{at}", precision=precision,
    )  # fmt: skip
    found: Any = TensorArray(narrow.recorder, made)
    if cut:
        found = np.sum(found, tuple(range(len(cut))))  # type: ignore[call-overload]
    return found.reshape(-1, *found.shape[2:])


def _side_by_side(x: TensorArray) -> bool:
    """Whether elements of the last dimension follow each other in memory."""
    found = offsets_through(x.operand)
    return found is None or found[0][-1] == 1
