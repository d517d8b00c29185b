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
from argus.programs.views import permuted

_LEAST_SUM = 16
"""Fewer products than this in a sum are no work for tensor cores."""
_LEAST_CHANNELS = 16
_LEAST_ROW = 16
"""Channels and pixels of a row of the result below which tiles are mostly empty."""


def convolution_precision() -> str:
    """What torch multiplies of f32 in convolutions, by its flag of this moment."""
    import torch

    return "tf32" if torch.backends.cudnn.allow_tf32 else "f32"


def worth_channels_last(x: TensorArray, weight: TensorArray, groups: int) -> bool:
    """Whether tensor cores multiply such tensors, and tiles are not mostly empty.

    ``weight`` is (K, C / groups, *taps).
    """
    if groups > 1 or x.element != weight.element or x.element not in (bf16, f16, f32):
        return False
    if x.element == f32 and convolution_precision() != "tf32":
        return False
    out, channels, *taps = weight.shape
    many = out >= _LEAST_CHANNELS and channels * prod(taps) >= _LEAST_SUM
    return many and prod(taps) > 1 and x.shape[-1] >= _LEAST_ROW


def nearest(x: TensorArray) -> TensorArray:
    """Elements as torch multiplies them: of f32 the nearest ones with 11 bits.

    The instructions cut bits off, and err twice as much.
    """
    if x.element != f32 or convolution_precision() != "tf32":
        return x
    return TensorArray(x.recorder, x.recorder.map("nearest_tf32", x.operand))


def channels_last(
    x: TensorArray, borders: Sequence[tuple[int, int]] | None = None
) -> TensorArray:
    """A copy (N, C, *space) that lies as (N, *space, C), with borders of zeros.

    There are as many channels as fill whole steps of 16 bytes. Elements are `nearest`.
    """
    rank, unit = x.ndim, TMA_BYTES // x.element.bytes
    more = ceil(x.shape[1] / unit) * unit - x.shape[1]
    around = [(0, 0)] * (rank - 2) if borders is None else list(borders)
    wide: Any = np.pad(x, [(0, 0), (0, more), *around])  # type: ignore[call-overload]
    last = wide.seen(permuted(wide.shape, [0, *range(2, rank), 1]))
    copied = nearest(last)
    if copied is last:
        copied = TensorArray(x.recorder, x.recorder.copied(last.operand))
    return copied.seen(permuted(copied.shape, [0, rank - 1, *range(1, rank - 1)]))
