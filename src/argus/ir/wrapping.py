"""Whole numbers that leave 32 or 64 bits wrap, and a program says where.

Scalars are exact numbers. Where one may leave the bits that it has, the program has the
number that is left as an expression, ``(x + 2**63) % 2**64 - 2**63``. Whoever reads a
program reads exact arithmetic; who computes with so many bits asks :func:`unwrapped`.
"""

from __future__ import annotations

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary

__all__ = ["unwrapped", "wrapped", "wrapped_parts"]

_SIZES = {2**32: 32, 2**64: 64}


def wrapped(x: Expr, bits: int = 64) -> Expr:
    """The number of so many bits, with a sign, that is ``x`` modulo 2**bits."""
    half = 2 ** (bits - 1)
    return binary("-", binary("%", binary("+", x, half), 2 * half), half)


def wrapped_parts(e: Expr) -> tuple[Expr, int, int] | None:
    """``x``, bits and ``c`` where ``e`` is ``wrapped(x, bits) + c``; bits: 32 or 64.

    ``c`` is 0 with 32 bits. None for what has not this form.
    """
    match e:
        case Binary(
            op="+",
            left=Binary(op="%", left=x, right=Const(value=whole)),
            right=Const(value=int(c)),
        ) if whole == 2**64 or (whole == 2**32 and c == -(2**31)):
            half = int(whole) // 2
            return binary("+", x, -half), _SIZES[int(whole)], c + half
        case Const() | Sym() | Binary() | Select():
            return None


def unwrapped(e: Expr) -> tuple[Expr, int] | None:
    """What wraps to ``e``, which is the same modulo 2**bits, and the bits: 32 or 64.

    None for what is no result of :func:`wrapped`. A constant that was added to one of
    64 bits has become a part of it.
    """
    parts = wrapped_parts(e)
    return None if parts is None else (binary("+", parts[0], parts[2]), parts[1])
