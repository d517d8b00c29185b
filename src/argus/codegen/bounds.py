"""Between which numbers the elements of a tile lie, where operations say so.

A number of a few bits is a 16-bit float without being rounded: its bits are those of
the significand, beside the exponent of a number that has all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from argus.ir import ops as o
from argus.ir.codec import bit_pattern, numbers, rounded
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr

Bounds = tuple[int, int]
"""The least and the greatest."""


def bounds_of(op: o.Elementwise, known: Mapping[o.Tile, Bounds]) -> Bounds | None:
    """Those of a result, of what is known of its operands; None: nothing is said.

    Only such as the type of the result holds.
    """
    if op.result.dtype.kind != "int" or len(op.args) != 2:
        return None
    left, right = (_operand(a, known) for a in op.args)
    if op.fn == "floordiv":
        found = _quotient(op, left)
    else:
        found = _combined(op.fn, left, right)
    if found is None:
        return None
    least, greatest = op.result.dtype.integers
    return found if least <= found[0] and found[1] <= greatest else None


def bounds_of_all(
    tiles: Sequence[o.Tile], known: Mapping[o.Tile, Bounds]
) -> Bounds | None:
    """Between which numbers elements of one of several tiles lie."""
    found = [known[t] for t in tiles if t in known]
    if not found or len(found) < len(tiles):
        return None
    return min(low for low, _ in found), max(high for _, high in found)


def _operand(arg: o.Tile | Expr, known: Mapping[o.Tile, Bounds]) -> Bounds | None:
    if isinstance(arg, o.Tile):
        return known.get(arg)
    if isinstance(arg, Const) and isinstance(arg.value, int):
        return int(arg.value), int(arg.value)
    return None


def _quotient(op: o.Elementwise, left: Bounds | None) -> Bounds | None:
    """Of what is divided by a constant; without bounds, any number of its type."""
    tile, by = op.args
    if not isinstance(tile, o.Tile) or not isinstance(by, Const) or by.value <= 0:
        return None
    low, high = tile.dtype.integers if left is None else left
    return low // int(by.value), high // int(by.value)


def _combined(fn: str, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    if fn == "and":
        # The bits of one that is not below 0 are all that remain.
        masks = [b[1] for b in (left, right) if b is not None and b[0] >= 0]
        return (0, min(masks)) if masks else None
    if left is None or right is None:
        return None
    if fn == "add":
        return left[0] + right[0], left[1] + right[1]
    if fn == "sub":
        return left[0] - right[1], left[1] - right[0]
    return None


@dataclass(frozen=True)
class SmallFloats:
    """How whole numbers from ``least`` on become 16-bit floats by their bits.

    ``one``: the bits of the number whose last bit of the significand is 1, to which
    what a number has above the least is added; ``back``: what is added to that then,
    as bits of two floats.
    """

    least: int
    one: int
    back: int


def small_floats(
    dtype: DType, bounds: Bounds | None, more: int = 0
) -> SmallFloats | None:
    """How numbers between bounds, and ``more``, become floats of a type.

    None: they are rounded.
    """
    if bounds is None or not dtype.packed or not dtype.is_float:
        return None
    one = 2 ** (dtype.precision - 1)
    least, greatest = bounds
    back = least - one + more
    # What is added, and what comes out, are whole numbers of the type, too.
    if greatest - least >= one or abs(back) > 2 * one or abs(least + more) > one:
        return None
    return SmallFloats(least, _twice(dtype, one), _twice(dtype, back))


def cast_bounds(tile: o.Tile, known: Mapping[o.Tile, Bounds]) -> Bounds | None:
    """Those of what is cast: any number of its type, where nothing is known."""
    if tile in known:
        return known[tile]
    return tile.dtype.integers if tile.dtype.kind == "int" else None


def signed_bytes(dtype: DType, bounds: Bounds | None) -> bool:
    """Whether numbers between bounds become bf16, as `argus_signed_bytes_bf16` does."""
    if bounds is None or dtype.name != "bf16":
        return False
    least, greatest = bounds
    return least >= -128 and greatest <= 127


def added(op: o.AnyOp, tile: o.Tile) -> int | None:
    """The whole number that an operation adds to a tile; None: it does more."""
    if not isinstance(op, o.Elementwise) or op.fn not in ("add", "sub"):
        return None
    if op.result.dtype != tile.dtype or op.args[0] is not tile:
        return None
    by = op.args[1]
    if not isinstance(by, Const) or not float(by.value).is_integer():
        return None
    return int(by.value) if op.fn == "add" else -int(by.value)


def _twice(dtype: DType, value: int) -> int:
    """Two equal floats, as the bits of a register."""
    bits = bits_of(dtype, value)
    assert bits is not None
    return bits << 16 | bits


def bits_of(dtype: DType, value: float) -> int | None:
    """Those of a number that a 16-bit float is without being rounded, else None."""
    stored = rounded(np.array([value]), dtype)
    exact = float(numbers(stored, dtype)[0]) == value
    return bit_pattern(value, dtype) if exact else None
