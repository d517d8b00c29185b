"""Sums that several blocks add to one output: each contribution exactly once.

The blocks (and iterations) that add to one element differ in variables that no
coordinate of the store uses; over these the sum is continued like over a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.ir.expr import Expr, Sym
from argus.verify.tags.order_lemmas import IndependentVariable
from argus.verify.tags.scope import PathScope
from argus.verify.tags.sums import Completeness, complete
from argus.verify.tags.values import CoordinateRange, Prior, ReducedDimension

__all__ = ["contributions", "expressions"]


def expressions(sums: Sequence[ReducedDimension]) -> list[Expr]:
    """The expressions of the spans of sums, in an order that `contributions` reads."""
    found: list[Expr] = []
    for s in sums:
        for t in s.terms:
            if isinstance(t, CoordinateRange):
                found += [t.lo, *(trips for _, trips in t.loops)]
                found += [] if t.hi is None else [t.hi]
    return found


def contributions(
    sums: Sequence[ReducedDimension],
    rewritten: Sequence[Expr],
    free: Sequence[IndependentVariable],
    scope: PathScope,
) -> list[Completeness]:
    """Completeness of each sum over all blocks.

    ``rewritten`` are `expressions` over independent variables, ``free`` those of them
    that only the sums use.
    """
    left = iter(rewritten)
    over: list[tuple[Sym, Expr]] = [(v.sym, v.count) for v in free]
    found: list[Completeness] = []
    for s in sums:
        terms: list[CoordinateRange | Prior] = []
        for t in s.terms:
            if isinstance(t, Prior):
                terms.append(t)
                continue
            lo = next(left)
            loops = tuple((sym, next(left)) for sym, _ in t.loops)
            hi = None if t.hi is None else next(left)
            terms.append(CoordinateRange(lo, t.size, (*loops, *over), hi))
        found.append(complete(replace(s, terms=tuple(terms)), scope))
    return found
