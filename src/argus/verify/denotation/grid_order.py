"""In which order the factors of a grid are digits of its index.

A grid of ``H * tiles`` blocks may be taken apart as ``i // tiles, i % tiles``, or, as
well, as ``i % H, i // H``: in mixed radix any order of the factors is one to one. The
one is taken that leaves the fewest quotients and remainders of the program unsolved:
of all persistent loops over the same tiles, since roles share these.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from argus.terms import Integer, Unknown, Value, Variable
from argus.terms.integers import Opaque
from argus.verify.denotation.scalars import integer
from argus.verify.denotation.state import Context, variable_of
from argus.verify.denotation.tile_order import resolved

__all__ = ["ordered"]

_MOST = 3
"""Factors of which all orders are looked at: each takes up to a second."""


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
    before = context.state.scalars.get(place.name)
    try:
        best, left = given, len(taken) + 1
        for order in permutations(given):  # the given one first
            found = _unsolved(context, place, taken, order)
            if found < left:
                best, left = list(order), found
            if not left:
                break
        return best
    finally:
        context.state.scalars.pop(place.name)
        if before is not None:
            context.state.scalars[place.name] = before


def _taken(context: Context, place: Sym, others: Sequence[Sym]) -> list[Expr]:
    """Quotients and remainders of the index, and of what is made of it."""
    program, lets = context.program, context.buffers.lets
    alike: dict[str, Expr] = {other.name: place for other in others}
    found: dict[Expr, None] = {}
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


def _unsolved(
    context: Context, place: Sym, taken: Sequence[Expr], order: Sequence[Integer]
) -> int:
    """How many of them are no digits, where factors are digits in this order."""
    number, digits = Integer.of(0), set[Variable]()
    for extent in order:
        digit = context.world.fresh("digit", 0, extent)
        digits.add(variable_of(digit))
        number = number * extent + digit
    context.state.scalars[place.name] = Value.whole(number)
    return sum(_is_unsolved(context, e, digits) for e in taken)


def _is_unsolved(context: Context, e: Expr, digits: set[Variable]) -> bool:
    try:
        atoms = integer(context, e).all_atoms()
    except Unknown:
        return False  # in any order, for all that is known
    return any(isinstance(a, Opaque) and a.variables & digits for a in atoms)
