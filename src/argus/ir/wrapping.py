"""Whole numbers of more than 64 bits wrap, and a program says where.

Scalars are exact numbers. Where one may leave 64 bits, the program has the number that
64 bits hold as an expression of its own, ``(x + 2**63) % 2**64 - 2**63``. Whoever reads
a program reads exact arithmetic; who computes with 64 bits asks :func:`unwrapped`.
"""

from __future__ import annotations

from argus.ir.expr import Binary, Const, Expr, binary

__all__ = ["unwrapped", "wrapped"]

_HALF, _WHOLE = 2**63, 2**64


def wrapped(x: Expr) -> Expr:
    """The number between -2**63 and 2**63 - 1 that differs from ``x`` by 2**64s."""
    return binary("-", binary("%", binary("+", x, _HALF), _WHOLE), _HALF)


def unwrapped(e: Expr) -> Expr | None:
    """An expression that is ``e`` modulo 2**64, if ``e`` is what wraps to 64 bits."""
    match e:
        case Binary(
            op="+",
            left=Binary(op="%", left=x, right=Const(value=whole)),
            right=Const(value=int(c)),
        ) if whole == _WHOLE:
            more = (c + _HALF) % _WHOLE - _HALF
            match x:
                case Binary(op="+", left=y, right=Const(value=int(d))):
                    more = (c + d + _HALF) % _WHOLE - _HALF
                    return binary("+", y, more)
                case _:
                    return binary("+", x, more)
        case _:
            return None
