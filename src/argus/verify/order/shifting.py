"""Values that repeat with a loop's iterations.

An expression over counters that is built of ``+ - * // %`` with constants shifts or
stays when the counters shift by a common multiple of what divides them. Then what an
iteration does is the same after every period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import lcm
from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym, symbols
from argus.verify.order.scalar_sources import ScalarSources

__all__ = ["modulus", "moving_otherwise"]

_MOST = 1 << 16
"""A larger modulus is not multiplied further: nothing repeats in so short a walk."""


def moving_otherwise(e: Expr, sources: ScalarSources) -> Expr | None:
    """What of a value changes with iterations, but does not shift; None if nothing."""
    seen: set[str] = set()
    todo = [e]
    while todo:
        one = todo.pop()
        if not sources.varies([one]):
            continue
        if not _affine(one, sources):
            return one
        for sym in symbols(one):
            if sym.name not in seen:
                seen.add(sym.name)
                todo += sources.values(sym.name)
    return None


def modulus(roots: Iterable[Expr], sources: ScalarSources) -> int:
    """After so many iterations counters select the same."""
    found = 1
    todo, seen = list(roots), set[str]()
    while todo:
        one = todo.pop()
        for value in _divisors(one, sources):
            if found < _MOST:
                found = lcm(found, value)
        for sym in symbols(one):
            if sym.name in sources.varying and sym.name not in seen:
                seen.add(sym.name)
                todo += sources.of(sym.name)
    return found


def _affine(e: Expr, sources: ScalarSources) -> bool:
    match e:
        case Const() | Sym():
            return True
        case Binary(op="+" | "-"):
            return _affine(e.left, sources) and _affine(e.right, sources)
        case Binary(op="*"):
            left, right = e.left, e.right
            return (_affine(left, sources) and not sources.varies([right])) or (
                _affine(right, sources) and not sources.varies([left])
            )
        case Binary(op="//" | "%"):
            return _affine(e.left, sources) and isinstance(e.right, Const)
        case Binary() | Select():
            return not sources.varies([e])
        case _:
            assert_never(e)


def _divisors(e: Expr, sources: ScalarSources) -> Iterator[int]:
    """Constants that divide what changes from iteration to iteration."""
    match e:
        case Binary():
            divided = e.op in ("//", "%") and sources.varies([e.left])
            if divided and isinstance(e.right, Const):
                yield max(int(e.right.value), 1)
            yield from _divisors(e.left, sources)
            yield from _divisors(e.right, sources)
        case Select():
            for part in (e.cond, e.then, e.other):
                yield from _divisors(part, sources)
        case Const() | Sym():
            return
        case _:
            assert_never(e)
