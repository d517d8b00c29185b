"""Loops of a few iterations, of which a size says no more than how many.

    for p in range(min(2, steps)): ...      if 0 < steps: ...
                                            if 1 < steps: ...

A prologue that fills all stages but one never shows a period. It is as many branches as
it has iterations at most, which change where sizes are of a few tiles. So is a branch
in such a loop that asks for its counter (`if p < steps`): one for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, binary, substitute, symbols

__all__ = ["branches_of", "by_value"]

_MOST = 12
"""Iterations of a loop that is taken for branches."""


def branches_of(op: o.For, length: Expr) -> list[o.If] | None:
    """The branches that a loop is; None where it may iterate more than a few times.

    ``length`` is where it ends without where it begins. A loop that always iterates
    equally often is no branch.
    """
    others = [e for e in _least_of(length) if not isinstance(e, Const)]
    counted = _counted(op, length)
    if counted is None or not others:
        return None
    return [_branch(binary("<", n, e), op) for n in counted for e in others]


def by_value(
    op: o.If, cond: Expr, around: Sequence[o.For], length: Callable[[o.For], Expr]
) -> list[tuple[o.If, tuple[o.For, ...]]] | None:
    """A branch in a loop of a few iterations: one for each of these, outside of it.

    None where no such loop decides it. ``length``: where a loop ends without where it
    begins.
    """
    asked = {s.name for s in symbols(cond)}
    for loop in around:
        counted = _counted(loop, length(loop))
        if loop.var.name not in asked or counted is None:
            continue
        rest = tuple(x for x in around if x is not loop)
        return [
            (
                _branch(
                    substitute(cond, {loop.var.name: binary("+", loop.start, n)}), op
                ),
                rest,
            )
            for n in counted
        ]
    return None


def _counted(op: o.For, length: Expr) -> range | None:
    """What the counter of a loop may have gone up by; None where that is much."""
    known = [int(e.value) for e in _least_of(length) if isinstance(e, Const)]
    if not isinstance(op.step, Const) or not known:
        return None
    step = int(op.step.value)
    found = range(0, max(min(known), 0), step) if step >= 1 else None
    return None if found is None or len(found) > _MOST else found


def _branch(cond: Expr, op: o.For | o.If) -> o.If:
    return o.If(cond, o.Block([]), o.Block([]), span=op.span)


def _least_of(e: Expr) -> list[Expr]:
    """Numbers of which an expression is the least."""
    match e:
        case Binary(op="min"):
            return [*_least_of(e.left), *_least_of(e.right)]
        case Binary(op="-" | "+", right=Const()):
            return [binary(e.op, part, e.right) for part in _least_of(e.left)]
        case _:
            return [e]
