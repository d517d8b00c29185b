"""Convolutions of pixels as they lie: each tap is a product of matrices.

Channels of a pixel lie side by side, and TMA brings pixels of several lines and images
with zeros for what is outside (`products/box_tiles.py`). So nothing is copied to have a
border, and results have no gaps. The result lies as the input does, channels last.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.convolutions.channels_last import (
    channels_last,
    channels_of,
    filters_last,
    products_last,
)
from argus.programs.operators.window_operators import windows_of
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import MapPrimitive, ViewedValue
from argus.programs.tensors.views import permuted

_DIMENSIONS = 3
"""Of an image, at most: with channels and images TMA walks five."""
_LEAST = 16
"""Channels, filters and pixels below which tiles are mostly empty."""


def direct_products(
    x: TensorArray, weight: TensorArray, stride: Sequence[int],
    borders: Sequence[tuple[int, int]], dilation: Sequence[int], precision: str,
) -> TensorArray | None:  # fmt: skip
    """The convolution (N, K, *lengths) of x (N, C, *space) and weight (K, C, *taps).

    None where tensor cores take no such operands.
    """
    count = len(stride)
    if set(stride) != {1} or count > _DIMENSIONS:
        return None
    if x.element == f32 and precision == "f32":
        return None  # parts of f32 lie beside each other
    inner = pixels(x, precision)
    taps = weight.shape[2:]
    windows = windows_of(inner, taps, stride, borders, dilation, 0.0)
    filters = _filters(weight, precision)
    space, letters = "xyz"[:count], "rst"[:count]
    last = windows.seen(permuted(windows.shape, [0, *range(2, windows.ndim), 1]))
    found = products_last(
        last, filters, f"n{space}{letters}c", f"k{letters}c", f"n{space}k"
    )
    order = [0, count + 1, *range(1, count + 1)]
    return found.seen(permuted(found.shape, order))


def worth_direct(
    x: TensorArray, weight: TensorArray, groups: int, lengths: Sequence[int]
) -> bool:
    """Whether channels of pixels lie side by side, so that nothing has to be turned.

    And whether tensor cores multiply such tensors, in tiles that are not mostly empty.
    """
    filters, channels = weight.shape[:2]
    fits = x.element == weight.element and x.element in (bf16, f16, f32)
    few = min(filters, channels) < _LEAST or prod(lengths) < _LEAST
    return fits and groups == 1 and not few and _channels_side_by_side(x.operand)


def pixels(x: TensorArray, precision: str) -> TensorArray:
    """The input (N, C, *space), rounded, with channels side by side in memory."""
    if x.element != f32 and _lies_so(x):
        return x
    made: Any = channels_last(x, precision=precision)
    return made.seen(permuted(made.shape, [0, made.ndim - 1, *range(1, made.ndim - 1)]))


def _filters(weight: TensorArray, precision: str) -> TensorArray:
    """The parts (1) of filters (K, *taps, C), rounded; as they lie where they do so."""
    if weight.element == f32 or not _lies_so(weight):
        return filters_last(weight, precision=precision)
    order = [0, *range(2, weight.ndim), 1]
    return weight.seen(permuted(weight.shape, order))[None]


def _lies_so(x: TensorArray) -> bool:
    """Whether channels lie side by side, as many as fill whole steps of 16 bytes."""
    whole = channels_of(x.element, x.shape[1], "") == x.shape[1]
    return whole and _step(x.operand) == 1


def _step(operand: ViewedValue) -> int:
    """How far apart channels lie; 0: here and there."""
    found = offsets_through(operand)
    return 0 if found is None else found[0][1]


def _channels_side_by_side(operand: ViewedValue) -> bool:
    """Whether channels lie side by side, or do so in what an operand is computed of."""
    if prod(operand.shape) and _step(operand) == 1 and operand.shape[1] > 1:
        return True
    made = operand.value.made
    if operand.views or not isinstance(made, MapPrimitive):
        return False
    return any(
        isinstance(part, ViewedValue)
        and part.shape == operand.shape
        and _channels_side_by_side(part)
        for part in made.operands
    )
