"""What numbers of each element type mean, said once for frontend, interpreter, printer.

    type        computed in   sums and products   what does not fit
    bf16, f16   f32           f32                 rounds to nearest even, then infinity
    e4m3        f32           f32                 rounds to nearest even, then 448
    e5m2        f32           f32                 rounds to nearest even, then 57344
    f32         f32           f32                 infinity
    f64         f64           f64                 infinity
    i8 to u16   i32           i32                 wraps
    i32         i32           i32                 wraps
    u32         u32           u32                 wraps
    i64         i64           i64                 wraps
    u64         u64           u64                 wraps
    bool        bool          -                   -

Every operation of a program computes in the type of the second column and gives an
element of the type of its result. Extremes and prefix sums follow sums where they add,
and keep the type where they choose.

Conversions: a float becomes a whole number by rounding to zero; what is too large
becomes the largest or smallest value of the type (of narrow ones, too), NaN becomes 0.
Whole numbers wrap to narrower ones and are rounded to nearest even to f32 and f64; to
narrower floats they, and f64, go by way of f32. Anything but zero becomes true, NaN
too.

Division of whole numbers rounds down; by zero, quotient and remainder are 0. The
extremes propagate NaN, and -0 is less than +0. `argmax` and `argmin` find the first NaN
if there is one, else the first extreme.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.ir.dtypes import DType, boolean, f32, f64, i32, i64, u32, u64

__all__ = ["accumulated", "arithmetic", "common", "largest_number"]

_WIDE = (f64, f32, u64, i64, u32, i32, boolean)
"""Types that are computed in themselves, ordered by what they can hold."""


def arithmetic(dtype: DType) -> DType:
    """The type in which elements of ``dtype`` are computed."""
    if dtype in _WIDE:
        return dtype
    return f32 if dtype.is_float else i32


def largest_number(dtype: DType) -> float:
    """The largest number of f32 or f64 that is not infinite."""
    return {f32: 3.4028234663852886e38, f64: 1.7976931348623157e308}[dtype]


def accumulated(fn: str, dtype: DType) -> DType:
    """Element type of ``fn`` along an axis ("sum", "max", "cumsum", "argmax", ...)."""
    if fn in ("argmax", "argmin"):
        return i32
    return arithmetic(dtype) if fn in ("sum", "prod", "cumsum") else dtype


def common(fn: str, arguments: Sequence[DType | None], result: DType) -> DType:
    """The type in which the element-wise ``fn`` computes its operands.

    ``arguments`` are the element types of its tiles, None for scalars, which take the
    type of the tiles that they meet. The condition of `where` is bool, and none of
    them.
    """
    given = [d for d in (arguments[1:] if fn == "where" else arguments) if d]
    if not given:
        return arithmetic(result)
    types = {arithmetic(d) for d in given}
    return next(d for d in _WIDE if d in types)
