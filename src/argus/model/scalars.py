"""Scalars of a launch: what expressions are worth, as fast closures.

The arguments of a launch are completed by what follows from them: strides of contiguous
tensors, the grid, the number of multiprocessors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from argus.ir.expr import Binary, Const, Expr, Select, Sym, evaluate, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import GRID_SIZE, SM_COUNT, Program, ScalarParam
from argus.model.steps import Env, Value

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a ^ b,
    "min": lambda a, b: a if a <= b else b,
    "max": lambda a, b: a if a >= b else b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}

CLUSTER_SIZE = "cluster.size"
"""Key of the blocks of a cluster; no symbol has such a name."""


def closure(e: Expr) -> Value:
    """A function of the environment with the value of ``e`` (Python numbers)."""
    match e:
        case Const(value=v):
            return lambda _: v
        case Sym(name=name):
            return operator.itemgetter(name)
        case Binary(op=op, left=left, right=Const(value=v)):
            f, a = _OPERATORS[op], closure(left)
            return lambda env: f(a(env), v)
        case Binary(op=op, left=left, right=right):
            f, a, b = _OPERATORS[op], closure(left), closure(right)
            return lambda env: f(a(env), b(env))
        case Select(cond=cond, then=then, other=other):
            c, x, y = closure(cond), closure(then), closure(other)
            return lambda env: x(env) if c(env) else y(env)
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")


def launch_scalars(
    program: Program, arguments: Mapping[str, int | float], multiprocessors: int
) -> Env:
    """Sizes, strides, parameters and the grid (`GRID_SIZE`) by name.

    Scalar parameters that are not given are 1: no time depends on their value, unless
    a loop or a branch does. Raises KeyError with the name of a dimension that
    ``arguments`` lacks.
    """
    env: Env = {SM_COUNT.name: multiprocessors}
    for param in program.params:
        if isinstance(param, ScalarParam):
            given = arguments.get(param.name, 1)
            env[param.sym.name] = arguments.get(param.sym.name, given)
    tensors = [p for p in program.params if isinstance(p, GlobalTensor)]
    for tensor in tensors:
        for name, extent in zip(tensor.dims, tensor.shape, strict=True):
            for s in symbols(extent):
                key = s.name if s.name in arguments else name
                env[s.name] = arguments[key]
    for tensor in tensors:
        extents = [int(evaluate(e, env)) for e in tensor.shape]
        for axis, stride in enumerate(tensor.strides):
            for s in symbols(stride):
                env[s.name] = prod(extents[axis + 1 :])
    env[GRID_SIZE.name] = int(evaluate(program.grid, env))
    return env


def tensor_bytes(program: Program, env: Env) -> dict[str, float]:
    """Size of each tensor argument."""
    return {
        p.name: p.dtype.bytes * prod(float(evaluate(e, env)) for e in p.shape)
        for p in program.params
        if isinstance(p, GlobalTensor)
    }
