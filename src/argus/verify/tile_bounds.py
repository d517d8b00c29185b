"""Between which numbers the elements of a tile lie, by the operation that made it.

An absolute value, a square or an exponential is not negative, so that padding of 0
changes no maximum of them. A remainder, a mask of bits and an entry of a narrow type
have bounds that no table changes, so that their products fit a wider type.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.decide.polynomial import EVERYTHING, Interval

__all__ = ["Definitions", "bounds_of", "definitions_of", "fits"]

Definitions = Mapping[o.Tile, o.RegisterOp]
"""The operation that makes a tile: each is made once."""

_NOT_NEGATIVE = frozenset({"abs", "exp", "exp2", "sqrt", "rsqrt"})
"""Functions of floats."""


def definitions_of(program: Program) -> Definitions:
    """The operations of a program that compute on registers, by their results."""
    every = walk(program.body)
    return {op.result: op for op in every if isinstance(op, o.RegisterOp)}


def bounds_of(definitions: Definitions, value: o.Tile | Expr) -> Interval:
    """No element lies elsewhere, but NaN.

    Of scalars that are no literals nothing is known, and of whole numbers of 32 bits
    and more not that they fit their type.
    """
    if isinstance(value, Const):
        known = value.value
        return EVERYTHING if isnan(known) else Interval(known, known)
    if not isinstance(value, o.Tile) or value.dtype.kind == "bool":
        return EVERYTHING
    made, found = definitions.get(value), EVERYTHING
    source = None if made is None else made.elements_of()
    if source is not None:
        return bounds_of(definitions, source)
    if isinstance(made, o.Cast) and made.src.dtype.is_float == value.dtype.is_float:
        found = bounds_of(definitions, made.src)
    if isinstance(made, o.Elementwise):
        each = [bounds_of(definitions, a) for a in made.args]
        found = (_of_floats if value.dtype.is_float else _of_wholes)(made, each)
    if value.dtype.is_float:
        # 0 is in each type, and rounding keeps the order.
        cast = isinstance(made, o.Cast)
        return found.hull(Interval(0, 0)) if cast else found
    held = Interval(*value.dtype.integers)
    if found.hull(held) == held:
        return found
    return held if value.dtype.bits < 32 else EVERYTHING


def fits(definitions: Definitions, op: o.Elementwise) -> bool:
    """Whether each result of a product is one that its type holds."""
    held = Interval(*op.result.dtype.integers)
    each = [bounds_of(definitions, a) for a in op.args]
    return op.fn == "mul" and _of_wholes(op, each).hull(held) == held


def _of_floats(op: o.Elementwise, each: list[Interval]) -> Interval:
    """Of other functions nothing is known."""
    args = op.args
    if op.fn in _NOT_NEGATIVE or (op.fn == "mul" and args[0] is args[1]):
        return Interval(0, inf)
    if op.fn == "where":
        return each[1].hull(each[2])
    ends = {"maximum": max, "minimum": min}
    if op.fn not in ends:
        return EVERYTHING
    end = ends[op.fn]
    return Interval(end(x.lo for x in each), end(x.hi for x in each))


def _of_wholes(op: o.Elementwise, each: list[Interval]) -> Interval:
    """Of other functions nothing is known."""
    if op.fn == "and":
        masks = [x.hi for x in each if x.lo == x.hi >= 0]
        return Interval(0, min(masks)) if masks else EVERYTHING
    if op.fn == "mod" and each[1].lo == each[1].hi > 0:
        return Interval(0, each[1].hi - 1)
    if op.fn == "mul":
        return each[0] * each[1]
    if op.fn in ("add", "sub"):
        return each[0] + each[1].scaled(1 if op.fn == "add" else -1)
    return EVERYTHING
