"""Bits that move to the left, where some are lost, and back: how a field gets its sign.

    (x << 20) >> 28      # bits 8 to 11 of x, from -8 to 7

A shift by a number of places is a product with a power of two, or a quotient by one. In
between a number of 32 bits keeps what it holds of the product, and the shift to the
right asks for its sign.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.program import Program
from argus.ir.walk import walk

__all__ = ["moved_back"]


def moved_back(program: Program) -> frozenset[o.AnyOp]:
    """The operations that move bits of i32 to the right which have just moved left."""
    found: set[o.AnyOp] = set()
    left: set[o.Tile] = set()
    for op in walk(program.body):
        if not isinstance(op, o.Elementwise) or op.result.dtype.name != "i32":
            continue
        if op.fn in ("mul", "shl") and _moves(op, "mul"):
            left.add(op.result)
        back = op.fn in ("floordiv", "shr") and _moves(op, "floordiv")
        if back and op.args[0] in left:
            found.add(op)
    return frozenset(found)


def _moves(op: o.Elementwise, by_number: str) -> bool:
    """Whether a tile is the first operand, and a number of places the second."""
    value, by = op.args
    if not isinstance(value, o.Tile) or not isinstance(by, Const):
        return False
    if op.fn != by_number:
        return True
    number = by.value
    return isinstance(number, int) and number > 0 and not number & (number - 1)
