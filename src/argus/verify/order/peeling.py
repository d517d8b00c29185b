"""Conditions on a loop's counter, and how near the ends of the loop they change.

A walk repeats only while conditions stay as they are. One like ``k + BK < K`` differs
in the last iteration, ``n > 2`` in the first three, in loops of any length: so many
iterations at both ends are no part of what repeats. What changes anywhere else is not
followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Select, Sym

__all__ = ["flips"]

MOST = 4
"""Iterations at an end of a loop; what changes further inside is not followed."""
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
Linear = dict[str, int]
"""Coefficients of symbols, and of 1 under the name ""."""


def flips(
    cond: Expr, loops: Iterable[o.For], varying: Iterable[str]
) -> tuple[int, int] | None:
    """In how many first and last iterations of its loop a condition may differ.

    ``loops`` are those around it, ``varying`` all symbols that change with their
    iterations. None where that cannot be said, or is too many.
    """
    match cond:
        case Binary(op="and" | "or"):
            left = flips(cond.left, loops, varying)
            right = flips(cond.right, loops, varying)
            if left is None or right is None:
                return None
            return max(left[0], right[0]), max(left[1], right[1])
        case Binary() if cond.op in _COMPARISONS:
            return _comparison(cond, loops, set(varying))
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(cond)


def _comparison(
    cond: Binary, loops: Iterable[o.For], varying: set[str]
) -> tuple[int, int] | None:
    left, right = _linear(cond.left), _linear(cond.right)
    if left is None or right is None:
        return None
    difference = _plus(left, right, -1)
    moving = [name for name in difference if name in varying]
    found = [op for op in loops if moving == [op.var.name]]
    if not moving:
        return 0, 0
    if not found:
        return None
    op = found[0]
    factor = abs(difference[op.var.name])
    if not isinstance(op.step, Const):
        return None
    step = int(op.step.value) * factor
    first = _distance(difference, op.var.name, op.start, step)
    last = _distance(difference, op.var.name, op.stop, step)
    if first is not None:
        return first, 0
    return None if last is None else (0, last)


def _distance(difference: Linear, name: str, end: Expr, step: int) -> int | None:
    """How many iterations from this end of the loop the difference is 0."""
    bound = _linear(end)
    if bound is None or step < 1:
        return None
    rest = {n: c for n, c in difference.items() if n != name}
    at = _plus(rest, bound, difference[name])
    if any(n for n in at):
        return None
    iterations = abs(at.get("", 0)) // step + 2
    return iterations if iterations <= MOST else None


def _linear(e: Expr) -> Linear | None:
    match e:
        case Const(value=int(value)):
            return {"": value} if value else {}
        case Sym():
            return {e.name: 1}
        case Binary(op="+" | "-"):
            left, right = _linear(e.left), _linear(e.right)
            if left is None or right is None:
                return None
            return _plus(left, right, 1 if e.op == "+" else -1)
        case (
            Binary(op="*", left=factor, right=Const(value=int(value)))
            | Binary(op="*", left=Const(value=int(value)), right=factor)
        ):
            part = _linear(factor)
            return None if part is None else _plus({}, part, value)
        case Const() | Binary() | Select():
            return None
        case _:
            assert_never(e)


def _plus(a: Linear, b: Linear, factor: int) -> Linear:
    names = {*a, *b}
    total = {n: a.get(n, 0) + factor * b.get(n, 0) for n in names}
    return {n: c for n, c in total.items() if c}
