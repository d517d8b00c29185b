"""Conditions on a loop's counter, and how near the ends of the loop they change.

A walk repeats only while conditions stay as they are. One like ``k + BK < K`` differs
in the last iteration, ``n > 2`` in the first three, in loops of any length: so many
iterations at both ends are no part of what repeats. So does ``n > 2`` of a counter n
that the loop carries. What changes anywhere else is not followed.

Loops of a few iterations, of which a size says no more than how many, never repeat:

    for p in range(min(2, steps)): ...      if 0 < steps: ...
                                            if 1 < steps: ...

Such a prologue is as many branches as it has iterations at most, which change where
sizes are of a few tiles. So is a branch in such a loop that asks for its counter (`if p
< steps`): one for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    substitute,
    symbols,
)
from argus.verify.order.trip_count import expanded

__all__ = ["by_value", "conditions_of", "flips"]

MOST = 12
"""Iterations at an end of a loop; what changes further inside is not followed."""
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
Linear = dict[str, int]
"""Coefficients of symbols, and of 1 under the name ""."""


def conditions_of(op: o.For, length: Expr) -> list[Expr] | None:
    """What a loop asks for each iteration; None where it may have more than a few.

    ``length`` is where it ends without where it begins. A loop that always iterates
    equally often is no branch.
    """
    others = [e for e in _least_of(length) if not isinstance(e, Const)]
    counted = _few(op, length)
    if counted is None or not others:
        return None
    return [binary("<", n, e) for n in counted for e in others]


def by_value(
    cond: Expr, around: Sequence[o.For], length: Callable[[o.For], Expr]
) -> list[tuple[Expr, tuple[o.For, ...]]] | None:
    """A condition in a loop of a few iterations: one for each of these, outside of it.

    None where no such loop decides it. ``length``: where a loop ends without where it
    begins.
    """
    asked = {s.name for s in symbols(cond)}
    for loop in around:
        counted = _few(loop, length(loop))
        if loop.var.name not in asked or counted is None:
            continue
        rest = tuple(x for x in around if x is not loop)
        values = [binary("+", loop.start, n) for n in counted]
        return [(substitute(cond, {loop.var.name: v}), rest) for v in values]
    return None


def _few(op: o.For, length: Expr) -> range | None:
    """What the counter of a loop may have gone up by; None where that is much."""
    known = [int(e.value) for e in _least_of(length) if isinstance(e, Const)]
    if not isinstance(op.step, Const) or not known:
        return None
    step = int(op.step.value)
    found = range(0, max(min(known), 0), step) if step >= 1 else None
    return None if found is None or len(found) > MOST else found


def _least_of(e: Expr) -> list[Expr]:
    """Numbers of which an expression is the least."""
    match e:
        case Binary(op="min"):
            return [*_least_of(e.left), *_least_of(e.right)]
        case Binary(op="-" | "+", right=Const()):
            return [binary(e.op, part, e.right) for part in _least_of(e.left)]
        case Const() | Sym() | Binary() | Select():
            return [e]
        case _:
            assert_never(e)


def flips(
    cond: Expr,
    loops: Sequence[o.For],
    varying: Iterable[str],
    made: Mapping[str, Expr],
) -> tuple[int, int] | None:
    """In how many first and last iterations of its loop a condition may differ.

    ``loops`` are those around it, outermost first, ``varying`` all symbols that change
    with their iterations, ``made`` the values of named scalars. None where that cannot
    be said, or is too many.
    """
    match cond:
        case Binary(op="and" | "or"):
            left = flips(cond.left, loops, varying, made)
            right = flips(cond.right, loops, varying, made)
            if left is None or right is None:
                return None
            return max(left[0], right[0]), max(left[1], right[1])
        case Binary() if cond.op in _COMPARISONS:
            return _comparison(cond, loops, set(varying), made)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(cond)


def _comparison(
    cond: Binary, loops: Sequence[o.For], varying: set[str], made: Mapping[str, Expr]
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
        return _counted(difference, moving, loops, made)
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


def _counted(
    difference: Linear,
    moving: Sequence[str],
    loops: Sequence[o.For],
    made: Mapping[str, Expr],
) -> tuple[int, int] | None:
    """As of `flips`, where what changes is a counter that loops carry."""
    if len(moving) != 1:
        return None
    (name,) = moving
    growth = _growth(name, loops, made)
    if growth is None:
        return None
    begun, step = growth
    first = _distance(difference, name, begun, step * abs(difference[name]))
    return None if first is None else (first, 0)


def _growth(
    name: str, loops: Sequence[o.For], made: Mapping[str, Expr]
) -> tuple[Const, int] | None:
    """A number c and one s >= 1: in iteration j a counter is at least ``c + s*j``.

    Each iteration of the innermost loop that carries it adds s. Where it begins with
    what loops around that carry, they hand on what the loop inside has left, or add to
    it, and have begun with c.
    """
    step: int | None = None
    handed = {name}
    for op in reversed(loops):
        carry = next((c for c in op.scalars if c.arg.name == name), None)
        if carry is None:
            continue
        added = _beyond(carry.yielded, {*handed, name}, made)
        begun = _linear(expanded(carry.init, made, set()))
        if added is None or begun is None:
            return None
        step = added[1] if step is None else step
        if set(begun) <= {""}:
            return (Const(begun.get("", 0)), step) if step >= 1 else None
        outer = _beyond(carry.init, set(begun), made)
        if outer is None:
            return None
        name, handed = outer[0], {carry.result.name}
    return None


def _beyond(
    e: Expr, names: AbstractSet[str], made: Mapping[str, Expr]
) -> tuple[str, int] | None:
    """``(x, c)`` where an expression is ``x + c`` of one of some names, and c >= 0."""
    found = _linear(expanded(e, made, set(names)))
    if found is None:
        return None
    rest = found.pop("", 0)
    if rest < 0 or len(found) != 1:
        return None
    ((name, factor),) = found.items()
    return (name, rest) if factor == 1 and name in names else None


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
