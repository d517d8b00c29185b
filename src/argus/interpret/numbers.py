"""Element types on numpy: how a register or a byte pattern becomes a number and back.

How numpy holds elements stands in `argus.ir.codec`; what arithmetic and conversions
mean, in `argus.ir.numerics`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.codec import computing, numbers, rounded, storage
from argus.ir.dtypes import DType, bf16

__all__ = [
    "Array",
    "bf16_to_f32",
    "compute",
    "convert",
    "extreme",
    "f32_to_bf16",
    "from_bits",
    "rounded",
    "storage",
    "to_bits",
    "unsigned",
]

Array = NDArray[Any]

_UNSIGNED: dict[int, type[Any]] = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
}


def unsigned(itemsize: int) -> np.dtype[Any]:
    """The unsigned numpy type of 1, 2, 4 or 8 bytes."""
    return np.dtype(_UNSIGNED[itemsize])


def f32_to_bf16(values: Array) -> NDArray[np.uint16]:
    """Bit patterns of f32 values rounded to bf16, to nearest even; NaN is 0x7fff."""
    return rounded(np.asarray(values, np.float32), bf16)


def bf16_to_f32(bits: Array) -> NDArray[np.float32]:
    """Values of bf16 bit patterns (uint16)."""
    return compute(np.asarray(bits, np.uint16), bf16)


def compute(values: Array, dtype: DType) -> Array:
    """Stored elements as arithmetic takes them (`argus.ir.numerics`)."""
    return numbers(values, dtype).astype(computing(dtype), copy=False)


def convert(values: Array, source: DType, target: DType) -> Array:
    """A cast, as `argus.ir.numerics` says (numpy leaves much of it undefined).

    Numbers of 64 bits are taken as they are: they stand for real ones.
    """
    given = values if values.dtype == np.float64 else compute(values, source)
    if source.is_float and target.kind == "int":
        limits = np.iinfo(storage(target))
        exact = np.trunc(np.nan_to_num(given.astype(np.float64), nan=0.0))
        # 2**63 - 1 is no float64: clamp a saturated value as an integer.
        high = exact >= float(limits.max)
        low = exact <= float(limits.min)
        kind = storage(target)
        inside = np.where(high | low, 0.0, exact).astype(kind)
        ends = kind.type(limits.min), kind.type(limits.max)
        return np.where(high, ends[1], np.where(low, ends[0], inside))
    if target.kind == "bool":
        return given != 0
    if target.is_float:
        return rounded(given.astype(computing(target)), target)
    return given.astype(storage(target))


def extreme(fn: str, values: Array, along: tuple[int, ...]) -> Array:
    """The "max" or "min" along axes, which become 1 long.

    -0 is less than +0, which numpy leaves open.
    """
    pick = np.max if fn == "max" else np.min
    found = pick(values, axis=along, keepdims=True)
    if found.dtype.kind != "f":
        return found
    # Where the extreme is zero, the signs of the zeros among the values decide.
    zeros = values == 0
    if fn == "min":
        minus = (np.signbit(values) & zeros).any(axis=along, keepdims=True)
    else:
        minus = (np.signbit(values) | ~zeros).all(axis=along, keepdims=True)
    signed = np.where(minus, -0.0, 0.0).astype(found.dtype)
    return np.where(found == 0, signed, found)


def extreme_at(fn: str, array: Array, places: tuple[Array, ...], values: Array) -> None:
    """The "max" or "min" of elements and of all values that are for them, in place.

    Of floats their bits are compared as whole numbers of the same order, in which a
    NaN lies beyond everything.
    """
    pick = np.maximum if fn == "max" else np.minimum
    if array.dtype.kind != "f":
        pick.at(array, places, values)
        return
    bits = np.dtype(f"i{array.dtype.itemsize}")
    top = np.iinfo(bits).max
    beyond = top if fn == "max" else np.iinfo(bits).min

    def ordered(x: Array) -> Array:
        held = np.ascontiguousarray(x).view(bits)
        return np.where(np.isnan(x), beyond, np.where(held < 0, held ^ top, held))

    flat = np.ravel_multi_index(places, array.shape)
    touched, which = np.unique(flat, return_inverse=True)
    found = ordered(array.flat[touched])
    pick.at(found, which.reshape(flat.shape), ordered(values))
    held = np.where(found < 0, found ^ top, found).astype(bits).view(array.dtype)
    array.flat[touched] = np.where(found == beyond, np.array(np.nan, array.dtype), held)


def from_bits(bits: Array, dtype: DType) -> Array:
    """Unsigned bit patterns as stored elements."""
    if dtype.kind == "bool":
        return bits != 0
    return np.ascontiguousarray(bits).view(storage(dtype))


def to_bits(values: Array, dtype: DType) -> Array:
    """Stored elements as unsigned bit patterns of their size."""
    return np.ascontiguousarray(values).view(unsigned(dtype.bytes))
