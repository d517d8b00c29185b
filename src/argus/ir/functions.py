# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Element-wise functions: one record each, read by type rules, interpreter and printer.

Arithmetic on 16-bit floats is defined as f32 arithmetic rounded to the operand type.
CUDA spellings take f32 (or i32, bool) operands. ``exp2``, ``log2``, ``rsqrt``, ``rcp``
and ``tanh`` use the hardware's approximate instructions (PTX ISA 9.7.3: ex2.approx,
lg2.approx, rsqrt.approx, rcp.approx, tanh.approx), whose errors are at most a few ulp
in f32 (tanh: 2**-11 relative).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Function:
    """``result`` is "same" (promoted operand type), "bool", or "float" (needs float).

    ``cuda`` is a template over {0}, {1}, {2}. ``numpy`` computes in f32/i32/bool.
    """

    name: str
    arity: int
    cuda: str
    numpy: Callable[..., Any]
    result: str = "same"
    integer: bool = True
    """Defined on integers too."""


def _erf(x: Any) -> Any:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.float32)


def _idiv(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b)


_ALL = (
    Function("add", 2, "{0} + {1}", lambda a, b: a + b),
    Function("sub", 2, "{0} - {1}", lambda a, b: a - b),
    Function("mul", 2, "{0} * {1}", lambda a, b: a * b),
    Function("div", 2, "{0} / {1}", lambda a, b: a / b, "float", integer=False),
    Function("fdiv", 2, "__fdividef({0}, {1})", lambda a, b: a / b, "float", False),
    Function("floordiv", 2, "argus_floordiv({0}, {1})", _idiv),
    Function("mod", 2, "argus_mod({0}, {1})", np.mod),
    Function(
        "fma", 3, "fmaf({0}, {1}, {2})", lambda a, b, c: a * b + c, "float", False
    ),
    Function("neg", 1, "-{0}", lambda a: -a),
    Function("abs", 1, "argus_abs({0})", np.abs),
    Function("maximum", 2, "argus_max({0}, {1})", np.maximum),
    Function("minimum", 2, "argus_min({0}, {1})", np.minimum),
    Function("exp", 1, "__expf({0})", np.exp, "float", False),
    Function("exp2", 1, "argus_exp2({0})", np.exp2, "float", False),
    Function("log", 1, "__logf({0})", np.log, "float", False),
    Function("log2", 1, "__log2f({0})", np.log2, "float", False),
    Function("sqrt", 1, "sqrtf({0})", np.sqrt, "float", False),
    Function("rsqrt", 1, "rsqrtf({0})", lambda a: 1 / np.sqrt(a), "float", False),
    Function("rcp", 1, "argus_rcp({0})", lambda a: 1 / a, "float", False),
    Function("tanh", 1, "tanhf({0})", np.tanh, "float", False),
    Function("tanh_approx", 1, "argus_tanh({0})", np.tanh, "float", False),
    Function("erf", 1, "erff({0})", _erf, "float", False),
    Function("sin", 1, "sinf({0})", np.sin, "float", False),
    Function("cos", 1, "cosf({0})", np.cos, "float", False),
    Function("floor", 1, "floorf({0})", np.floor, "float", False),
    Function("ceil", 1, "ceilf({0})", np.ceil, "float", False),
    Function("round", 1, "rintf({0})", np.rint, "float", False),
    Function("eq", 2, "{0} == {1}", lambda a, b: a == b, "bool"),
    Function("ne", 2, "{0} != {1}", lambda a, b: a != b, "bool"),
    Function("lt", 2, "{0} < {1}", lambda a, b: a < b, "bool"),
    Function("le", 2, "{0} <= {1}", lambda a, b: a <= b, "bool"),
    Function("gt", 2, "{0} > {1}", lambda a, b: a > b, "bool"),
    Function("ge", 2, "{0} >= {1}", lambda a, b: a >= b, "bool"),
    Function("and", 2, "{0} & {1}", lambda a, b: a & b),
    Function("or", 2, "{0} | {1}", lambda a, b: a | b),
    Function("xor", 2, "{0} ^ {1}", lambda a, b: a ^ b),
    Function("not", 1, "!{0}", np.logical_not, "bool"),
    Function("where", 3, "{0} ? {1} : {2}", np.where),
)

FUNCTIONS: dict[str, Function] = {f.name: f for f in _ALL}
