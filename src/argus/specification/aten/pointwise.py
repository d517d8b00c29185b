"""Element-wise operators of ATen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.specification.aten.table import aten, in_reals, numpy_type
from argus.specification.module import erf
from argus.terms import Unknown

_where: Any = np.where
"""Of arrays whose types only their makers know."""

_UNARY: dict[str, Callable[..., Any]] = {
    "abs": np.absolute, "neg": np.negative, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "atan": np.arctan,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "sign": np.sign, "sgn": np.sign, "square": np.square,
    "logical_not": np.logical_not, "bitwise_not": np.invert, "erf": erf,
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "remainder": np.remainder, "hypot": np.hypot,
    "floor_divide": np.floor_divide, "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift, "__lshift__": np.left_shift,
    "__rshift__": np.right_shift,
}  # fmt: skip

for _name, _function in _UNARY.items():
    aten(_name)(_function)
for _name, _function in _BINARY.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar", _name)(_function)


@aten("add.Tensor", "add.Scalar")
def add(x: Any, y: Any, alpha: Any = 1) -> Any:
    """``x + alpha * y``."""
    return np.add(x, y if alpha == 1 else np.multiply(y, alpha))


@aten("sub.Tensor", "sub.Scalar")
def sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    """``x - alpha * y``."""
    return np.subtract(x, y if alpha == 1 else np.multiply(y, alpha))


@aten("rsub.Scalar", "rsub.Tensor")
def rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    """``y - alpha * x``."""
    return np.subtract(y, x if alpha == 1 else np.multiply(x, alpha))


@aten("div.Tensor", "div.Scalar")
def div(x: Any, y: Any) -> Any:
    """The quotient, a real number."""
    return np.divide(x, y)


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    """The quotient, rounded down or towards zero."""
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    quotient = np.divide(x, y)
    return np.trunc(quotient) if rounding_mode == "trunc" else quotient


@aten("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(x: Any, y: Any) -> Any:
    """``x ** y``."""
    return np.power(x, float(y) if isinstance(y, int) and y < 0 else y)


@aten("reciprocal")
def reciprocal(x: Any) -> Any:
    """``1 / x``, of whole numbers, too."""
    return 1.0 / x


@aten("rsqrt")
def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``."""
    return 1.0 / np.sqrt(x)


@aten("relu")
def relu(x: Any) -> Any:
    """The larger of x and 0."""
    return np.maximum(x, 0)


@aten("sigmoid")
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return 1.0 / (1.0 + np.exp(-x))


@aten("silu")
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``."""
    return x * sigmoid(x)


@aten("gelu")
def gelu(x: Any, *, approximate: str = "none") -> Any:
    """Gaussian error linear unit, exact or by tanh (Hendrycks, Gimpel 2016)."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1.0 + np.tanh(inner))
    return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


@aten("leaky_relu")
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """``x``, or a fraction of it where it is negative."""
    return _where(x > 0, x, x * negative_slope)


@aten("elu")
def elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """``x`` above 0, below ``alpha * (exp(x) - 1)``."""
    return _where(x > 0, x * scale, scale * alpha * np.expm1(x * input_scale))


@aten("hardtanh")
def hardtanh(x: Any, low: float = -1.0, high: float = 1.0) -> Any:
    """Between two numbers."""
    return np.minimum(np.maximum(x, low), high)


@aten("clamp", "clamp.Tensor")
def clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    """Between two bounds; None is none."""
    found = x if low is None else np.maximum(x, low)
    return found if high is None else np.minimum(found, high)


@aten("clamp_min", "clamp_min.Tensor")
def clamp_min(x: Any, low: Any) -> Any:
    """At least a bound."""
    return np.maximum(x, low)


@aten("clamp_max", "clamp_max.Tensor")
def clamp_max(x: Any, high: Any) -> Any:
    """At most a bound."""
    return np.minimum(x, high)


@aten("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(condition: Any, x: Any, y: Any) -> Any:
    """One of two, element by element."""
    return _where(condition, x, y)


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """A value where a mask is true."""
    return _where(mask, value, x)


@aten("addcmul")
def addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    """``x + value * a * b``."""
    return x + value * a * b


@aten("lerp.Scalar", "lerp.Tensor")
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """Between two values, by a weight."""
    return x + weight * (end - x)


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(x: Any, y: Any) -> Any:
    """The rest of a division that rounds towards zero."""
    return np.fmod(x, y)


@aten("_to_copy")
def to_copy(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Another element type: between floats nothing changes."""
    return x if dtype is None else x.astype(numpy_type(dtype))


@aten(
    "clone", "alias", "detach", "lift_fresh_copy", "lift_fresh", "contiguous",
    "view_as_real_copy", "positive",
)  # fmt: skip
def same(x: Any, **_: Any) -> Any:
    """The same elements."""
    return x


@aten("copy")
def copy(x: Any, source: Any, *_: Any) -> Any:
    """The elements of another tensor."""
    made = source.astype(x.dtype)
    return np.broadcast_to(made, x.shape)


@in_reals("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, and 0 where x is."""
    return _where(x == 0, 0.0, x * np.log(y))


@in_reals("logaddexp")
def logaddexp(x: Any, y: Any) -> Any:
    """``log(exp(x) + exp(y))``."""
    largest = np.maximum(x, y)
    return largest + np.log(np.exp(x - largest) + np.exp(y - largest))


@aten("isnan", "isinf")
def is_special(x: Any) -> Any:
    """Not asked: real numbers have no NaN."""
    raise Unknown("the graph asks for NaN or infinity")


@aten("dropout", "native_dropout")
def dropout(x: Any, p: float, train: bool) -> Any:
    """The identity, when nothing is trained."""
    if train:
        raise Unknown("the graph draws random numbers (dropout)")
    return x, np.full_like(x, True, np.bool_)
