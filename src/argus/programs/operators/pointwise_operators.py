"""Element-wise operators that the specification lacks, from functions there are.

Torch's decompositions name some of them `prims`; those mean what ATen's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.ir.dtypes import DType, boolean, f32, f64, i64
from argus.programs.tensors.operator_table import OWN, own
from argus.programs.tensors.recorder import promoted
from argus.programs.tensors.tensor_array import TensorArray, part_of
from argus.programs.tensors.tensor_program import UntranslatedError
from argus.specification.aten.table import OPERATORS

_where: Any = np.where
_WIDE = 32
_BITS = 6
"""Bits of the exponent of a whole number: more than 63 factors wrap."""

_PRIMS = (
    "abs", "neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "floor", "ceil", "round",
    "trunc", "sign", "rsqrt", "reciprocal", "erf", "maximum", "minimum", "eq", "ne",
    "lt", "le", "gt", "ge", "add", "sub", "mul", "asin", "acos", "asinh", "acosh",
    "atanh", "atan2", "fmin", "fmax", "copysign", "signbit", "pow", "isfinite",
    "fma", "copy_strided", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "remainder", "fmod", "hypot", "lgamma", "digamma", "erfc",
)  # fmt: skip
_MEETING = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod", "floor_divide",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
    "bitwise_right_shift", "maximum", "minimum",
})  # fmt: skip
"""Operators of two numbers of one type."""
_OTHER_NAMES = {
    "shift_left": "bitwise_left_shift", "shift_right_arithmetic": "bitwise_right_shift",
    "erf_inv": "erfinv",
}  # fmt: skip


def as_aten(name: str) -> str:
    """The operator of ATen that one of torch's `prims` is; others are themselves."""
    family, _, rest = name.partition(".")
    function = rest.partition(".")[0]
    if family != "prims":
        return name
    if function == "where":
        return "aten.where.self"
    if function == "convert_element_type":
        return "aten._to_copy.dtype"
    if function == "div":
        return "aten._prims_div.default"
    function = _OTHER_NAMES.get(function, function)
    if function not in _PRIMS and function not in _OTHER_NAMES.values():
        return name
    names = (f"aten.{function}.{o}" for o in ("default", "Tensor", "Tensor_Tensor"))
    return next((n for n in names if n in OWN or n in OPERATORS), name)


def whole_numbers_meet(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """An operator whose numbers become elements of its tensors' type first.

    As in torch: what fewer bits do not hold is wrapped, so that of bytes ``x > 300``
    asks for more than 44. A tensor without dimensions is a number, too.
    """
    operator = name.partition(".")[2].partition(".")[0]
    if operator not in _MEETING and not name.endswith("_mode"):
        return made

    def met(*args: Any, **named: Any) -> Any:
        tensors = [a for a in args if isinstance(a, TensorArray)]
        kinds = [a.element for a in tensors if a.ndim] or [a.element for a in tensors]
        if any(k.kind != "int" for k in kinds) or not kinds:
            return made(*args, **named)
        kind = promoted(kinds)
        return made(*(_as_element(a, kind) for a in args), **named)

    return met


def _as_element(part: Any, kind: DType) -> Any:
    """A whole number in a type of them; others are as they are."""
    if isinstance(part, TensorArray) and part.element.kind == "int":
        return part.cast(kind)
    if type(part) is not int:
        return part
    low, high = kind.integers
    return (part - low) % (high - low + 1) + low


@own("copy_strided")
def copied(x: TensorArray, _: Any) -> TensorArray:
    """The same elements; where they lie is what torch said of the result."""
    return x


@own("_to_copy.dtype")
def converted(x: TensorArray, dtype: Any) -> TensorArray:
    """Another element type."""
    return OWN["aten._to_copy.default"](x, dtype=dtype)


def _wide(x: TensorArray) -> TensorArray:
    """Of floats; those of 16 bits are f32, as they are in torch."""
    return x if x.element.is_float and x.element.bits >= _WIDE else x.cast(f32)


def _of_floats(function: Callable[[Any], Any]) -> Callable[[TensorArray], Any]:
    return lambda x: function(_wide(x))


def _asin(x: Any) -> Any:
    # Near 1 the angle is that of the small side, whose square loses no bits.
    return atan2(x, np.sqrt((1.0 - x) * (1.0 + x)))


def _acos(x: Any) -> Any:
    return atan2(np.sqrt((1.0 - x) * (1.0 + x)), x)


def _asinh(x: Any) -> Any:
    # log(a + sqrt(a * a + 1)), without a difference of large numbers near 0.
    a = np.abs(x)
    large: Any = np.log(a) + math.log(2.0)
    small: Any = np.log1p(a + a * a / (1.0 + np.sqrt(a * a + 1.0)))
    found = _where(a > 1e8, large, small)
    return _where(np.equal(x, 0.0), x, _where(x < 0.0, -found, found))


def _acosh(x: Any) -> Any:
    t = x - 1.0
    small: Any = np.log1p(t + np.sqrt(t * (x + 1.0)))
    return _where(x > 1e8, np.log(x) + math.log(2.0), small)


def _atanh(x: Any) -> Any:
    return 0.5 * (np.log1p(x) - np.log1p(-x))


for _name, _function in {
    "asin": _asin, "acos": _acos, "asinh": _asinh, "acosh": _acosh, "atanh": _atanh,
}.items():  # fmt: skip
    own(_name)(_of_floats(_function))


@own("atan2")
def atan2(y: TensorArray, x: TensorArray) -> Any:
    """The angle of a point; what is on which side of an axis the sign of 0 says."""
    y, x = _wide(y), _wide(x)
    a, b = np.abs(y), np.abs(x)
    small, large = np.minimum(a, b), np.maximum(a, b)
    ratio: Any = small / _where(np.equal(large, 0.0), 1.0, large)
    angle: Any = np.arctan(
        _where(np.equal(large, math.inf) & np.equal(a, b), 1.0, ratio)
    )
    angle = _where(np.greater(a, b), 0.5 * math.pi - angle, angle)
    angle = _where(_negative(x), math.pi - angle, angle)
    return _where(_negative(y), -angle, angle)


def _negative(x: Any) -> Any:
    """Below zero, or the zero that is; 1 over it is negative."""
    return np.less(x, 0.0) | (np.equal(x, 0.0) & np.less(np.reciprocal(x), 0.0))


@own("div.Tensor_mode", "div.Scalar_mode")
def divided(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient, rounded; of whole numbers without floats, which have few bits."""
    if rounding_mode != "trunc" or not _whole(x, y):
        return OPERATORS["aten.div.Tensor_mode"](x, y, rounding_mode=rounding_mode)
    inexact: Any = np.not_equal(np.remainder(x, y), 0)
    return np.floor_divide(x, y) + _where(
        inexact & (np.less(x, 0) ^ np.less(y, 0)), 1, 0
    )


@own("_prims_div")
def quotient(x: Any, y: Any) -> Any:
    """``x / y``; of whole numbers without the part of 1."""
    return divided(x, y, rounding_mode="trunc" if _whole(x, y) else None)


def _whole(*parts: Any) -> bool:
    """Whether none is a float."""
    return not any(
        p.element.is_float if isinstance(p, TensorArray) else isinstance(p, float)
        for p in parts
    )


@own("fma")
def fma(x: TensorArray, y: Any, z: Any) -> TensorArray:
    """``x * y + z``, rounded once."""
    recorder = x.recorder
    return TensorArray(recorder, recorder.map("fma", *map(part_of, (x, y, z))))


@own("signbit")
def signbit(x: TensorArray) -> Any:
    """Below zero, or the zero that is. Of NaN the bit is not known: false."""
    if x.element == boolean:
        return np.not_equal(x, x)
    return _negative(x) if x.element.is_float else np.less(x, 0)


@own("copysign.Tensor", "copysign.Scalar")
def copysign(x: TensorArray, sign: Any) -> Any:
    """The magnitude of one with the sign of another."""
    size: Any = np.abs(x if x.element.is_float else x.cast(f32))
    if not isinstance(sign, TensorArray):
        return -size if math.copysign(1.0, sign) < 0 else size
    return _where(signbit(sign), -size, size)


@own("fmax")
def fmax(x: Any, y: Any) -> Any:
    """The larger; of a number and NaN the number."""
    found = _where(np.not_equal(y, y), x, np.maximum(x, y))
    return _where(np.not_equal(x, x), y, found)


@own("fmin")
def fmin(x: Any, y: Any) -> Any:
    """The smaller; of a number and NaN the number."""
    found = _where(np.not_equal(y, y), x, np.minimum(x, y))
    return _where(np.not_equal(x, x), y, found)


@own("isinf")
def isinf(x: TensorArray) -> Any:
    """Beyond all numbers, on either side."""
    if not x.element.is_float:
        return np.not_equal(x, x)
    return np.equal(np.abs(x), math.inf)


@own("isfinite")
def isfinite(x: TensorArray) -> Any:
    """A number."""
    return np.less(np.abs(x), math.inf) if x.element.is_float else np.equal(x, x)


@own("sinh")
def sinh(x: Any) -> Any:
    """From `expm1`, so that nothing is lost near 0."""
    e: Any = np.expm1(np.abs(x))
    half = 0.5 * (e + e / (e + 1.0))
    found = _where(np.equal(e, math.inf), e, half)
    found = _where(np.less(x, 0.0), -found, found)
    return _where(np.equal(x, 0.0), x, found)


@own("cosh")
def cosh(x: Any) -> Any:
    """The mean of two exponentials."""
    e: Any = np.exp(np.abs(x))
    return 0.5 * e + 0.5 / e


@own("pow.Tensor_Tensor", "pow.Scalar", "pow.Tensor_Scalar")
def power(x: Any, y: Any) -> Any:
    """``x ** y``: by products and roots where y is a number, else by logarithms.

    The relative error of the latter is that of the type times ``y * log2(x)``.
    """
    parts = [p for p in (x, y) if isinstance(p, TensorArray)]
    recorder, shape = parts[0].recorder, parts[0].shape
    if isinstance(x, TensorArray) and not isinstance(y, TensorArray):
        try:
            return np.power(x, float(y) if isinstance(y, int) and y < 0 else y)
        except UntranslatedError:
            if not x.element.is_float:
                raise
    elif not any(p.element.is_float for p in parts) and not isinstance(x, float):
        return _whole_power(x, y, recorder)
    like = _wide(parts[0])
    if not isinstance(x, TensorArray) and math.inf > x > 0 and x != 1:
        return np.exp2(like * math.log2(x))
    if not isinstance(y, TensorArray) and math.isfinite(y) and y:
        return _number_power(like, y)
    x, y = (
        _wide(p) if isinstance(p, TensorArray)
        else TensorArray(recorder, recorder.filled(shape, p, _wide(parts[0]).element))
        for p in (x, y)
    )  # fmt: skip
    whole: Any = np.equal(np.floor(y), y)
    half: Any = y * 0.5
    odd: Any = np.logical_and(whole, np.not_equal(np.floor(half), half))
    size = np.abs(x)
    found: Any = np.exp2(y * np.log2(size))
    found = _where(np.equal(size, 1.0) & np.equal(y, y), 1.0, found)
    found = _where(_negative(x) & odd, -found, found)
    fraction = np.less(x, 0.0) & np.logical_not(whole) & np.less(size, math.inf)
    found = _where(fraction, math.nan, found)
    return _where(np.equal(y, 0.0) | np.equal(x, 1.0), 1.0, found)


def _number_power(x: Any, y: float) -> Any:
    """``x ** y`` for a number. Of what is below 0 fractions have a logarithm of NaN."""
    if y != math.floor(y):
        return np.exp2(y * np.log2(_where(np.equal(x, -math.inf), math.inf, x)))
    found: Any = np.exp2(y * np.log2(np.abs(x)))
    return _where(_negative(x), -found, found) if y % 2 else found


def _whole_power(x: Any, y: Any, recorder: Any) -> Any:
    """By squares, for each bit of an exponent; below 0 the power is 0, but of 1, -1."""
    like = y if isinstance(y, TensorArray) else x
    base: Any = (
        x if isinstance(x, TensorArray)
        else TensorArray(recorder, recorder.filled(like.shape, x, i64))
    ).cast(i64)  # fmt: skip
    left: Any = (
        y if isinstance(y, TensorArray)
        else TensorArray(recorder, recorder.filled(like.shape, y, i64))
    ).cast(i64)  # fmt: skip
    first, odd = base, np.bitwise_and(left, 1)
    small = np.equal(np.abs(first), 1)
    below = _where(small, _where(np.equal(odd, 1), first, 1), 0)
    found: Any = 1
    for bit in range(_BITS):
        chosen = np.equal(np.bitwise_and(np.right_shift(left, bit), 1), 1)
        found = found * _where(chosen, base, 1)
        base = base * base
    many = _where(left >= 1 << _BITS, _where(small, below, 0), found)
    return _where(left < 0, below, many)


@own("lerp.Scalar", "lerp.Tensor")
def lerp(x: TensorArray, end: TensorArray, weight: Any) -> Any:
    """Between two values, from the end that is nearer: of weight 1 it is ``end``."""
    x, end = _wide(x), _wide(end)
    weight = _wide(weight) if isinstance(weight, TensorArray) else weight
    step: Any = end - x
    near = x + weight * step
    if not isinstance(weight, TensorArray):
        kind = np.float64 if x.element == f64 else np.float32
        rest = float(kind(1) - kind(weight))
        return near if abs(weight) < 1 / 2 else end - step * rest
    far = end - step * (1 - weight)
    return _where(np.less(np.abs(weight), 0.5), near, far)


@own("round.decimals")
def rounded(x: TensorArray, *, decimals: int) -> Any:
    """To a number of decimals, half to even."""
    if not x.element.is_float or not decimals:
        return x if not x.element.is_float and decimals >= 0 else np.rint(x)
    ten = 10.0 ** abs(decimals)
    wide: Any = _wide(x)
    return np.rint(wide * ten) / ten if decimals > 0 else np.rint(wide / ten) * ten


@own("logaddexp")
def logaddexp(x: TensorArray, y: TensorArray) -> Any:
    """``log(exp(x) + exp(y))``."""
    x, y = _wide(x), _wide(y)
    most: Any = np.maximum(x, y)
    rest: Any = np.log1p(np.exp(-np.abs(x - y)))
    return _where(np.equal(x, y) & np.equal(np.abs(x), math.inf), x, most + rest)


@own("sigmoid")
def sigmoid(x: TensorArray) -> Any:
    """``1 / (1 + exp(-x))``, of whole numbers as floats: some have no sign."""
    return OPERATORS["aten.sigmoid.default"](x if x.element.is_float else x.cast(f32))


@own("hypot")
def hypot(x: TensorArray, y: TensorArray) -> Any:
    """``sqrt(x * x + y * y)``, of which no square overflows."""
    a, b = np.abs(_wide(x)), np.abs(_wide(y))
    small, large = np.minimum(a, b), np.maximum(a, b)
    ratio: Any = small / _where(np.equal(large, 0.0), 1.0, large)
    found: Any = large * np.sqrt(1.0 + ratio * ratio)
    return _where(np.equal(a, math.inf) | np.equal(b, math.inf), math.inf, found)


@own("angle")
def angle(x: TensorArray) -> Any:
    """Of real numbers pi below zero, else 0; NaN stays."""
    wide: Any = _wide(x)
    side = _where(np.less(wide, 0.0), math.pi, 0.0)
    return _where(np.not_equal(wide, wide), wide, side)
