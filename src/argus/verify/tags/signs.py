"""Signs and upper bounds by structure; leaves go to the prover.

What a kernel computes of indices is nested deeply (a grouped order of tiles has three
divisions), but its sign follows from the signs of the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary

__all__ = ["minimands", "never_negative", "stays_below"]

Prover = Callable[[Expr], bool]
"""Decides a condition that has no structural rule."""


def never_negative(e: Expr, prove: Prover) -> bool:
    """Whether e >= 0, by the structure of e."""
    match e:
        case Const(value=v):
            return v >= 0
        case Sym(nonneg=nonneg):
            return nonneg or prove(binary(">=", e, 0))
        case Binary(op="+" | "*", left=a, right=b):
            both = never_negative(a, prove) and never_negative(b, prove)
            return both or (e.op == "+" and prove(binary(">=", e, 0)))
        case Binary(op="//", left=a, right=b):
            return never_negative(a, prove) and _positive(b, prove)
        case Binary(op="%", right=b):
            return _positive(b, prove)
        case Binary(op="min", left=a, right=b):
            return never_negative(a, prove) and never_negative(b, prove)
        case Binary(op="max", left=a, right=b):
            return never_negative(a, prove) or never_negative(b, prove)
        case Binary(op="-"):
            return prove(binary(">=", e, 0))
        case Select(then=a, other=b):
            return never_negative(a, prove) and never_negative(b, prove)
        case Binary():
            return False
        case _:
            assert_never(e)


def _positive(e: Expr, prove: Prover) -> bool:
    match e:
        case Sym(kind="dim"):
            return True
        case Binary(op="//", left=a, right=b) if prove(binary("==", a % b, 0)):
            return _positive(a, prove) and _positive(b, prove)
        case Const(value=v):
            return v > 0
        case Binary(op="*", left=a, right=b):
            return _positive(a, prove) and _positive(b, prove)
        case Binary(op="min", left=a, right=b):
            return _positive(a, prove) and _positive(b, prove)
        case Binary(op="max", left=a, right=b):
            return _positive(a, prove) or _positive(b, prove)
        case Sym() | Binary() | Select():
            return prove(binary(">", e, 0))
        case _:
            assert_never(e)


def stays_below(e: Expr, limit: Expr, prove: Prover) -> bool:
    """Whether e < limit, for sums that end in a remainder.

    a + b % d < limit where d >= 1 and a + d <= limit; a minimum d may be replaced by
    either of its operands.
    """
    match e:
        case Binary(op="+", left=a, right=Binary(op="%", right=d)):
            if not _positive(d, prove):
                return False
            return any(
                prove(binary("<=", binary("+", a, m), limit)) for m in minimands(d)
            )
        case Binary(op="%", right=d):
            return _positive(d, prove) and prove(binary("<=", d, limit))
        case Binary(op="//", left=a, right=Binary(op="//", left=whole, right=part)) if (
            part == limit
        ):
            # a // (w // p) < p where p divides w and a < w: equal groups of heads.
            exact = prove(binary("==", whole % part, 0))
            inside = stays_below(a, whole, prove) or prove(binary("<", a, whole))
            return exact and inside and _positive(Binary("//", whole, part), prove)
        case Const() | Sym() | Binary() | Select():
            return False
        case _:
            assert_never(e)


def minimands(e: Expr) -> tuple[Expr, ...]:
    """What an expression is the minimum of; itself, if it is none."""
    match e:
        case Binary(op="min", left=a, right=b):
            return (*minimands(a), *minimands(b))
        case Const() | Sym() | Binary() | Select():
            return (e,)
        case _:
            assert_never(e)
