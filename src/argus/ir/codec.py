"""Element types as numpy holds them: numbers to stored elements and back.

A type that numpy lacks is held as its bit patterns (bf16 as uint16), every other as
numpy's; `ml_dtypes` knows the numbers of those. Rounding is to nearest even, as
`cvt.rn` does (PTX ISA, "cvt").
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.ir.dtypes import DType
from argus.ir.numerics import arithmetic

__all__ = ["bit_pattern", "computing", "numbers", "rounded", "storage"]

Array = NDArray[Any]


def storage(dtype: DType) -> np.dtype[Any]:
    """The numpy type that holds elements of `dtype` (bf16: the bits, uint16)."""
    return np.dtype(dtype.numpy)


def computing(dtype: DType) -> np.dtype[Any]:
    """The numpy type in which elements of `dtype` are computed."""
    return storage(arithmetic(dtype))


def _values(dtype: DType) -> np.dtype[Any]:
    """The numpy type whose values are those of `dtype`."""
    return np.dtype(vars(ml_dtypes).get(dtype.foreign, dtype.foreign))


def numbers(stored: Array, dtype: DType) -> Array:
    """Stored elements as numpy's numbers: floats that it lacks as float32."""
    if dtype.bits_of is None:
        return stored
    return np.ascontiguousarray(stored).view(_values(dtype)).astype(np.float32)


def rounded(values: Array, dtype: DType) -> Array:
    """Numbers as stored elements, to nearest even; to encoded types by way of f32."""
    kind = _values(dtype)
    if not dtype.encoded and values.dtype == kind:  # nothing to round
        return np.ascontiguousarray(values).astype(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.encoded:
            values = np.asarray(values).astype(np.float32, copy=False)
        if dtype.finite:
            largest = np.float32(vars(ml_dtypes)["finfo"](kind).max)
            values = np.clip(values, -largest, largest)
        found = np.ascontiguousarray(values).astype(kind)
    if dtype.bits_of is None:
        return found
    bits = found.view(storage(dtype))
    # The one NaN that conversions make (PTX ISA, "cvt").
    return np.where(np.isnan(found), bits.dtype.type((1 << dtype.bits - 1) - 1), bits)


def bit_pattern(value: float, dtype: DType) -> int:
    """Bits of one number rounded to a float type."""
    stored = rounded(np.array([value]), dtype)
    return int(stored.view(f"u{dtype.bytes}")[0])
