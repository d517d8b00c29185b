"""In which order the factors of a grid are digits of its index.

A grid of ``H * tiles`` blocks may be taken apart as ``i // tiles, i % tiles``, or, as
well, as ``i % H, i // H``: in mixed radix any order of the factors is one to one. The
one is taken in which the most quotients and remainders of the program are digits: of
all persistent loops over the same tiles, since roles share these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from argus.ir.expr import (
    Binary,
    Expr,
    Sym,
    factors_of,
    subexpressions,
    substitute,
    symbols,
)
from argus.ir.walk import expressions, walk
from argus.terms import Integer, Unknown
from argus.verify.denotation.scalars import integer
from argus.verify.denotation.state import Context
from argus.verify.denotation.tile_order import resolved

__all__ = ["ordered"]

_MOST = 5
"""Factors of which all orders are looked at."""


def ordered(
    context: Context, work: Expr, place: Expr, others: Sequence[Sym]
) -> list[Integer]:
    """The factors of a number of tiles, the highest digit of ``place`` first.

    As they are multiplied, where another order is no better. ``others``: places in the
    same tiles.
    """
    given = [integer(context, e) for e in factors_of(work)]
    if not isinstance(place, Sym) or not 2 <= len(given) <= _MOST:
        return given
    taken = _taken(context, place, others)
    divisors = {e.right: _divisor(context, e.right, place) for e in taken}
    # The given one is the first of those that leave as few.
    return min(
        (list(order) for order in permutations(given)),
        key=lambda order: sum(
            _digits(place, e, divisors, order) is None for e in taken
        ),
    )


def _taken(context: Context, place: Sym, others: Sequence[Sym]) -> list[Binary]:
    """Quotients and remainders of the index, and of what is made of it."""
    program, lets = context.program, context.buffers.lets
    alike: dict[str, Expr] = {other.name: place for other in others}
    found: dict[Binary, None] = {}
    for op in walk(program.body):
        for e in expressions(op):
            whole = substitute(resolved(e, lets), alike)
            if place in symbols(whole):
                found |= dict.fromkeys(
                    x
                    for x in subexpressions(whole)
                    if isinstance(x, Binary) and x.op in ("//", "%")
                )
    return [x for x in found if place in symbols(x)]


def _divisor(context: Context, e: Expr, place: Sym) -> Integer | None:
    try:
        return None if place in symbols(e) else integer(context, e)
    except Unknown:
        return None


def _digits(
    place: Sym,
    e: Expr,
    divisors: Mapping[Expr, Integer | None],
    order: Sequence[Integer],
) -> slice | None:
    """Which digits of the index an expression is, where factors are in this order.

    None: it is not one or several that follow each other, without anything beside.
    """
    if e == place:
        return slice(0, len(order))
    if not isinstance(e, Binary) or e.op not in ("//", "%"):
        return None
    divisor, inner = divisors[e.right], _digits(place, e.left, divisors, order)
    if divisor is None or inner is None:
        return None
    low = Integer.of(1)
    for at in range(inner.stop, inner.start - 1, -1):
        if low == divisor:
            quotient = e.op == "//"
            return slice(inner.start, at) if quotient else slice(at, inner.stop)
        low = low * order[at - 1]
    return None
