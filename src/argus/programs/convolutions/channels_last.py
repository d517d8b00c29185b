"""Operands of convolutions as TMA takes them: channels last, borders written out.

A pixel is a row of channels, so that windows are rows of a matrix that begin every
``stride`` pixels, and a convolution is a product of matrices (`products.py`). Channels
are filled up with zeros to 16 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from argus.ir.dtypes import DType, bf16, f16, f32
from argus.programs.products.product_forms import TMA_BYTES
from argus.programs.tensors.numpy_functions import contracted
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import ViewedValue
from argus.programs.tensors.views import permuted

_LEAST_SUM, _FULL_SUM = 9, 16
"""Fewer products than this in a sum are no work for tensor cores, and fewer than a step
of them only where filters fill half a tile (the first layer of a net for sound)."""
_MANY_FILTERS = 32
_LEAST_CHANNELS, _LEAST_OF_GROUP = 16, 8
_FEW_CHANNELS, _SHORT_SUM = 16, 128
_LEAST_ROW = 16
_LEAST_IMAGE = 16
"""Channels and pixels of a row of the result below which tiles are mostly empty; pixels
of an image where they are one row. A sum that is not short takes longer without tensor
cores than in tiles that are mostly empty.
"""


def convolution_precision(
    channels: int, taps: Sequence[int], *, transposed: bool = False
) -> str:
    """What torch multiplies of f32 in a convolution: "tf32" or "f32".

    By its flag of this moment. For few channels cuDNN takes f32 all the same (seen on
    an H200): in three dimensions, and for short sums, but not if it is transposed.
    """
    if not cudnn_takes_tf32():
        return "f32"
    short = len(taps) > 2 or channels * prod(taps) < _SHORT_SUM
    few = channels < _FEW_CHANNELS and short and not transposed
    return "f32" if few else "tf32"


def cudnn_takes_tf32() -> bool:
    """Torch's flag of this moment."""
    import torch

    return bool(torch.backends.cudnn.allow_tf32)


def worth_channels_last(
    x: TensorArray, weight: TensorArray, groups: int, *, flat: bool, phases: int = 1
) -> bool:
    """Whether tensor cores multiply such tensors, and tiles are not mostly empty.

    ``weight`` is (K, C / groups, *taps). ``flat``: all pixels may be one row.
    ``phases``: results of a channel that share their windows.
    """
    if x.element != weight.element or x.element not in (bf16, f16, f32):
        return False
    out, channels, *taps = weight.shape
    few = _LEAST_CHANNELS if groups == 1 else _LEAST_OF_GROUP
    if channels * prod(taps) >= _SHORT_SUM:
        few = 2
    if channels * prod(taps) < _FULL_SUM:
        few = _MANY_FILTERS
    out = out // groups * phases
    if out < few or channels * prod(taps) < _LEAST_SUM or prod(taps) < 2:
        return False
    if flat and prod(x.shape[2:]) >= _LEAST_IMAGE:
        return True
    if groups > 1 and len(taps) > 2:  # more dimensions than is proved
        return False
    row = 1
    for n, tap in zip(reversed(x.shape[2:]), reversed(taps), strict=True):
        row *= n
        if tap > 1:  # before it pixels of several rows follow each other
            break
    return row >= _LEAST_ROW


def nearest(x: TensorArray, precision: str) -> TensorArray:
    """Elements as torch multiplies them: of f32 the nearest ones with 11 bits.

    The instructions cut bits off, and err twice as much.
    """
    if x.element != f32 or precision != "tf32":
        return x
    return TensorArray(x.recorder, x.recorder.map("nearest_tf32", x.operand))


def channels_last(
    x: TensorArray,
    borders: Sequence[tuple[int, int]] | None = None,
    *,
    precision: str,
) -> TensorArray:
    """A copy (N, *space, C) of (N, C, *space), with borders of zeros.

    There are as many channels as fill whole steps of 16 bytes. Elements are `nearest`.
    Of f32 in full, there are twice the channels: a number is high + low, both of 11
    bits; first are all that are high.
    """
    wide, r = _filled_up(x, precision, borders), x.recorder
    with r.in_order_of_dimensions():
        if _in_full(x, precision):
            high, low = _high_and_low(_before_channels(wide))
            number = r.positions((*wide.shape[:-1], 2, wide.shape[-1]), wide.ndim - 1)
            parts = r.map("where", r.map("eq", number, 1), low, high)
            return TensorArray(r, parts).reshape(*wide.shape[:-1], 2 * wide.shape[-1])
        copied = nearest(wide, precision)
    return TensorArray(r, r.copied(wide.operand)) if copied is wide else copied


def filters_last(weight: TensorArray, *, precision: str) -> TensorArray:
    """Filters (parts, K, *taps, C) of (K, C, *taps), for such an input.

    Of f32 in full there are two parts, and the product with an input is the sum of
    those with each: high * high + low * high, and high * low.
    """
    wide = _filled_up(weight, precision)
    if not _in_full(weight, precision):
        return channels_last(weight, precision=precision)[None]
    r, rank = weight.recorder, wide.ndim
    shape = (2, *wide.shape[:-1], 2, wide.shape[-1])
    with r.in_order_of_dimensions():
        high, low = _high_and_low(_before_channels(wide)[None])
        first = r.map("eq", r.positions(shape, 0), 0)
        other = r.map("where", r.map("eq", r.positions(shape, rank), 0), low, 0.0)
        parts = TensorArray(r, r.map("where", first, high, other))
    return parts.reshape(*shape[:-2], 2 * shape[-1])


def products_last(
    inputs: TensorArray, filters: TensorArray, left: str, right: str, result: str,
    *, alone: bool = False, dtype: DType | None = None,
) -> TensorArray:  # fmt: skip
    """Products of inputs with filters that have their parts first.

    Letters and ``dtype`` are those of `contracted`, without parts.
    """
    terms = ((0, 0), (0, 1)) if len(filters) == 2 else ()
    given = (inputs[None], filters) if terms else (inputs, filters[0])
    letters = ("T" + left, "U" + right) if terms else (left, right)
    made = contracted(
        inputs.recorder, given[0].operand, given[1].operand, *letters, result,
        precision="tf32", terms=terms, alone=alone, dtype=dtype,
    )  # fmt: skip
    return TensorArray(inputs.recorder, made)


def channels_of(x: DType, channels: int, precision: str) -> int:
    """How many channels such a copy has."""
    parts = 2 if x == f32 and precision == "f32" else 1
    unit = TMA_BYTES // x.bytes
    return ceil(channels * parts / unit) * unit


def _in_full(x: TensorArray, precision: str) -> bool:
    return x.element == f32 and precision == "f32"


def _filled_up(
    x: TensorArray, precision: str, borders: Sequence[tuple[int, int]] | None = None
) -> TensorArray:
    """Seen as (N, *space, C), with borders, and channels that fill whole steps."""
    rank, channels = x.ndim, channels_of(x.element, x.shape[1], precision)
    channels //= 2 if _in_full(x, precision) else 1
    around = [(0, 0)] * (rank - 2) if borders is None else list(borders)
    wide: Any = np.pad(x, [(0, 0), (0, channels - x.shape[1]), *around])  # type: ignore[call-overload]
    return wide.seen(permuted(wide.shape, [0, *range(2, rank), 1]))


def _before_channels(x: TensorArray) -> TensorArray:
    """With a dimension of size 1 before the last."""
    return x[(..., None, slice(None))]


def _high_and_low(x: TensorArray) -> tuple[ViewedValue, ViewedValue]:
    r = x.recorder
    high = r.map("nearest_tf32", x.operand)
    return high, r.map("nearest_tf32", r.map("sub", x.operand, high))
