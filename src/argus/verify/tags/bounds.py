"""The least number that the elements of a tile may be, as far as their function says.

An absolute value, a square or an exponential is not negative, so that padding of 0
changes no maximum of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = ["MOVES", "Definitions", "definitions_of", "least"]

Definitions = Mapping[o.Tile, o.RegisterOp]
"""The operation that makes a tile: each is made once."""

MOVES = (o.MovingOne, o.Reinterpret)
"""Operations whose elements are those of their source."""
_NOT_NEGATIVE = frozenset({"abs", "exp", "exp2", "sqrt", "rsqrt"})
"""Functions of floats."""


def definitions_of(program: Program) -> Definitions:
    """The operations of a program that compute on registers, by their results."""
    kinds = (o.Elementwise, o.Cast, *MOVES)
    return {op.result: op for op in walk(program.body) if isinstance(op, kinds)}


def least(definitions: Definitions, tile: o.Tile) -> float:
    """No element is less, but NaN; -inf where nothing is known."""
    made = definitions.get(tile)
    if isinstance(made, MOVES):
        return least(definitions, made.src)
    if not tile.dtype.is_float:
        return -math.inf
    if isinstance(made, o.Cast):
        # 0 is in each type, and rounding keeps the order.
        floats = made.src.dtype.is_float
        return min(least(definitions, made.src), 0.0) if floats else -math.inf
    if not isinstance(made, o.Elementwise):
        return -math.inf
    fn, args = made.fn, made.args
    if fn in _NOT_NEGATIVE or (fn == "mul" and args[0] is args[1]):
        return 0.0
    known = [
        least(definitions, a) if isinstance(a, o.Tile) else _number(a) for a in args
    ]
    bounds = {"maximum": max, "minimum": min}
    if fn in bounds:
        return bounds[fn](known)
    return min(known[1:]) if fn == "where" else -math.inf


def _number(value: object) -> float:
    return float(value.value) if isinstance(value, Const) else -math.inf
