"""Scalar expressions as values.

A size, a block index or a counter is an integer; an argument of type f32 is a real; a
comparison is a truth. Where a condition decides, the value has cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from argus.extents import MOST_EXTENT
from argus.ir.dtypes import i32, i64
from argus.ir.expr import Binary, BinaryOp, Const, Expr, Select, Sym
from argus.ir.wrapping import wrapped_parts
from argus.terms import IndexSet, Integer, Unknown, Value, apply, cast, literal
from argus.terms.narrowing import fits, outside
from argus.verify.denotation.state import Context

__all__ = ["integer", "integer_cases", "scalar", "scalars", "truth"]

_FUNCTIONS: Mapping[BinaryOp, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "//": "floordiv",
    "%": "mod",
    "/": "div",
    "^": "xor",
    "min": "minimum",
    "max": "maximum",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "and": "and",
    "or": "or",
}


def scalar(context: Context, e: Expr, also: Mapping[str, Value] | None = None) -> Value:
    """The value of an expression at this place; ``also`` are further symbols.

    Raises Unknown.
    """
    world = context.world
    match e:
        case Const(value=bool(value)):
            return Value.truth(IndexSet.universe if value else IndexSet.nothing)
        case Const(value=int(value)):
            return Value.whole(Integer.of(value))
        case Const(value=value):
            return Value.real(literal(context.world, float(value)))
        case Sym():
            if also is not None and e.name in also:
                return also[e.name]
            return symbol(context, e)
        case Binary():
            tile = context.grid.special(e) if also is None else None
            if tile is not None:
                return tile
            exact = _unwrapped(context, e, also)
            if exact is not None:
                return exact
            left, right = scalar(context, e.left, also), scalar(context, e.right, also)
            return apply(world, _FUNCTIONS[e.op], left, right)
        case Select():
            tile = context.grid.special(e) if also is None else None
            if tile is not None:
                return tile
            parts = (scalar(context, x, also) for x in (e.cond, e.then, e.other))
            return apply(world, "where", *parts)
        case _:
            assert_never(e)


def _unwrapped(
    context: Context, e: Expr, also: Mapping[str, Value] | None
) -> Value | None:
    """What wraps to 32 or 64 bits, where it fits them at this place; None for all else.

    Of 32 bits only what sets say is looked at.
    """
    parts = wrapped_parts(e)
    if parts is None:
        return None
    inner, bits, more = parts
    world, here = context.world, context.state.where
    value = cast(world, scalar(context, inner, also), "integer")
    for where, x in value.integers:
        if bits == 64:
            # Of other scalars, and of what a loop carries, no bound is known.
            known = all(
                v.lower is not None or v.upper is not None for v in x.variables()
            )
            if not known or not fits(world, here & where, x, i64.integers, MOST_EXTENT):
                return None
            continue
        beyond = outside(world, here & where, x, i32.integers)
        if not world.is_empty(here & where & beyond):
            return None
    return apply(world, "add", value, Value.whole(more)) if more else value


def symbol(context: Context, sym: Sym) -> Value:
    """The value of a symbol. Raises Unknown where it is not known."""
    found = context.state.scalars.get(sym.name)
    if found is None:
        raise Unknown(f"the value of `{sym.name}`")
    if isinstance(found, Unknown):
        raise found
    return found


class SeveralIntegers(Unknown):
    """A number depends on a condition: it is one integer ``where`` that holds."""

    def __init__(self, e: Expr, where: IndexSet) -> None:
        super().__init__(f"`{e}` depends on a condition where one integer is needed")
        self.where = where


def scalars(context: Context, es: Iterable[Expr]) -> tuple[Integer, ...]:
    """Several integers, see :func:`integer`."""
    return tuple(integer(context, e) for e in es)


def integer(context: Context, e: Expr) -> Integer:
    """An expression that is one integer at this place. Raises Unknown."""
    found = integer_cases(context, scalar(context, e))
    if len(found) != 1:
        raise SeveralIntegers(e, found[0][0])
    return found[0][1]


def integer_cases(
    context: Context, value: Value
) -> tuple[tuple[IndexSet, Integer], ...]:
    """An integer by cases, those that this place admits."""
    whole = cast(context.world, value, "integer")
    cases = [
        (s, x)
        for s, x in whole.integers
        if s.is_universe or not context.world.is_empty(s & context.state.where)
    ]
    if not cases:
        # Nothing comes here: any value is right.
        cases = list(whole.integers[:1])
    return tuple(cases)


def truth(
    context: Context, e: Expr, also: Mapping[str, Value] | None = None
) -> IndexSet:
    """Where a condition holds. Raises Unknown."""
    return cast(context.world, scalar(context, e, also), "truth").where
