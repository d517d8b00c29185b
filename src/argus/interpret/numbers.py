"""Element types on numpy: how a register or a byte pattern becomes a number and back.

bf16 is kept as its bit pattern (uint16), every other type as numpy's. What arithmetic
and conversions mean stands in `argus.ir.numerics`. Rounding is to nearest even, as
`cvt.rn` does (PTX ISA, "cvt"). numpy has no bf16, and this module needs no package that
adds one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.dtypes import DType
from argus.ir.numerics import arithmetic

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

_STORAGE: dict[str, type[Any]] = {
    "bf16": np.uint16,
    "f16": np.float16,
    "f32": np.float32,
    "i8": np.int8,
    "u8": np.uint8,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}
_UNSIGNED: dict[int, type[Any]] = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
}


def storage(dtype: DType) -> np.dtype[Any]:
    """The numpy type that holds elements of `dtype` (bf16: the bits, uint16)."""
    return np.dtype(_STORAGE[dtype.name])


def unsigned(itemsize: int) -> np.dtype[Any]:
    """The unsigned numpy type of 1, 2, 4 or 8 bytes."""
    return np.dtype(_UNSIGNED[itemsize])


def f32_to_bf16(values: Array) -> NDArray[np.uint16]:
    """Bit patterns of f32 values rounded to bf16, to nearest even; NaN is 0x7fff."""
    exact = np.ascontiguousarray(values, dtype=np.float32)
    bits = exact.view(np.uint32).astype(np.uint64)
    up = (bits >> 16) & 1
    result = ((bits + 0x7FFF + up) >> 16).astype(np.uint16)
    result[np.isnan(exact)] = 0x7FFF
    return result


def bf16_to_f32(bits: Array) -> NDArray[np.float32]:
    """Values of bf16 bit patterns (uint16)."""
    wide = np.ascontiguousarray(bits, dtype=np.uint16).astype(np.uint32) << 16
    return wide.view(np.float32)


def compute(values: Array, dtype: DType) -> Array:
    """Stored elements as arithmetic takes them: f32, i32, i64 or bool."""
    if dtype.name == "bf16":
        return bf16_to_f32(values)
    return values.astype(storage(arithmetic(dtype)), copy=False)


def rounded(values: Array, dtype: DType) -> Array:
    """Results of arithmetic as elements of `dtype`, rounded to nearest even."""
    if dtype.name == "bf16":
        return f32_to_bf16(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(storage(dtype))


def convert(values: Array, source: DType, target: DType) -> Array:
    """A cast, as `argus.ir.numerics` says (numpy leaves much of it undefined)."""
    numbers = compute(values, source)
    if source.is_float and target.kind == "int":
        limits = np.iinfo(storage(target))
        exact = np.trunc(np.nan_to_num(numbers.astype(np.float64), nan=0.0))
        # 2**63 - 1 is no float64: clamp a saturated value as an integer.
        high = exact >= float(limits.max)
        low = exact <= float(limits.min)
        inside = np.where(high | low, 0.0, exact).astype(np.int64)
        clamped = np.where(high, limits.max, np.where(low, limits.min, inside))
        return clamped.astype(storage(target))
    if target.kind == "bool":
        return numbers != 0
    if target.is_float:
        return rounded(numbers.astype(np.float32), target)
    return numbers.astype(storage(target))


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


def from_bits(bits: Array, dtype: DType) -> Array:
    """Unsigned bit patterns as stored elements."""
    if dtype.kind == "bool":
        return bits != 0
    return np.ascontiguousarray(bits).view(storage(dtype))


def to_bits(values: Array, dtype: DType) -> Array:
    """Stored elements as unsigned bit patterns of their size."""
    return np.ascontiguousarray(values).view(unsigned(dtype.bytes))
