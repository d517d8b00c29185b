"""Convolutions of pixels as they lie: each tap is a product of matrices.

Channels of a pixel lie side by side, and TMA brings pixels of several lines and images
with zeros for what is outside (`products/box_tiles.py`). So nothing is copied to have a
border, and results have no gaps. The result lies as the input does, channels last.

Of few pixels and many channels, parts of these are results first, which are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from argus.ir.dtypes import bf16, f16, f32
from argus.isa.tma import MAX_STEP
from argus.programs.convolutions.channels_last import (
    channels_last,
    channels_of,
    filters_last,
)
from argus.programs.operators.window_operators import windows_of
from argus.programs.products.box_tiles import boxes_fill_tiles, provable
from argus.programs.products.product_tiles import parts_of_channels
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.offsets import digits_through, offsets_through
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import MapPrimitive, ViewedValue
from argus.programs.tensors.views import permuted, repeated

_DIMENSIONS = 3
"""Of an image, at most: with channels and images TMA walks five."""
_LEAST, _LEAST_OF_GROUP = 16, 4
"""Channels, filters and pixels below which tiles are mostly empty; channels of a group
of which several are one."""
_LAUNCH, _BYTES, _ROUNDED = 2.0, 3.9e6, 1.0e9
"""Microseconds of a launch behind another one; bytes that a copy moves, and operations
for which rounding factors in registers takes longer, in a microsecond (an H200)."""
_STEP, _FULL = 64, 128
"""Channels of a step of K, and its bytes."""


def worth_direct(
    x: TensorArray, weight: TensorArray, stride: Sequence[int], groups: int,
    precision: str, lengths: Sequence[int],
) -> bool:  # fmt: skip
    """Whether tensor cores multiply such tensors, in tiles that are not mostly empty.

    Not f32 in full: parts of it would lie beside each other. Where channels of a pixel
    do not lie side by side, the input is turned. That is worth it between layers, and
    of channels that fill steps of K for windows that begin every few pixels, and for
    pixels so few that channels are cut into parts.
    """
    filters, channels = weight.shape[:2]
    fits = x.element == weight.element and x.element in (bf16, f16, f32)
    if not fits or max(stride) > MAX_STEP or (x.element, precision) == (f32, "f32"):
        return False
    together = _together(groups, channels) if groups > 1 else 1
    turned = groups == 1 and channels * x.element.bytes >= _FULL
    strided = set(stride) != {1}
    if not (
        _behind_a_layer(x.operand)
        or (turned and (strided or _parts_of(x, weight, channels, groups, lengths) > 1))
    ):
        return False
    if not provable(lengths, weight.shape[2:]):
        return False
    if not boxes_fill_tiles((len(x), *lengths), (1, *stride)):
        return False
    if min(filters // groups * together, channels * together, prod(lengths)) < _LEAST:
        return False
    small = groups > 1 and channels < _LEAST_OF_GROUP
    return not small and len(lengths) + (groups > 1) <= _DIMENSIONS


def direct_products(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int,
    precision: str, lengths: Sequence[int],
) -> TensorArray:  # fmt: skip
    """The convolution (N, K, *lengths) of x (N, C, *space) and weight (K, C/g, *taps).

    Of what is `worth_direct`.
    """
    count = len(stride)
    weight, groups = _few_groups(weight, groups)
    rounded = rounded_as_read(x, weight, prod(lengths))
    inner = x if rounded else _pixels(x, precision)
    filters = _filters(weight, precision)
    parts = _parts_of(inner, weight, inner.shape[1], groups, lengths)
    split = inner.reshape(len(inner), groups, parts, -1, *inner.shape[2:])
    windows = windows_of(split, weight.shape[2:], stride, borders, dilation, 0.0)
    each = filters.reshape(groups, -1, *filters.shape[1:-1], parts, split.shape[3])
    space, taps = "xyz"[:count], "rst"[:count]
    product = contracted(
        x.recorder, windows.operand, each.operand,
        f"ngpc{space}{taps}", f"gk{taps}pc", f"pn{space}gk",
        dtype=inner.element if parts == 1 else f32,
        precision="nearest" if rounded else "tf32",
    )  # fmt: skip
    each_part: Any = TensorArray(x.recorder, product)
    summed = each_part[0] if parts == 1 else np.sum(each_part, 0)
    made: TensorArray = summed.cast(inner.element)
    made = made.reshape(*made.shape[: 1 + count], -1)
    return made.seen(permuted(made.shape, [0, count + 1, *range(1, count + 1)]))


def _parts_of(
    x: TensorArray, weight: TensorArray, channels: int, groups: int,
    lengths: Sequence[int],
) -> int:  # fmt: skip
    """How many sums of channels are results first: a dimension more, if any is left."""
    if groups > 1 or len(lengths) == _DIMENSIONS:
        return 1
    taps = prod(weight.shape[2:])
    return parts_of_channels((len(x), *lengths), len(weight), channels, taps, x.element)


def rounded_as_read(x: TensorArray, weight: TensorArray, pixels: int) -> bool:
    """Whether a kernel that rounds f32 as it reads takes less time than a copy before.

    ``pixels``: of the result, in an image.
    """
    if x.element != f32 or not _lies_so(x):
        return False
    copied = copy_time(x.size * f32.bytes)
    return 2 * len(x) * pixels * weight.size / _ROUNDED < copied


def copy_time(size: int) -> float:
    """Microseconds of a launch that copies so many bytes."""
    return _LAUNCH + 2 * size / _BYTES


def channels_side_by_side(operand: ViewedValue) -> bool:
    """Whether channels lie side by side, in at least half of the images it is made of.

    What is one number for a channel (a bias, a mean) is no image: it lies so in any
    order.
    """
    parts = [part for part in _parts(operand) if not _of_channels(part)]
    return 2 * sum(map(_beside, parts)) >= max(1, len(parts))


def _behind_a_layer(operand: ViewedValue) -> bool:
    """Whether an operand is made of an image with such channels, or of their numbers.

    With these (norms, biases) a convolution's result becomes the next one's input: it
    is computed and stored anew between them, in the order that the next one takes.
    """
    return any(map(_beside, _parts(operand)))


def _parts(operand: ViewedValue) -> Iterator[ViewedValue]:
    """What an operand of the same shape is computed of, as far as it has no order."""
    made = operand.value.made
    if _beside(operand) or operand.views or not isinstance(made, MapPrimitive):
        yield operand
        return
    for part in made.operands:
        if isinstance(part, ViewedValue) and part.shape == operand.shape:
            yield from _parts(part)


def _beside(operand: ViewedValue) -> bool:
    """Whether channels lie side by side, perhaps of pixels that are repeated."""
    found = digits_through(operand) if prod(operand.shape) else None
    if found is None or operand.shape[1] < 2:
        return False
    return [step for _, step in found[0][1]] == [1]


def _of_channels(operand: ViewedValue) -> bool:
    """Whether all pixels of all images are alike."""
    found = offsets_through(operand)
    return found is not None and not any(found[0][:1] + found[0][2:])


def _together(groups: int, channels: int) -> int:
    """How many groups are one, so that a step of K is no longer than their channels."""
    able = (n for n in range(1, groups + 1) if groups % n == 0)
    return max((n for n in able if n * channels <= _STEP), default=1)


def _few_groups(weight: TensorArray, groups: int) -> tuple[TensorArray, int]:
    """Filters of fewer groups with more channels, those of other groups times 0."""
    filters, channels, *taps = weight.shape
    together = _together(groups, channels)
    if together == 1:
        return weight, groups
    shape = (groups // together, together, filters // groups, together, channels, *taps)
    r = weight.recorder
    alone = weight.reshape(*shape[:3], 1, *shape[4:])
    wide = TensorArray(r, alone.operand.through(repeated(alone.shape, shape)))
    own = r.map("eq", r.positions(shape, 1), r.positions(shape, 3))
    made = TensorArray(r, r.map("where", own, wide.operand, 0.0))
    return made.reshape(filters, together * channels, *taps), groups // together


def _pixels(x: TensorArray, precision: str) -> TensorArray:
    """The input (N, C, *space), rounded, with channels side by side in memory."""
    if x.element != f32 and _lies_so(x):
        return x
    made = channels_last(x, precision=precision)
    return made.seen(permuted(made.shape, [0, made.ndim - 1, *range(1, made.ndim - 1)]))


def _filters(weight: TensorArray, precision: str) -> TensorArray:
    """Filters (K, *taps, C), rounded; as they lie where they do so."""
    if weight.element == f32 or not _lies_so(weight):
        return filters_last(weight, precision=precision)[0]
    order = [0, *range(2, weight.ndim), 1]
    return weight.seen(permuted(weight.shape, order))


def _lies_so(x: TensorArray) -> bool:
    """Whether channels lie side by side, as many as fill whole steps of 16 bytes."""
    whole = channels_of(x.element, x.shape[1], "") == x.shape[1]
    found = offsets_through(x.operand)
    return whole and found is not None and found[0][1] == 1
