"""Stages of shared memory that a loop writes: what they hold, in it and after it."""

from __future__ import annotations

from dataclasses import replace

from argus.ir.expr import Expr, Sym, binary
from argus.verify.tags.carried import argument, shifted
from argus.verify.tags.scope import PathScope
from argus.verify.tags.values import AbstractValue, Vague
from argus.verify.verdict import Verdict

__all__ = ["content", "content_after"]


def content(
    scope: PathScope, init: AbstractValue | None, end: AbstractValue, it: Sym
) -> AbstractValue:
    """A stage of shared memory when iteration ``it`` begins; ``end``: when it ends.

    Without ``init``, nothing is there in the first iteration.
    """
    back = {it.name: it - 1}
    if init is None:
        moved = shifted(scope.world, end, back)
        written = None if moved.written is None else moved.written & False
        return replace(moved, written=written)
    made = argument(scope, replace(init, sums={}), replace(end, sums={}), it, 0)
    sums = dict(shifted(scope.world, end, back).sums)
    for name, several in init.sums.items():
        # The one of them or the other: each must be complete.
        sums[name] = tuple(dict.fromkeys((*sums.get(name, ()), *several)))
    written = end.written
    if init.written is not None:
        written = init.written if written is None else init.written & written
    return replace(made, sums=sums, written=written)


def content_after(
    inside: PathScope,
    outside: PathScope,
    init: AbstractValue | None,
    end: AbstractValue,
    it: Sym,
    trips: Expr,
) -> AbstractValue:
    """A stage of shared memory after a loop; ``end``: after one iteration."""
    if init is not None:
        return shifted(inside.world, content(inside, init, end, it), {it.name: trips})
    last = shifted(inside.world, end, {it.name: trips - 1})
    entered = outside.decide(binary(">", trips, 0)).verdict
    if entered is Verdict.REFUTED and last.written is not None:
        return replace(last, written=last.written & False)
    if entered is Verdict.UNKNOWN:
        reason = "it is written in a loop that may have no iteration"
        return replace(last, tags=dict.fromkeys(last.tags, Vague(reason)))
    return last
