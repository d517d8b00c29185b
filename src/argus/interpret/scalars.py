"""Uniform scalars as the GPU computes them: floats are f32, whole numbers exact.

`argus.ir.expr.evaluate` computes floats as Python does, in 64 bits; a kernel that
branches on such a number, or stores it, would see another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.interpret.numbers import extreme
from argus.ir.expr import Binary, Const, Expr, Select, Sym, apply

__all__ = ["scalar_value"]


def scalar_value(e: Expr, env: Mapping[str, Any]) -> Any:
    """Value of ``e``: int, bool, or np.float32.

    Raises KeyError with the name of a symbol that ``env`` lacks.
    """
    with np.errstate(all="ignore"):
        return _value(e, env)


def _value(e: Expr, env: Mapping[str, Any]) -> Any:
    match e:
        case Const(value=value):
            return np.float32(value) if isinstance(value, float) else value
        case Sym(name=name):
            value = env[name]
            return np.float32(value) if e.type == "float" else value
        case Binary(op=op, left=left, right=right):
            a, b = _value(left, env), _value(right, env)
            if op == "/" or np.float32 in (type(a), type(b)):
                a, b = np.float32(a), np.float32(b)
                if op in ("min", "max"):
                    return np.float32(extreme(op, np.array([a, b]), (0,))[0])
            return apply(op, a, b)
        case Select(cond=cond, then=then, other=other):
            # The other branch may divide by zero.
            chosen = _value(then if _value(cond, env) else other, env)
            return np.float32(chosen) if e.type == "float" else chosen
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")
