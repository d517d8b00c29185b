"""Convolutions: sums of products over windows.

Of tensors with channels last where tensor cores take them so (`channels_last.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

import numpy as np

from argus.programs.convolutions.channels_last import (
    channels_last,
    convolution_precision,
    cudnn_takes_tf32,
    filters_last,
    nearest,
    products_last,
    worth_channels_last,
)
from argus.programs.convolutions.convolution_phases import (
    last_phase_products,
    phase_products,
    phases_of,
)
from argus.programs.convolutions.direct_convolutions import (
    channels_side_by_side,
    direct_products,
    rounded_as_read,
    worth_direct,
)
from argus.programs.convolutions.few_filters import few_filters
from argus.programs.convolutions.flat_convolutions import (
    Reading,
    flat_products,
    without_gaps,
    worth_flat,
)
from argus.programs.convolutions.separate_windows import separate_products
from argus.programs.convolutions.strided_convolutions import (
    pixel_products,
    unstrided_products,
)
from argus.programs.convolutions.zeros_between import (
    transposed_lengths,
    worth_between_zeros,
    zeros_between,
)
from argus.programs.operators.window_operators import windows_of
from argus.programs.tensors.numpy_functions import contracted, flip
from argus.programs.tensors.operator_table import each, own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.views import permuted


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
        found = _windowed(
            x, weight, steps, [(p, p) for p in pads], gaps, groups
        )  # fmt: skip
    return found if bias is None else found + bias.reshape(-1, *[1] * count)


def _windowed(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int,
) -> TensorArray:  # fmt: skip
    """The products over windows; of tensors with channels last where that is worth it.

    ``weight`` is (K, C / groups, *taps).
    """
    taps = weight.shape[2:]
    lengths = windows_of(x, taps, stride, borders, dilation, 0.0).shape[2 : -len(taps)]
    if prod(taps) > 1 and set(lengths) == {1}:
        return _one_window(x, weight, borders, dilation, groups)
    precision = convolution_precision(weight.shape[1], taps)
    if groups == 1:
        found = few_filters(x, weight, stride, borders, dilation, precision)
        if found is not None:
            return found
    if len(weight) == 1 and worth_channels_last(x, weight, 1, flat=True, phases=2):
        # No product of matrices has one row: another one is 0, and left out.
        rows: Any = np.pad(weight, [(0, 1), *[(0, 0)] * (weight.ndim - 1)])
        two = TensorArray(x.recorder, x.recorder.copied(rows.operand))
        return _windowed(x, two, stride, borders, dilation, 1)[:, :1]
    flat = set(stride) == {1}
    worth = worth_channels_last(x, weight, groups, flat=flat)
    whole = prod(taps) == 1 and flat  # a product of matrices
    if whole and precision == "tf32":
        whole = not rounded_as_read(x, weight, prod(lengths))
    direct = _direct_precision(precision, groups)
    if not whole and worth_direct(x, weight, stride, groups, direct, lengths):
        return direct_products(
            x, weight, stride, borders, dilation, groups, direct, lengths
        )
    if groups == 1 and set(dilation) == {1}:
        found = unstrided_products(x, weight, stride, borders, precision)
        if found is not None:
            return found
    if worth and flat:
        readings = [
            Reading(n + a + b - (k - 1) * d, k, d, (a, b))
            for n, k, d, (a, b) in zip(
                x.shape[2:], taps, dilation, borders, strict=True
            )
        ]
        worth = worth_channels_last(x, weight, groups, flat=False)
        filters = weight.shape[0] // groups
        if worth_flat(x, filters, 1, readings, precision, groups, rows=worth):
            split = weight.reshape(groups, -1, *weight.shape[1:])
            found = flat_products(x, split, readings, precision)
            found = found.reshape(x.shape[0], -1, *found.shape[3:])
            return without_gaps(found)
    if not worth:
        wide = windows_of(x, taps, stride, borders, dilation, 0.0)
        last = groups > 1 and channels_side_by_side(x.operand)
        return _products(wide, weight, groups, last=last)
    count = len(taps)
    filters = filters_last(weight, precision=precision)
    filters = filters.reshape(len(filters), groups, -1, *filters.shape[2:])
    # Groups lie between pixels and channels.
    split = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    aside = split.seen(permuted(split.shape, [0, 2, *range(3, count + 3), 1]))
    last = channels_last(aside, [*borders, (0, 0)], precision=precision)
    last = last.seen(
        permuted(last.shape, [0, count + 1, count + 2, *range(1, count + 1)])
    )
    none = [(0, 0)] * count
    wide = windows_of(last, taps, stride, none, dilation, 0.0)
    space, taps = "xyz"[:count], "rst"[:count]
    windows = wide.seen(permuted(wide.shape, [0, 1, *range(3, wide.ndim), 2]))
    found = products_last(
        windows, filters, f"ng{space}{taps}c", f"gk{taps}c", f"ngk{space}"
    )
    return found.reshape(found.shape[0], -1, *found.shape[3:])


def _direct_precision(precision: str, groups: int) -> str:
    """CuDNN multiplies groups of few channels in tf32, too (seen on an H200)."""
    return "tf32" if groups > 1 and cudnn_takes_tf32() else precision


def _one_window(
    x: TensorArray, weight: TensorArray, borders: Sequence[tuple[int, int]],
    dilation: Sequence[int], groups: int,
) -> TensorArray:  # fmt: skip
    """The only window of each image: images are rows of a product of matrices."""
    taps, one = weight.shape[2:], (1,) * (weight.ndim - 2)
    precision = convolution_precision(weight.shape[1], taps)
    wide = windows_of(x, taps, one, borders, dilation, 0.0)
    kept = (slice(None), slice(None), *[slice(0, 1)] * len(taps))
    with x.recorder.in_order_of_dimensions():  # a sum is one row
        rows = nearest(wide[kept].reshape(len(x), groups, -1), precision)
        filters = nearest(weight.reshape(groups, len(weight) // groups, -1), precision)
    made = contracted(
        x.recorder, rows.operand, filters.operand, "ngc", "gkc", "ngk",
        precision=precision,
    )  # fmt: skip
    return TensorArray(x.recorder, made).reshape(len(x), -1, *one)


def _products(
    wide: TensorArray, weight: TensorArray, groups: int, *, last: bool
) -> TensorArray:
    """Windows (N, C, *space, *taps) times filters (K, C / groups, *taps).

    ``last``: channels of a pixel lie side by side, and those of results shall.
    """
    count = weight.ndim - 2
    space, taps = "xyz"[:count], "rst"[:count]
    precision = convolution_precision(weight.shape[1], weight.shape[2:])
    if prod(weight.shape[2:]) == 1:  # products of matrices: their factors are rounded
        wide, weight = nearest(wide, precision), nearest(weight, precision)
    if groups == 1:
        if prod(weight.shape[2:]) == 1:
            pixels = wide.reshape(*wide.shape[: 2 + count])
            return pixel_products(pixels, weight.reshape(*weight.shape[:2]), precision)
        product = contracted(
            wide.recorder, wide.operand, weight.operand,
            f"nc{space}{taps}", f"kc{taps}", f"nk{space}",
            precision=precision,
        )  # fmt: skip
        return TensorArray(wide.recorder, product)
    inputs = wide.reshape(wide.shape[0], groups, -1, *wide.shape[2:])
    filters = weight.reshape(groups, -1, *weight.shape[1:])
    letters, result = f"gkc{taps}", f"ngk{space}"
    if last:  # numbers of one tap side by side, as what they are multiplied with
        turned = filters.seen(permuted(filters.shape, [*range(3, 3 + count), 0, 1, 2]))
        filters = TensorArray(wide.recorder, wide.recorder.copied(turned.operand))
        letters, result = f"{taps}gkc", f"n{space}gk"
    product = contracted(
        wide.recorder, inputs.operand, filters.operand,
        f"ngc{space}{taps}", letters, result, precision=precision,
    )  # fmt: skip
    parts = TensorArray(wide.recorder, product)
    if last:
        parts = parts.seen(
            permuted(parts.shape, [0, count + 1, count + 2, *range(1, count + 1)])
        )
    return parts.reshape(parts.shape[0], -1, *parts.shape[3:])


def _transposed(
    x: TensorArray, weight: TensorArray, stride: list[int], padding: list[int],
    dilation: list[int], more: list[int], groups: int,
) -> TensorArray:  # fmt: skip
    """Output o sums input i times tap r over all ``i * stride + r * dilation = o + p``.

    Filters are (C, K / groups, *taps).
    """
    taps = weight.shape[2:]
    alone = groups == 1 and weight.shape[1] == 1 and set(stride) == {1}
    turned: Any = np.swapaxes(weight, 0, 1)  # type: ignore[call-overload]
    if alone and worth_channels_last(x, turned, 1, flat=True, phases=2):
        rows: Any = np.pad(weight, [(0, 0), (0, 1), *[(0, 0)] * len(taps)])
        two = TensorArray(x.recorder, x.recorder.copied(rows.operand))
        return _transposed(x, two, stride, padding, dilation, more, 1)[:, :1]
    found = separate_products(x, weight, stride, padding, dilation, more, groups)
    if found is not None:
        return found
    found = _between_zeros(x, weight, stride, padding, dilation, more, groups)
    if found is not None:
        return found
    whole = all(d % s == 1 % s for s, d in zip(stride, dilation, strict=True))
    if not whole:
        return _spread_out(x, weight, stride, padding, dilation, more, groups)
    phases = phases_of(x, weight, stride, padding, dilation, more, groups)
    straight = all(f.step == 1 or not f.again for f in phases)
    found = None
    if straight:
        found = last_phase_products(x, weight, phases, groups)
    if found is None and len(taps) == 3 and groups > 1:  # more dimensions than fit
        return _spread_out(x, weight, stride, padding, dilation, more, groups)
    if found is None:
        found = phase_products(x, weight, phases, groups)
    whole = [f.sizes[0] * f.sizes[1] for f in phases]
    found = found.reshape(x.shape[0], -1, *whole)
    kept = (slice(f.front, f.front + f.length) for f in phases)
    return found[(slice(None), slice(None), *kept)]


def _between_zeros(
    x: TensorArray, weight: TensorArray, stride: list[int], padding: list[int],
    dilation: list[int], more: list[int], groups: int,
) -> TensorArray | None:  # fmt: skip
    """The results at multiples of what divides stride and dilation; others are 0.

    ``i * s + r * d = o + p`` has no solution where g, which divides s and d, does not
    divide o + p. Where it does, it is that of s / g, d / g and (o + p) / g. None where
    there is no such g, or copying results takes longer than multiplying zeros.
    """
    common = [gcd(s, d) for s, d in zip(stride, dilation, strict=True)]
    lengths = transposed_lengths(x, weight, stride, padding, dilation, more)
    first = [-(-p // g) for p, g in zip(padding, common, strict=True)]
    last = [(n - 1 + p) // g for n, p, g in zip(lengths, padding, common, strict=True)]
    if any(a > b for a, b in zip(first, last, strict=True)):
        return None
    if not worth_between_zeros(x, weight, groups, prod(lengths), prod(common)):
        return None
    steps = [s // g for s, g in zip(stride, common, strict=True)]
    gaps = [d // g for d, g in zip(dilation, common, strict=True)]
    none = [0] * len(steps)
    whole = transposed_lengths(x, weight, steps, first, gaps, none)
    rest = [b - a + 1 - n for a, b, n in zip(first, last, whole, strict=True)]
    made = _transposed(x, weight, steps, first, gaps, rest, groups)
    ahead = [f * g - p for f, g, p in zip(first, common, padding, strict=True)]
    return zeros_between(made, common, ahead, lengths)


def _spread_out(
    x: TensorArray, weight: TensorArray, stride: list[int], padding: list[int],
    dilation: list[int], more: list[int], groups: int,
) -> TensorArray:  # fmt: skip
    """The convolution of the input, ``stride - 1`` zeros after each of its elements.

    The taps are in reverse; the input with zeros is a tensor of its own.
    """
    none = [0] * len(stride)
    lengths = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], stride, strict=True)]
    spread = zeros_between(x, stride, none, lengths)
    borders = [
        ((k - 1) * d - p, (k - 1) * d - p + m)
        for k, d, p, m in zip(weight.shape[2:], dilation, padding, more, strict=True)
    ]
    one = [1] * len(stride)
    taps: Any = flip(weight, tuple(range(2, weight.ndim)))
    split: Any = taps.reshape(groups, -1, *weight.shape[1:])
    filters: Any = np.swapaxes(split, 1, 2)
    whole = filters.reshape(-1, *filters.shape[2:])
    return _windowed(spread, whole, one, borders, dilation, groups)
