"""What element-wise functions are in numpy, where numpy has none that is the same."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.ir.fused import fused

__all__ = [
    "erf",
    "extreme",
    "fma",
    "mulhi",
    "nearest_tf32",
    "popcount",
    "shl",
    "shr",
    "twice_e2m1",
]


def _kept(*args: Any) -> Any:
    """The type of a result: numbers of f64 stand for real ones, and are not rounded."""
    wide = any(np.asarray(a).dtype == np.float64 for a in args)
    return np.float64 if wide else np.float32


def erf(x: Any) -> Any:
    """The error function, of each element."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(_kept(x))


def nearest_tf32(a: Any) -> Any:
    """The nearest numbers with 11 bits; of two, that with the larger magnitude.

    Numbers of f64 stand for real ones, and are not rounded.
    """
    if np.asarray(a).dtype == np.float64:
        return a
    bits = np.asarray(a, np.float32).view(np.uint32)
    near = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(a), a, near).astype(np.float32)


def extreme(choose: Callable[[Any, Any], Any], negative: bool) -> Callable[..., Any]:
    """``np.maximum`` or ``np.minimum``, of two zeros the right one."""

    def apply(a: Any, b: Any) -> Any:
        chosen = choose(a, b)
        if np.asarray(chosen).dtype.kind != "f":
            return chosen
        signs = (
            np.signbit(a) | np.signbit(b)
            if negative
            else (np.signbit(a) & np.signbit(b))
        )
        zero = np.where(signs, np.float32(-0.0), np.float32(0.0))
        return np.where((a == 0) & (b == 0), zero.astype(chosen.dtype), chosen)

    return apply


def fma(a: Any, b: Any, c: Any) -> Any:
    """One rounding: products of two f32 are exact in f64."""
    wide = (np.asarray(x, np.float64) for x in (a, b, c))
    x, y, z = wide
    if _kept(a, b, c) == np.float64:
        return fused(x, y, z)
    return (x * y + z).astype(np.float32)


def _bits_of(a: Any) -> tuple[Any, int]:
    """Whole numbers as their bits, and how many. Raises TypeError for others."""
    array = np.asarray(a)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the bits of {array.dtype}")
    return np.ascontiguousarray(array).view(f"u{array.itemsize}"), 8 * array.itemsize


def shl(a: Any, b: Any) -> Any:
    """Amounts that are not below the width, or negative, leave nothing."""
    bits, width = _bits_of(a)
    inside = (np.asarray(b) >= 0) & (np.asarray(b) < width)
    by = np.where(inside, b, 0).astype(bits.dtype)
    return np.where(inside, (bits << by).view(np.asarray(a).dtype), 0)


def shr(a: Any, b: Any) -> Any:
    """Amounts that are not below the width, or negative, leave the sign, or nothing."""
    _, width = _bits_of(a)
    given = np.asarray(a)
    inside = (np.asarray(b) >= 0) & (np.asarray(b) < width)
    moved = given >> np.where(inside, b, width - 1).astype(given.dtype)
    return moved if given.dtype.kind == "i" else np.where(inside, moved, 0)


def mulhi(a: Any, b: Any) -> Any:
    """By halves, whose products fit: a * b = 2**width * high + low."""
    _, width = _bits_of(a)
    _bits_of(b)
    half, low = width // 2, (1 << width // 2) - 1
    x, y, u, v = a >> half, b >> half, a & low, b & low
    unsigned = f"u{width // 8}"
    carry = (u.astype(unsigned) * v.astype(unsigned) >> half).astype(x.dtype)
    middle = x * v + carry
    other = u * y + (middle & low)
    return x * y + (middle >> half) + (other >> half)


def popcount(a: Any) -> Any:
    """How many bits are set."""
    bits, _ = _bits_of(a)
    return np.bitwise_count(bits).astype(np.asarray(a).dtype)


def twice_e2m1(a: Any) -> Any:
    """Of the last four bits: a sign, two of an exponent and one of a fraction."""
    bits, _ = _bits_of(a)
    held = np.asarray(a).dtype
    table = np.array([0, 1, 2, 3, 4, 6, 8, 12], held)
    found = table[bits & 7]
    return np.where(bits & 8, -found, found).astype(held)
