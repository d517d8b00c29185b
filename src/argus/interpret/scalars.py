"""Uniform scalars as the GPU computes them: floats are f32, whole numbers exact.

`argus.ir.expr.evaluate` computes floats as Python does, in 64 bits; a kernel that
branches on such a number, or stores it, would see another. Where whole numbers leave 64
bits, the program itself says that they wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.interpret.numbers import extreme
from argus.ir.expr import Binary, Const, Expr, Select, Sym, apply

__all__ = ["Real", "operand_value", "scalar_value"]

Real = type[np.float32] | type[np.float64]


def scalar_value(e: Expr, env: Mapping[str, Any], real: Real = np.float32) -> Any:
    """Value of ``e``: int, bool, or a float of the type ``real``.

    Raises KeyError with the name of a symbol that ``env`` lacks.
    """
    with np.errstate(all="ignore"):
        return _value(e, env, real)


def operand_value(e: Expr, env: Mapping[str, Any], real: Real = np.float32) -> Any:
    """Value of ``e`` where a tile takes it: a constant is exact until then."""
    return e.value if isinstance(e, Const) else scalar_value(e, env, real)


def _value(e: Expr, env: Mapping[str, Any], real: Real) -> Any:
    match e:
        case Const(value=value):
            return real(value) if isinstance(value, float) else value
        case Sym(name=name):
            value = env[name]
            return _rounded(value, real) if e.type == "float" else value
        case Binary(op=op, left=left, right=right):
            a, b = _value(left, env, real), _value(right, env, real)
            if op == "/" or real in (type(a), type(b)):
                a, b = _rounded(a, real), _rounded(b, real)
                if op in ("min", "max"):
                    return real(extreme(op, np.array([a, b]), (0,))[0])
            return apply(op, a, b)
        case Select(cond=cond, then=then, other=other):
            # The other branch may divide by zero.
            chosen = _value(then if _value(cond, env, real) else other, env, real)
            return _rounded(chosen, real) if e.type == "float" else chosen
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")


def _rounded(value: Any, real: Real) -> Any:
    """A number as a fraction; a whole one is rounded once, and to nothing between."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return np.int64(value).astype(real) if whole else real(value)
