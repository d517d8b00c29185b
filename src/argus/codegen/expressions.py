"""Scalar expressions as C++: spelling, precedence, types, and cheap bounds.

Integers are ``int`` (problem sizes fit in 31 bits) except where a stride or an i64
value takes part: those are ``long long``. ``//`` and ``%`` round to minus infinity;
they are printed as ``/`` and ``%`` where both operands are known not to be negative.

Deciding whether two expressions are equal is not done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from argus.codegen.errors import CodegenError
from argus.ir.expr import Binary, Const, Expr, Select, Sym, nonnegative

Spell = Callable[[Sym], str]
"""The C++ identifier of a symbol."""

_PRECEDENCE = {
    "*": 10, "/": 10, "//": 10, "%": 10, "+": 9, "-": 9,
    "<": 8, "<=": 8, ">": 8, ">=": 8, "==": 7, "!=": 7, "^": 5, "and": 4, "or": 3,
}  # fmt: skip
_SPELLING = {"//": "/", "and": "&&", "or": "||"}
_ATOM, _TERNARY = 20, 2
_INT_MAX = 2**31 - 1


def text(e: Expr, spell: Spell) -> str:
    """``e`` as a C++ expression."""
    return _text(e, spell)[0]


def operand(e: Expr, spell: Spell) -> str:
    """``e`` as a C++ expression that binds tighter than any binary operator."""
    body, level = _text(e, spell)
    return body if level == _ATOM else f"({body})"


def _text(e: Expr, spell: Spell) -> tuple[str, int]:
    match e:
        case Const(value=v):
            body = literal(v)
            return body, 9 if body.startswith("-") else _ATOM
        case Sym():
            return spell(e), _ATOM
        case Binary(op="min" | "max", left=a, right=b):
            return f"{e.op}({text(a, spell)}, {text(b, spell)})", _ATOM
        case Binary(op="//" | "%", left=a, right=b) if not (
            nonnegative(a) and nonnegative(b)
        ):
            name = "argus_floordiv" if e.op == "//" else "argus_mod"
            return f"{name}({text(a, spell)}, {text(b, spell)})", _ATOM
        case Binary(op="/", left=a, right=b):
            parts = (_as_float(a, spell), _as_float(b, spell))
            return f"{parts[0]} / {parts[1]}", _PRECEDENCE["/"]
        case Binary():
            return _binary(e, spell), _PRECEDENCE[e.op]
        case Select(cond=c, then=a, other=b):
            parts = tuple(_inside(x, spell, _TERNARY + 1) for x in (c, a, b))
            return f"{parts[0]} ? {parts[1]} : {parts[2]}", _TERNARY
        case _:
            raise CodegenError(f"not a scalar expression: {e!r}")


def _as_float(e: Expr, spell: Spell) -> str:
    if e.type == "float":
        return operand(e, spell)
    return f"(float){operand(e, spell)}"


def _inside(e: Expr, spell: Spell, level: int) -> str:
    body, own = _text(e, spell)
    return body if own >= level else f"({body})"


def _binary(e: Binary, spell: Spell) -> str:
    level = _PRECEDENCE[e.op]
    if e.op == "+" and isinstance(e.right, Const) and e.type == "int":
        value = e.right.value
        if value < 0:
            return f"{_inside(e.left, spell, level)} - {literal(-value)}"
    # Mixed && and ||, and xor next to arithmetic, are right without parentheses but
    # hard to read (and compilers warn).
    if e.op in ("^", "and", "or"):
        inner = 6 if e.op == "^" else 5
        same = [isinstance(x, Binary) and x.op == e.op for x in (e.left, e.right)]
        left = _inside(e.left, spell, level if same[0] else max(inner, level))
        right = _inside(e.right, spell, level if same[1] else max(inner, level))
        if e.op == "^":
            left = left if same[0] else _inside(e.left, spell, _ATOM)
            right = _inside(e.right, spell, _ATOM)
        return f"{left} {_SPELLING.get(e.op, e.op)} {right}"
    # Integer addition is the one operator whose right operand may stay bare.
    bare = e.op == "+" and e.type == "int"
    left = _inside(e.left, spell, level)
    right = _inside(e.right, spell, level if bare else level + 1)
    return f"{left} {_SPELLING.get(e.op, e.op)} {right}"


def literal(value: int | float | bool) -> str:
    """A C++ literal; floats are f32 (the NaN is the canonical quiet one)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) <= _INT_MAX else f"{value}ll"
    if math.isnan(value):
        return "__int_as_float(0x7fffffff)"
    if math.isinf(value):
        bits = "0x7f800000" if value > 0 else "0xff800000"
        return f"__int_as_float({bits})"
    return f"{value!r}f"


def float_literal(value: int | float | bool) -> str:
    """The literal of ``value`` as a float."""
    return literal(float(value))


def ctype(e: Expr, types: Mapping[str, str]) -> str:
    """C++ type of ``e``: bool, int, long long or float.

    ``types`` gives the type of symbols by name where it is not the default.
    """
    if e.type != "int":
        return e.type
    match e:
        case Const(value=v):
            return "int" if abs(v) <= _INT_MAX else "long long"
        case Sym():
            return types.get(e.name, "long long" if e.kind == "stride" else "int")
        case Binary(left=a, right=b) | Select(then=a, other=b):
            both = (ctype(a, types), ctype(b, types))
            return "long long" if "long long" in both else "int"
        case _:
            raise CodegenError(f"not a scalar expression: {e!r}")


Range = tuple[int | None, int | None]
"""Least and greatest value, each None where not known."""


def interval(e: Expr, ranges: Mapping[str, Range]) -> Range:
    """Sound bounds of an integer expression; ``ranges`` by symbol name."""
    match e:
        case Const(value=v):
            return (int(v), int(v))
        case Sym():
            return ranges.get(e.name, (0 if e.nonneg else None, None))
        case Binary(op="+", left=a, right=b):
            (la, ha), (lb, hb) = interval(a, ranges), interval(b, ranges)
            return (_add(la, lb), _add(ha, hb))
        case Binary(op="-", left=a, right=b):
            (la, ha), (lb, hb) = interval(a, ranges), interval(b, ranges)
            return (
                _add(la, None if hb is None else -hb),
                _add(ha, None if lb is None else -lb),
            )
        case Binary(op="*", left=a, right=Const(value=v)) if v >= 0:
            low, high = interval(a, ranges)
            return (
                None if low is None else low * int(v),
                None if high is None else high * int(v),
            )
        case Binary(op="//", left=a, right=Const(value=v)) if v > 0:
            low, high = interval(a, ranges)
            return (
                None if low is None else low // int(v),
                None if high is None else high // int(v),
            )
        case Binary(op="%", right=Const(value=v)) if v > 0:
            return (0, int(v) - 1)
        case _:
            return (0 if nonnegative(e) else None, None)


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
