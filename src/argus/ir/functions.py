# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Element-wise functions: one record each, read by type rules, interpreter and printer.

In which type they compute stands in `argus.ir.numerics`; CUDA spellings take operands
of that type. ``exp2``, ``log2``, ``rsqrt``, ``rcp``
and ``tanh`` use the hardware's approximate instructions (PTX ISA 9.7.3: ex2.approx,
lg2.approx, rsqrt.approx, rcp.approx, tanh.approx), whose errors are at most a few ulp
in f32 (tanh: 2**-11 relative).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from argus.ir.dtypes import DType
from argus.ir.fused import fused
from argus.ir.philox import word

Law = Literal[
    "add", "sub", "mul", "div", "fma", "neg", "maximum", "minimum", "floordiv", "mod",
    "exp", "log", "power", "where", "none",
]  # fmt: skip
"""Laws of arithmetic. A function without one is opaque to the verifier: equal operands
give equal results, and nothing else is known."""


@dataclass(frozen=True)
class Error:
    """How far what the hardware computes in f32 may be from the result.

    For a last operand from ``low`` to ``high``; beyond, what is promised is less, or
    another thing (CUDA Programming Guide, "Mathematical Functions"; PTX ISA, "Floating
    Point Instructions"). What is subnormal may be flushed to zero.
    """

    relative: float
    absolute: float = 1e-37
    low: float = -1e30
    high: float = 1e30


_LAST = 2.0**-22
"""A few units in the last place of f32."""
_LAST_WIDE = 2.0**-49
"""A few units in the last place of f64: CUDA's functions are off by 2 at most (CUDA
Programming Guide, "Mathematical Functions"), and so are those of numpy."""


def _wide(low: float = -1e300, high: float = 1e300, absolute: float = 0.0) -> Error:
    """How far a function of f64 may be from the result."""
    return Error(_LAST_WIDE, absolute, low, high)


@dataclass(frozen=True)
class Double:
    """How a function is computed in f64, where that is not as in f32.

    The hardware has no special functions of f64: all are sequences of instructions.
    """

    cuda: str
    issue: float = 40.0
    error: Error | None = None


@dataclass(frozen=True)
class ScalarFunction:
    """``result`` is "same" (promoted operand type), "bool", or "float" (needs float).

    ``cuda`` is a template over {0}, {1}, {2}. ``numpy`` computes in f32, i32, i64 or
    bool.
    """

    name: str
    arity: int
    cuda: str
    numpy: Callable[..., Any]
    result: str = "same"
    integer: bool = True
    """Defined on integers too."""
    law: Law = "none"
    """What the verifier may conclude from the function; "none": nothing."""
    issue: float = 1.0
    """Instructions per element, for the performance model."""
    special: bool = False
    """Needs the special function units once per element."""
    factor: float = 1.0
    """Of "exp", "log": exp(factor * x), factor * log(x); of "power": exponent."""
    real: bool = True
    """Defined on floats too."""
    error: Error | None = None
    """None: the result is the number that is nearest to the exact one."""
    bends: bool = False
    """What it makes of the parts of a sum, added up, is not what it makes of the sum.
    False: not known; an algorithm may undo it later."""
    wrapping: str | None = None
    """The spelling on integers where that is another: C++ leaves overflow undefined."""
    narrowest: int = 0
    """Bits of the narrowest type on which it is defined: what it is depends on them."""
    double: Double | None = None
    """None: the spelling is one of overloads, or an operator, and exact."""
    widest: int = 64
    """Bits of the widest type on which it is defined."""

    def among(self, dtype: DType) -> "ScalarFunction":
        """The function as it is computed in a type that is computed in."""
        if dtype.bits < 64 or not dtype.is_float or self.double is None:
            return self
        how = self.double
        return replace(
            self, cuda=how.cuda, issue=how.issue, error=how.error, special=False
        )

    def spelling(self, dtype: DType) -> str:
        """The template for operands of a type that is computed in."""
        if dtype.kind == "int" and self.wrapping is not None:
            return self.wrapping
        return self.among(dtype).cuda


def _kept(*args: Any) -> Any:
    """The type of a result: numbers of f64 stand for real ones, and are not rounded."""
    wide = any(np.asarray(a).dtype == np.float64 for a in args)
    return np.float64 if wide else np.float32


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(_kept(x))


def _nearest_tf32(a: Any) -> Any:
    """The nearest numbers with 11 bits; of two, that with the larger magnitude.

    Numbers of f64 stand for real ones, and are not rounded.
    """
    if np.asarray(a).dtype == np.float64:
        return a
    bits = np.asarray(a, np.float32).view(np.uint32)
    near = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(a), a, near).astype(np.float32)


def _extreme(choose: Callable[[Any, Any], Any], negative: bool) -> Callable[..., Any]:
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


def _fma(a: Any, b: Any, c: Any) -> Any:
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


def _shl(a: Any, b: Any) -> Any:
    """Amounts that are not below the width, or negative, leave nothing."""
    bits, width = _bits_of(a)
    inside = (np.asarray(b) >= 0) & (np.asarray(b) < width)
    by = np.where(inside, b, 0).astype(bits.dtype)
    return np.where(inside, (bits << by).view(np.asarray(a).dtype), 0)


def _shr(a: Any, b: Any) -> Any:
    """Amounts that are not below the width, or negative, leave the sign, or nothing."""
    _, width = _bits_of(a)
    given = np.asarray(a)
    inside = (np.asarray(b) >= 0) & (np.asarray(b) < width)
    moved = given >> np.where(inside, b, width - 1).astype(given.dtype)
    return moved if given.dtype.kind == "i" else np.where(inside, moved, 0)


def _mulhi(a: Any, b: Any) -> Any:
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


def _popcount(a: Any) -> Any:
    bits, _ = _bits_of(a)
    return np.bitwise_count(bits).astype(np.asarray(a).dtype)


def _twice_e2m1(a: Any) -> Any:
    """Of the last four bits: a sign, two of an exponent and one of a fraction."""
    bits, _ = _bits_of(a)
    held = np.asarray(a).dtype
    table = np.array([0, 1, 2, 3, 4, 6, 8, 12], held)
    found = table[bits & 7]
    return np.where(bits & 8, -found, found).astype(held)


_ALL = (
    ScalarFunction(
        "add",
        2,
        "{0} + {1}",
        lambda a, b: a + b,
        wrapping="argus_add({0}, {1})",
        law="add",
    ),
    ScalarFunction(
        "sub",
        2,
        "{0} - {1}",
        lambda a, b: a - b,
        wrapping="argus_sub({0}, {1})",
        law="sub",
    ),
    ScalarFunction(
        "mul",
        2,
        "{0} * {1}",
        lambda a, b: a * b,
        wrapping="argus_mul({0}, {1})",
        law="mul",
    ),
    ScalarFunction(
        "div",
        2,
        "argus_div({0}, {1})",
        lambda a, b: a / b,
        "float",
        integer=False,
        law="div",
        issue=12.0,
        special=True,
        error=Error(2.0**-23, low=2.0**-120, high=2.0**120),
        double=Double("{0} / {1}", 30.0),
    ),
    ScalarFunction(
        "fdiv",
        2,
        "__fdividef({0}, {1})",
        lambda a, b: a / b,
        "float",
        False,
        law="div",
        double=Double("{0} / {1}", 30.0),
        issue=2.0,
        special=True,
        error=Error(_LAST, low=0.001, high=1000.0),
    ),
    ScalarFunction(
        "floordiv",
        2,
        "argus_floordiv({0}, {1})",
        np.floor_divide,
        real=False,
        law="floordiv",
        issue=20.0,
        bends=True,
    ),
    ScalarFunction(
        "mod", 2, "argus_mod({0}, {1})", np.mod, real=False, law="mod", issue=20.0
    ),
    ScalarFunction(
        "fma",
        3,
        "fmaf({0}, {1}, {2})",
        _fma,
        "float",
        False,
        law="fma",
        double=Double("fma({0}, {1}, {2})", 1.0),
    ),
    ScalarFunction(
        "neg", 1, "-{0}", lambda a: -a, wrapping="argus_neg({0})", law="neg"
    ),
    ScalarFunction("abs", 1, "argus_abs({0})", np.abs),
    ScalarFunction(
        "maximum",
        2,
        "argus_max({0}, {1})",
        _extreme(np.maximum, False),
        law="maximum",
        bends=True,
    ),
    ScalarFunction(
        "minimum",
        2,
        "argus_min({0}, {1})",
        _extreme(np.minimum, True),
        law="minimum",
        bends=True,
    ),
    ScalarFunction(
        "exp",
        1,
        "__expf({0})",
        np.exp,
        "float",
        False,
        law="exp",
        issue=2.0,
        special=True,
        error=Error(2.0**-15, low=-80, high=80),
        bends=True,
        double=Double("exp({0})", error=_wide(-700, 700)),
    ),
    ScalarFunction(
        "exp2",
        1,
        "argus_exp2({0})",
        np.exp2,
        "float",
        False,
        law="exp",
        factor=math.log(2.0),
        special=True,
        error=Error(_LAST, low=-120, high=120),
        bends=True,
        double=Double("exp2({0})", error=_wide(-1000, 1000)),
    ),
    ScalarFunction(
        "log",
        1,
        "__logf({0})",
        np.log,
        "float",
        False,
        law="log",
        issue=2.0,
        special=True,
        error=Error(2.0**-20, 2.0**-21, 1e-30),
        double=Double("log({0})", error=_wide(1e-300, absolute=_LAST_WIDE)),
    ),
    ScalarFunction(
        "log2",
        1,
        "__log2f({0})",
        np.log2,
        "float",
        False,
        law="log",
        factor=1.0 / math.log(2.0),
        special=True,
        error=Error(2.0**-20, 2.0**-21, 1e-30),
        double=Double("log2({0})", error=_wide(1e-300, absolute=_LAST_WIDE)),
    ),
    ScalarFunction(
        "sqrt",
        1,
        "sqrtf({0})",
        np.sqrt,
        "float",
        False,
        law="power",
        factor=0.5,
        issue=4.0,
        special=True,
        double=Double("sqrt({0})", 30.0),
    ),
    ScalarFunction(
        "rsqrt",
        1,
        "rsqrtf({0})",
        lambda a: 1 / np.sqrt(a),
        "float",
        False,
        law="power",
        factor=-0.5,
        special=True,
        error=Error(_LAST, 0.0, 1e-30),
        double=Double("rsqrt({0})", 25.0, error=_wide(1e-300)),
    ),
    ScalarFunction(
        "rcp",
        1,
        "argus_rcp({0})",
        lambda a: 1 / a,
        "float",
        False,
        law="power",
        factor=-1.0,
        special=True,
        error=Error(_LAST, low=1e-30),
        double=Double("1.0 / {0}", 25.0),
    ),
    ScalarFunction(
        "tanh",
        1,
        "tanhf({0})",
        np.tanh,
        "float",
        False,
        issue=15.0,
        special=True,
        error=Error(2.0**-21),
        bends=True,
        double=Double("tanh({0})", 60.0, error=_wide()),
    ),
    ScalarFunction(
        "tanh_approx",
        1,
        "argus_tanh({0})",
        np.tanh,
        "float",
        False,
        special=True,
        error=Error(2.0**-10),
        bends=True,
        double=Double("tanh({0})", 60.0, error=_wide()),
    ),
    ScalarFunction(
        "erf",
        1,
        "erff({0})",
        _erf,
        "float",
        False,
        issue=20.0,
        error=Error(2.0**-21),
        bends=True,
        double=Double("erf({0})", 60.0, error=_wide()),
    ),
    ScalarFunction(
        "sin",
        1,
        "sinf({0})",
        np.sin,
        "float",
        False,
        issue=20.0,
        error=Error(2.0**-21, 2.0**-21, -50, 50),
        bends=True,
        double=Double("sin({0})", 60.0, error=_wide(-50, 50, _LAST_WIDE)),
    ),
    ScalarFunction(
        "cos",
        1,
        "cosf({0})",
        np.cos,
        "float",
        False,
        issue=20.0,
        error=Error(2.0**-21, 2.0**-21, -50, 50),
        bends=True,
        double=Double("cos({0})", 60.0, error=_wide(-50, 50, _LAST_WIDE)),
    ),
    ScalarFunction(
        "expm1",
        1,
        "expm1f({0})",
        np.expm1,
        "float",
        False,
        issue=20.0,
        error=Error(2.0**-21, low=-80, high=80),
        double=Double("expm1({0})", 60.0, error=_wide(-700, 700)),
    ),
    ScalarFunction(
        "log1p",
        1,
        "argus_log1p({0})",
        np.log1p,
        "float",
        False,
        issue=26.0,
        error=Error(2.0**-21, low=-0.999),
        double=Double("log1p({0})", 60.0, error=_wide(-0.999)),
    ),
    ScalarFunction(
        "atan",
        1,
        "atanf({0})",
        np.arctan,
        "float",
        False,
        issue=20.0,
        error=Error(2.0**-21),
        double=Double("atan({0})", 60.0, error=_wide()),
    ),
    ScalarFunction(
        "nearest_tf32",
        1,
        "argus_nearest_tf32({0})",
        _nearest_tf32,
        "float",
        False,
        error=Error(2.0**-11),
        widest=32,
    ),
    ScalarFunction(
        "floor",
        1,
        "floorf({0})",
        np.floor,
        "float",
        False,
        bends=True,
        double=Double("floor({0})", 1.0),
    ),
    ScalarFunction(
        "ceil",
        1,
        "ceilf({0})",
        np.ceil,
        "float",
        False,
        bends=True,
        double=Double("ceil({0})", 1.0),
    ),
    ScalarFunction(
        "round",
        1,
        "rintf({0})",
        np.rint,
        "float",
        False,
        bends=True,
        double=Double("rint({0})", 1.0),
    ),
    ScalarFunction("eq", 2, "{0} == {1}", lambda a, b: a == b, "bool", bends=True),
    ScalarFunction("ne", 2, "{0} != {1}", lambda a, b: a != b, "bool", bends=True),
    ScalarFunction("lt", 2, "{0} < {1}", lambda a, b: a < b, "bool", bends=True),
    ScalarFunction("le", 2, "{0} <= {1}", lambda a, b: a <= b, "bool", bends=True),
    ScalarFunction("gt", 2, "{0} > {1}", lambda a, b: a > b, "bool", bends=True),
    ScalarFunction("ge", 2, "{0} >= {1}", lambda a, b: a >= b, "bool", bends=True),
    ScalarFunction("and", 2, "{0} & {1}", lambda a, b: a & b, real=False),
    ScalarFunction("or", 2, "{0} | {1}", lambda a, b: a | b, real=False),
    ScalarFunction("xor", 2, "{0} ^ {1}", lambda a, b: a ^ b, real=False),
    ScalarFunction("shl", 2, "argus_shl({0}, {1})", _shl, real=False, bends=True),
    ScalarFunction("shr", 2, "argus_shr({0}, {1})", _shr, real=False, bends=True),
    ScalarFunction(
        "mulhi",
        2,
        "argus_mulhi({0}, {1})",
        _mulhi,
        real=False,
        bends=True,
        narrowest=32,
        issue=2.0,
    ),
    ScalarFunction(
        "philox",
        3,
        "argus_philox({0}, {1}, {2})",
        word,
        real=False,
        bends=True,
        narrowest=64,
        issue=100.0,
    ),
    ScalarFunction(
        "popcount",
        1,
        "argus_popcount({0})",
        _popcount,
        real=False,
        bends=True,
        narrowest=32,
    ),
    ScalarFunction(
        "twice_e2m1",
        1,
        "argus_twice_e2m1({0})",
        _twice_e2m1,
        real=False,
        bends=True,
        issue=5.0,
        widest=32,
    ),
    ScalarFunction("not", 1, "!{0}", np.logical_not, "bool"),
    ScalarFunction("where", 3, "{0} ? {1} : {2}", np.where, law="where", bends=True),
)

FUNCTIONS: dict[str, ScalarFunction] = {f.name: f for f in _ALL}


def law(name: str) -> Law:
    """The law of a function. Raises KeyError for what is no function."""
    return FUNCTIONS[name].law
