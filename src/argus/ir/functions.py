# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Element-wise functions: records that type rules, interpreter, printer read.

What a record is: `function.py`. Comparisons and functions of bits stand in
`logic_functions.py`.

In which type they compute stands in `argus.ir.numerics`; CUDA spellings take operands
of that type. ``exp2``, ``log2``, ``rsqrt``, ``rcp``
and ``tanh`` use the hardware's approximate instructions (PTX ISA 9.7.3: ex2.approx,
lg2.approx, rsqrt.approx, rcp.approx, tanh.approx), whose errors are at most a few ulp
in f32 (tanh: 2**-11 relative).
"""

import math

import numpy as np

from argus.ir.function import Double, Error, Law, ScalarFunction
from argus.ir.function_values import (
    erf,
    extreme,
    fma,
    nearest_tf32,
)
from argus.ir.logic_functions import LOGIC

__all__ = ["FUNCTIONS", "law"]

_LAST = 2.0**-22
"""A few units in the last place of f32."""
_LAST_WIDE = 2.0**-49
"""A few units in the last place of f64: CUDA's functions are off by 2 at most (CUDA
Programming Guide, "Mathematical Functions"), and so are those of numpy."""


def _wide(low: float = -1e300, high: float = 1e300, absolute: float = 0.0) -> Error:
    """How far a function of f64 may be from the result."""
    return Error(_LAST_WIDE, absolute, low, high)


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
        "fmod",
        2,
        "fmodf({0}, {1})",
        np.fmod,
        "float",
        False,
        issue=40.0,
        double=Double("fmod({0}, {1})", 80.0),
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
        fma,
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
        extreme(np.maximum, False),
        law="maximum",
        bends=True,
    ),
    ScalarFunction(
        "minimum",
        2,
        "argus_min({0}, {1})",
        extreme(np.minimum, True),
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
        erf,
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
        nearest_tf32,
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
)

FUNCTIONS: dict[str, ScalarFunction] = {f.name: f for f in (*_ALL, *LOGIC)}


def law(name: str) -> Law:
    """The law of a function. Raises KeyError for what is no function."""
    return FUNCTIONS[name].law
