"""Values of scalar expressions, fast: each expression becomes a function once.

The same numbers as :func:`argus.ir.expr.evaluate`, for ints and floats. What does not
decide is not evaluated: a branch that is not selected, ``b`` of ``a or b`` where a
holds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from argus.ir.expr import Binary, Const, Expr, Select, Sym

__all__ = ["Scalars"]

Env = Mapping[str, Any]
Function = Callable[[Env], Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}


class Scalars:
    """The functions of a program's expressions, by their identity."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Expr, Function]] = {}

    def value(self, e: Expr, env: Env) -> Any:
        """The value of ``e``. Raises KeyError with a name that ``env`` lacks."""
        found = self._made.get(id(e))
        if found is None:
            # The expression is kept, so that nobody else gets its identity.
            found = self._made[id(e)] = (e, _function(e))
        return found[1](env)

    def values(self, expressions: tuple[Expr, ...], env: Env) -> tuple[int, ...]:
        """The values of several."""
        return tuple([self.value(e, env) for e in expressions])


def _function(e: Expr) -> Function:
    match e:
        case Const():
            value = e.value
            return lambda env: value
        case Sym():
            return operator.itemgetter(e.name)
        case Select():
            cond, then, other = _function(e.cond), _function(e.then), _function(e.other)
            return lambda env: then(env) if cond(env) else other(env)
        case Binary():
            return _binary(e)
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")


def _binary(e: Binary) -> Function:
    apply = _OPERATORS[e.op]
    left, right = e.left, e.right
    if e.op in ("and", "or"):
        return _either(e.op == "or", _function(left), _function(right), apply)
    if isinstance(right, Const):
        number = right.value
        if isinstance(left, Sym):
            name = left.name
            return lambda env: apply(env[name], number)
        first = _function(left)
        return lambda env: apply(first(env), number)
    first, second = _function(left), _function(right)
    return lambda env: apply(first(env), second(env))


def _either(
    decides: bool, first: Function, second: Function, apply: Callable[[Any, Any], Any]
) -> Function:
    """The second side is not evaluated where the first one ``decides``."""

    def value(env: Env) -> Any:
        left = first(env)
        return left if bool(left) is decides else apply(left, second(env))

    return value
