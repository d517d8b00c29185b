"""Scalar expressions as C++.

Whole numbers are exact: each operation is computed in a type that holds its value
(`scalars.py` says which), or without signs where the program says that it wraps; C++
leaves open what signed numbers do that overflow. Floats are f32,
but for constants that a tile of f64 takes. ``//`` and ``%`` round
to minus infinity; they are printed as ``/`` and ``%`` where both operands are known not
to be negative.

Deciding whether two expressions are equal is not done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

import numpy as np

from argus.codegen.code import (
    ATOM,
    PRECEDENCE,
    CppExpression,
    binary,
    call,
    chosen,
    converted,
    plus,
)
from argus.codegen.errors import CodegenError
from argus.codegen.fusing import ROUNDED, exact_product
from argus.codegen.scalars import INT_MAX, ExpressionTypes, ScalarTypes
from argus.ir.expr import Binary, Const, Expr, Select, Sym, nonnegative
from argus.ir.wrapping import unwrapped

Spell = Callable[[Sym], CppExpression]
"""The C++ text of a symbol, mostly an identifier."""

_SPELLING = {"//": "/", "and": "&&", "or": "||"}
_LONG_MAX = 2**63 - 1
_EXTREMES = {"min": "argus_min", "max": "argus_max"}


def code(e: Expr, spell: Spell, scalars: ScalarTypes) -> CppExpression:
    """``e`` as a C++ expression."""
    return _code(e, spell, ExpressionTypes(scalars))


def modular(
    e: Expr, unsigned: str, spell: Spell, scalars: ScalarTypes
) -> CppExpression:
    """``e`` up to a multiple of 2**32 (u32) or 2**64 (u64).

    Sums and products are taken without signs, of operands that are computed exactly.
    """
    return _modular(e, unsigned, spell, ExpressionTypes(scalars))


def _code(e: Expr, spell: Spell, kinds: ExpressionTypes) -> CppExpression:
    def of(x: Expr) -> CppExpression:
        return _code(x, spell, kinds)

    match e:
        case Const(value=v):
            return literal(v)
        case Sym():
            return spell(e)
        case Binary(op="+", left=Binary(op="%")) if (found := unwrapped(e)) is not None:
            x, bits = found
            return converted(kinds.of(e), _modular(x, f"u{bits}", spell, kinds))
        case Binary(op="min" | "max", left=a, right=b):
            return _extreme(e, of(a), of(b), kinds)
        case Binary(op="//" | "%", left=a, right=b) if kinds.of(e) == "float" or not (
            nonnegative(a) and nonnegative(b)
        ):
            function = "argus_floordiv" if e.op == "//" else "argus_mod"
            parts = (of(a), of(b))
            if kinds.of(e) == "float":
                parts = (_as_float(a, parts[0], kinds), _as_float(b, parts[1], kinds))
            else:
                parts = (_widened(e, parts[0], kinds), parts[1])
                if isinstance(b, Const) and (found := by_bits(e.op, parts[0], b.value)):
                    return found
            return call(function, *parts)
        case Binary(op="/", left=a, right=b):
            return binary("/", _as_float(a, of(a), kinds), _as_float(b, of(b), kinds))
        case Binary(op="*", left=a, right=b) if kinds.of(
            e
        ) == "float" and not exact_product(e):
            # Rounded as the program says, and not fused with what it is added to.
            parts = (_as_float(a, of(a), kinds), _as_float(b, of(b), kinds))
            return CppExpression(ROUNDED[32].format(*(p.bare for p in parts)))
        case Binary():
            return _binary(e, of, kinds)
        case Select(cond=c, then=a, other=b):
            return chosen(of(c), of(a), of(b))
        case _:
            raise CodegenError(f"not a scalar expression: {e!r}")


def places_of(divisor: object) -> int | None:
    """By how many places a quotient is a shift; None for what is no power of two."""
    if not isinstance(divisor, int) or divisor < 2 or divisor & (divisor - 1):
        return None
    return divisor.bit_length() - 1


def by_bits(
    operator: str, dividend: CppExpression, divisor: object
) -> CppExpression | None:
    """``//`` or ``%`` of a whole number of any sign by a power of two, by its bits.

    They round down, as a shift does, and as two's complement has it. None for others.
    """
    places = places_of(divisor)
    if places is None:
        return None
    operator, number = (">>", places) if operator == "//" else ("&", 2**places - 1)
    # Parentheses that precedence does not need: next to arithmetic, bits are misread.
    return CppExpression(
        f"{dividend.operand} {operator} {number}", PRECEDENCE[operator]
    )


def _modular(
    e: Expr, unsigned: str, spell: Spell, kinds: ExpressionTypes
) -> CppExpression:
    match e:
        case Binary(op="+" | "-" | "*" as op, left=a, right=b) if (
            kinds.of(e) == "long long"
        ):
            x, y = (_modular(part, unsigned, spell, kinds) for part in (a, b))
            return plus(x, y) if op == "+" else binary(op, x, y)
        case Binary(op="%", left=a, right=Const(value=v)) if v == 2**64:
            # A part of what wraps, that sums have been put together with.
            return _modular(a, unsigned, spell, kinds)
        case Const(value=int(v)) if 0 <= v <= INT_MAX:
            return literal(v)  # which meets what is without sign
        case Const(value=int(v)):
            within = (v + 2**63) % 2**64 - 2**63
            return converted(unsigned, literal(within))
        case Const() | Sym() | Binary() | Select():
            return converted(unsigned, _code(e, spell, kinds))
        case _:
            assert_never(e)


def _widened(e: Binary, left: CppExpression, kinds: ExpressionTypes) -> CppExpression:
    """The left operand in the type of the result, which is then computed in it."""
    kind = kinds.of(e)
    both = {kinds.of(e.left), kinds.of(e.right)}
    return converted(kind, left) if kind == "long long" and kind not in both else left


def _as_float(e: Expr, value: CppExpression, kinds: ExpressionTypes) -> CppExpression:
    return value if kinds.of(e) == "float" else converted("float", value)


def _extreme(
    e: Binary, left: CppExpression, right: CppExpression, kinds: ExpressionTypes
) -> CppExpression:
    """Overloads must see two operands of one type; NaN wins among floats."""
    kind = kinds.of(e)
    given = (kinds.of(e.left), kinds.of(e.right))
    parts = [
        part if own == kind else converted(kind, part)
        for part, own in zip((left, right), given, strict=True)
    ]
    return call(_EXTREMES[e.op] if kind == "float" else e.op, *parts)


def _binary(
    e: Binary, of: Callable[[Expr], CppExpression], kinds: ExpressionTypes
) -> CppExpression:
    operator = _SPELLING.get(e.op, e.op)
    left, right = of(e.left), of(e.right)
    if kinds.of(e) == "long long":
        left = _widened(e, left, kinds)
    if e.op == "+" and isinstance(e.right, Const) and kinds.of(e) != "float":
        value = e.right.value
        if -_LONG_MAX <= value < 0:
            return binary("-", left, literal(-value))
        return plus(left, right)
    if e.op == "+" and kinds.of(e) != "float":
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
        return CppExpression(f" {operator} ".join(texts), level)
    return binary(operator, left, right)


def literal(value: int | float | bool) -> CppExpression:
    """A C++ literal; floats are f32, rounded to nearest (NaN: the canonical quiet one).

    Raises CodegenError for a whole number that has more than 64 bits.
    """
    if isinstance(value, bool):
        return CppExpression("true" if value else "false")
    if isinstance(value, int):
        return _whole(value)
    if math.isnan(value):
        return CppExpression("__int_as_float(0x7fffffff)")
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if np.isinf(rounded):
        bits = "0x7f800000" if rounded > 0 else "0xff800000"
        return CppExpression(f"__int_as_float({bits})")
    # The shortest decimal fraction that is nearest to this f32 and to no other.
    return _signed(f"{rounded!s}f")


def double_literal(value: int | float | bool) -> CppExpression:
    """A C++ literal of f64, which Python's numbers are."""
    number = float(value)
    if math.isnan(number):
        return CppExpression("__longlong_as_double(0x7fffffffffffffffll)")
    if math.isinf(number):
        bits = "0x7ff0000000000000ll" if number > 0 else "0xfff0000000000000ll"
        return CppExpression(f"__longlong_as_double({bits})")
    return _signed(repr(number))


def _whole(value: int) -> CppExpression:
    if abs(value) <= INT_MAX:
        return _signed(str(value))
    if abs(value) <= _LONG_MAX:
        return _signed(f"{value}ll")
    if value == -_LONG_MAX - 1:
        # There is no literal of the absolute value.
        return CppExpression(f"-{_LONG_MAX}ll - 1", PRECEDENCE["-"])
    raise CodegenError(f"{value} does not fit into 64 bits")


def _signed(text: str) -> CppExpression:
    return CppExpression(text, PRECEDENCE["-"] if text.startswith("-") else ATOM)


def float_literal(value: int | float | bool) -> CppExpression:
    """The literal of ``value`` as a float."""
    return literal(float(value))
