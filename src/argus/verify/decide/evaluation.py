"""What an expression means: exact evaluation on ints.

The reference for all other layers. Integers are mathematical; ``//`` and ``%`` round to
minus infinity; ``^`` works on two's complement of unlimited length; ``and``, ``or`` and
selections evaluate only what they need, so that ``d > 0 and x // d < 4`` is defined for
d = 0. Division by zero is an error (:class:`DivisionByZero`), never a value.

Floating point is not modelled (:class:`Unmodelled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym, binary, select

__all__ = [
    "DivisionByZero",
    "Unmodelled",
    "has_floats",
    "negate",
    "on_ints",
]


class DivisionByZero(Exception):  # noqa: N818 - a fact about a value, not a failure
    """The expression divides by zero at these values."""


class Unmodelled(Exception):  # noqa: N818
    """The expression is outside what is decided here; the text says why."""


FLOATS = "floating-point numbers are not modelled"
MISTYPED = "not a scalar expression"


def has_floats(e: Expr) -> bool:
    """Whether a part of an expression is a floating-point number."""
    match e:
        case Const() | Sym():
            return e.type == "float"
        case Binary():
            return e.op == "/" or has_floats(e.left) or has_floats(e.right)
        case Select():
            return any(has_floats(x) for x in (e.cond, e.then, e.other))
        case _:
            raise TypeError(f"{MISTYPED}: {e!r}")


_NEGATED: dict[str, BinaryOp] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


def negate(e: Expr) -> Expr:
    """The condition that is true where ``e`` is false."""
    match e:
        case Const():
            return Const(not e.value)
        case Binary(op="and", left=a, right=b):
            return binary("or", negate(a), negate(b))
        case Binary(op="or", left=a, right=b):
            return binary("and", negate(a), negate(b))
        case Binary(op=op, left=a, right=b) if op in _NEGATED:
            return binary(_NEGATED[op], a, b)
        case Select(cond=c, then=a, other=b):
            return select(c, negate(a), negate(b))
        case Sym() | Binary():
            return Binary("==", e, Const(0))
        case _:
            assert_never(e)


def on_ints(e: Expr, env: Mapping[str, int]) -> int:
    """Value of ``e``; conditions are 0 or 1.

    Raises KeyError for a symbol that ``env`` lacks, DivisionByZero and Unmodelled.
    """
    match e:
        case Const(value=v):
            if isinstance(v, float):
                raise Unmodelled(FLOATS)
            return int(v)
        case Sym():
            if e.type == "float":
                raise Unmodelled(FLOATS)
            return env[e.name]
        case Select():
            return on_ints(e.then if on_ints(e.cond, env) else e.other, env)
        case Binary(op="and"):
            return int(on_ints(e.left, env) != 0 and on_ints(e.right, env) != 0)
        case Binary(op="or"):
            return int(on_ints(e.left, env) != 0 or on_ints(e.right, env) != 0)
        case Binary():
            return _apply(e.op, on_ints(e.left, env), on_ints(e.right, env))
        case _:
            raise TypeError(f"{MISTYPED}: {e!r}")


def _apply(op: BinaryOp, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//" | "%":
            if b == 0:
                raise DivisionByZero
            return a // b if op == "//" else a % b
        case "^":
            return a ^ b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case ">":
            return int(a > b)
        case ">=":
            return int(a >= b)
        case "/":
            raise Unmodelled(FLOATS)
        case "and" | "or":
            raise AssertionError("evaluated lazily")
        case _:
            assert_never(op)
