"""Scalar expressions as C++: spelling, types, and cheap bounds.

Integers are ``int`` (problem sizes fit in 31 bits) except where a stride or an i64
value takes part: those are ``long long``. Floats are f32. ``//`` and ``%`` round to
minus infinity; they are printed as ``/`` and ``%`` where both operands are known not
to be negative.

Deciding whether two expressions are equal is not done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import assert_never

import numpy as np

from argus.codegen.code import (
    ATOM,
    PRECEDENCE,
    Code,
    binary,
    call,
    chosen,
    converted,
    plus,
)
from argus.codegen.errors import CodegenError
from argus.ir.expr import Binary, Const, Expr, Select, Sym, nonnegative

Spell = Callable[[Sym], Code]
"""The C++ text of a symbol, mostly an identifier."""

Types = Mapping[str, str]
"""C++ types of symbols by name, where they are not the default."""

_SPELLING = {"//": "/", "and": "&&", "or": "||"}
_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_EXTREMES = {"min": "argus_min", "max": "argus_max"}


def code(e: Expr, spell: Spell, types: Types) -> Code:
    """``e`` as a C++ expression."""

    def of(x: Expr) -> Code:
        return code(x, spell, types)

    match e:
        case Const(value=v):
            return literal(v)
        case Sym():
            return spell(e)
        case Binary(op="min" | "max", left=a, right=b):
            return _extreme(e, of(a), of(b), types)
        case Binary(op="//" | "%", left=a, right=b) if e.type == "float" or not (
            nonnegative(a) and nonnegative(b)
        ):
            function = "argus_floordiv" if e.op == "//" else "argus_mod"
            parts = (of(a), of(b))
            if e.type == "float":
                parts = (_as_float(a, parts[0]), _as_float(b, parts[1]))
            return call(function, *parts)
        case Binary(op="/", left=a, right=b):
            return binary("/", _as_float(a, of(a)), _as_float(b, of(b)))
        case Binary():
            return _binary(e, of)
        case Select(cond=c, then=a, other=b):
            return chosen(of(c), of(a), of(b))
        case _:
            raise CodegenError(f"not a scalar expression: {e!r}")


def _as_float(e: Expr, value: Code) -> Code:
    return value if e.type == "float" else converted("float", value)


def _extreme(e: Binary, left: Code, right: Code, types: Types) -> Code:
    """Overloads must see two operands of one type; NaN wins among floats."""
    kind = ctype(e, types)
    given = (ctype(e.left, types), ctype(e.right, types))
    parts = [
        part if own == kind else converted(kind, part)
        for part, own in zip((left, right), given, strict=True)
    ]
    return call(_EXTREMES[e.op] if kind == "float" else e.op, *parts)


def _binary(e: Binary, of: Callable[[Expr], Code]) -> Code:
    operator = _SPELLING.get(e.op, e.op)
    left, right = of(e.left), of(e.right)
    if e.op == "+" and isinstance(e.right, Const) and e.type == "int":
        value = e.right.value
        if value < 0:
            return binary("-", left, literal(-value))
        return plus(left, right)
    if e.op == "+" and e.type == "int":
        return plus(left, right)
    # Mixed && and ||, and xor next to arithmetic, are right without parentheses but
    # hard to read (and compilers warn).
    if e.op in ("^", "and", "or"):
        level = PRECEDENCE[operator]
        sides = ((e.left, left), (e.right, right))
        inner = ATOM if e.op == "^" else PRECEDENCE["^"]
        texts = [
            side.inside(level if isinstance(x, Binary) and x.op == e.op else inner)
            for x, side in sides
        ]
        return Code(f" {operator} ".join(texts), level)
    return binary(operator, left, right)


def literal(value: int | float | bool) -> Code:
    """A C++ literal; floats are f32, rounded to nearest (NaN: the canonical quiet one).

    Raises CodegenError for a whole number that has more than 64 bits.
    """
    if isinstance(value, bool):
        return Code("true" if value else "false")
    if isinstance(value, int):
        return _whole(value)
    if math.isnan(value):
        return Code("__int_as_float(0x7fffffff)")
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if np.isinf(rounded):
        bits = "0x7f800000" if rounded > 0 else "0xff800000"
        return Code(f"__int_as_float({bits})")
    # The shortest decimal fraction that is nearest to this f32 and to no other.
    return _signed(f"{rounded!s}f")


def _whole(value: int) -> Code:
    if abs(value) <= _INT_MAX:
        return _signed(str(value))
    if abs(value) <= _LONG_MAX:
        return _signed(f"{value}ll")
    if value == -_LONG_MAX - 1:
        # There is no literal of the absolute value.
        return Code(f"-{_LONG_MAX}ll - 1", PRECEDENCE["-"])
    raise CodegenError(f"{value} does not fit into 64 bits")


def _signed(text: str) -> Code:
    return Code(text, PRECEDENCE["-"] if text.startswith("-") else ATOM)


def float_literal(value: int | float | bool) -> Code:
    """The literal of ``value`` as a float."""
    return literal(float(value))


def ctype(e: Expr, types: Types) -> str:
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
        case Binary() | Select():
            return (0 if nonnegative(e) else None, None)
        case _:
            assert_never(e)


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
