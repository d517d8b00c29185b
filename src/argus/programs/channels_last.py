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

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.products import TMA_BYTES
from argus.programs.tensor_array import TensorArray
from argus.programs.views import LinearView, permuted

_LEAST_SUM = 16
"""Fewer products than this in a sum are no work for tensor cores."""
_LEAST_CHANNELS, _LEAST_OF_GROUP = 16, 8
_FEW_CHANNELS, _SHORT_SUM = 16, 128
_LEAST_ROW = 16
"""Channels and pixels of a row of the result below which tiles are mostly empty."""


def convolution_precision(
    channels: int, taps: Sequence[int], *, transposed: bool = False
) -> str:
    """What torch multiplies of f32 in a convolution: "tf32" or "f32".

    By its flag of this moment. For few channels cuDNN takes f32 all the same (seen on
    an H200): in three dimensions, and for short sums, but not if it is transposed.
    """
    import torch

    if not torch.backends.cudnn.allow_tf32:
        return "f32"
    short = len(taps) > 2 or channels * prod(taps) < _SHORT_SUM
    few = channels < _FEW_CHANNELS and short and not transposed
    return "f32" if few else "tf32"


def worth_channels_last(x: TensorArray, weight: TensorArray, groups: int) -> bool:
    """Whether tensor cores multiply such tensors, and tiles are not mostly empty.

    ``weight`` is (K, C / groups, *taps).
    """
    if x.element != weight.element or x.element not in (bf16, f16, f32):
        return False
    out, channels, *taps = weight.shape
    if groups > 1 and len(taps) > 2:  # more dimensions than is proved
        return False
    few = _LEAST_CHANNELS if groups == 1 else _LEAST_OF_GROUP
    if out // groups < few or channels * prod(taps) < _LEAST_SUM or prod(taps) < 2:
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
    filters: bool = False,
) -> TensorArray:
    """A copy (N, C, *space) that lies as (N, *space, C), with borders of zeros.

    There are as many channels as fill whole steps of 16 bytes. Elements are `nearest`.
    Of f32 in full, there are three times the channels: a number is high + low, both of
    11 bits, and high * high + high * low + low * high are products of channels. They
    are high, high, low, and of ``filters`` high, low, high.
    """
    rank, unit = x.ndim, TMA_BYTES // x.element.bytes
    more = ceil(x.shape[1] / unit) * unit - x.shape[1]
    around = [(0, 0)] * (rank - 2) if borders is None else list(borders)
    wide: Any = np.pad(x, [(0, 0), (0, more), *around])  # type: ignore[call-overload]
    if x.element == f32 and precision == "f32":
        copied = _three_parts(wide, low=1 if filters else 2)
    else:
        last = wide.seen(permuted(wide.shape, [0, *range(2, rank), 1]))
        copied = nearest(last, precision)
        if copied is last:
            copied = TensorArray(x.recorder, x.recorder.copied(last.operand))
    return copied.seen(permuted(copied.shape, [0, rank - 1, *range(1, rank - 1)]))


def _three_parts(x: TensorArray, low: int) -> TensorArray:
    """(N, *space, 3 C) of (N, C, *space): part number ``low`` is what is low."""
    r, rank = x.recorder, x.ndim
    shape = (x.shape[0], *x.shape[2:], 3, x.shape[1])
    places = [((0, 1),), ((rank, 1),), *(((d - 1, 1),) for d in range(2, rank))]
    whole = x.seen(LinearView(shape, tuple(places), (0,) * rank)).operand
    high = r.map("nearest_tf32", whole)
    rest = r.map("nearest_tf32", r.map("sub", whole, high))
    number = r.positions(shape, rank - 1)
    parts = r.map("where", r.map("eq", number, low), rest, high)
    return TensorArray(r, parts).reshape(*shape[:-2], 3 * x.shape[1])
