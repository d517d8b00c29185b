"""Arithmetic on static values, with limits: no input may keep the compiler busy."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from argus.diagnostics import Span
from argus.ir.expr import BinaryOp, Const, Expr, binary, divides_by_zero, select
from argus.ir.ranges import Ranges
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.values import StaticValue, TupleValue, Value, describe

MAX_BITS = 64
MAX_TEXT = 1000
MAX_EXPONENT = 64

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
"""Every binary operator of Python, as it is written."""

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def checked(e: Elaborator, value: int, span: Span) -> int:
    """An integer within 64 bits; raises ArgusError (AG0119) for a larger one."""
    if value.bit_length() > MAX_BITS:
        raise e.fail("AG0119", span, f"a static integer has more than {MAX_BITS} bits")
    return value


def checked_text(e: Elaborator, value: str, span: Span) -> str:
    """A text of limited length; raises ArgusError (AG0119) for a longer one."""
    if len(value) > MAX_TEXT:
        raise e.fail("AG0119", span, f"a text has more than {MAX_TEXT} characters")
    return value


def operate(
    e: Elaborator, op: ast.operator, left: StaticValue, right: StaticValue, span: Span
) -> Value:
    """`left op right` on numbers and truth values; `+` joins texts.

    Raises ArgusError: operands without that operator (AG0105), a result that does not
    exist or is too large (AG0119).
    """
    a, b = left.value, right.value
    if isinstance(a, str) and isinstance(b, str) and isinstance(op, ast.Add):
        return StaticValue(checked_text(e, a + b, span))
    function = _OPERATORS.get(type(op))
    if (
        function is None
        or not isinstance(a, int | float)
        or not isinstance(b, int | float)
    ):
        raise e.fail(
            "AG0105" if function else "AG0004",
            span,
            f"{describe(left)} and {describe(right)} have no operator "
            f"`{SYMBOLS[type(op)]}`",
        )
    whole = isinstance(a, int) and isinstance(b, int)
    if isinstance(op, ast.Pow) and whole and abs(b) > MAX_EXPONENT:
        raise e.fail("AG0119", span, f"a power beyond an exponent of {MAX_EXPONENT}")
    if isinstance(op, ast.LShift) and b > MAX_BITS:
        raise e.fail("AG0119", span, f"a shift by more than {MAX_BITS} bits")
    try:
        value = function(a, b)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise e.fail("AG0119", span, f"cannot be computed: {error}") from None
    if isinstance(value, complex):
        raise e.fail("AG0119", span, "the result is not a real number")
    if isinstance(value, int) and not isinstance(value, bool):
        value = checked(e, value, span)
    return StaticValue(value)


def negative(e: Elaborator, value: StaticValue, span: Span) -> StaticValue:
    """`-value` of a number; raises ArgusError (AG0105) for anything else."""
    if isinstance(value.value, int | float):
        return StaticValue(-value.value)
    raise e.fail("AG0105", span, f"{describe(value)} has no negative")


def compare(
    e: Elaborator, op: ast.cmpop, left: StaticValue, right: StaticValue, span: Span
) -> StaticValue:
    """Compare static values; raises ArgusError (AG0105) where they have no order."""
    a, b = left.value, right.value
    if not isinstance(op, ast.Eq | ast.NotEq):
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        texts = isinstance(a, str) and isinstance(b, str)
        if not numbers and not texts:
            raise e.fail(
                "AG0105", span, f"{describe(left)} and {describe(right)} have no order"
            )
    return StaticValue(bool(_COMPARE[type(op)](a, b)))


def truth(value: Value) -> bool:
    """Truth of a static value as in Python; tensors and functions are true."""
    match value:
        case StaticValue(value=v):
            return bool(v) if isinstance(v, bool | int | float | str) else v is not None
        case TupleValue(items=items):
            return bool(items)
        case _:
            return True


def guarded(e: Elaborator, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr:
    """`a op b` on scalars; raises ArgusError for a division by zero (AG0119).

    A divisor that is not known yet may be 0: quotient and remainder are 0 then, and the
    program says so.
    """
    if divides_by_zero(op, b):
        raise e.fail("AG0119", span, "a division by zero")
    if op in ("//", "%", "^") and "float" in (a.type, b.type):
        raise e.fail(
            "AG0107", span, f"`{op}` is defined for whole numbers, not for floats"
        )
    result = binary(op, a, b)
    if op in ("//", "%") and not isinstance(result, Const):
        result = divided(e, result, b)
    if isinstance(result, Const) and isinstance(result.value, int):
        checked(e, result.value, span)
    return result


def divided(e: Elaborator, result: Expr, by: Expr) -> Expr:
    """What is divided ``by`` a number, or 0 where that is 0."""
    low, high = Ranges().of(e.expand(by))
    return result if low > 0 or high < 0 else select(binary("==", by, 0), 0, result)
