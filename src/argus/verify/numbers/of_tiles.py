"""Between which numbers the whole numbers of a tile lie, by the operation that made it.

A remainder, a mask of bits and an entry of a narrow type have bounds that no table
changes, so that their products fit a wider type.
"""

from __future__ import annotations

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.verify.tags.bounds import MOVES, Definitions

__all__ = ["bounds_of", "fits"]

Bounds = tuple[int, int]


def fits(definitions: Definitions, op: o.Elementwise) -> bool:
    """Whether each result of a product is one that its type holds."""
    found = _of_product(definitions, op)
    low, high = op.result.dtype.integers
    return found is not None and low <= found[0] and found[1] <= high


def bounds_of(definitions: Definitions, arg: o.Tile | Expr) -> Bounds | None:
    """The least and largest number of a tile of whole numbers, or of a constant.

    None where nothing is known but that they have 32 bits or more.
    """
    if isinstance(arg, Const):
        known = isinstance(arg.value, int)
        return (int(arg.value), int(arg.value)) if known else None
    if not isinstance(arg, o.Tile):
        return None
    if arg.dtype.is_float or arg.dtype.kind == "bool":
        return None
    made = definitions.get(arg)
    found: Bounds | None = None
    if isinstance(made, MOVES):
        return bounds_of(definitions, made.src)
    if isinstance(made, o.Cast) and not made.src.dtype.is_float:
        found = bounds_of(definitions, made.src)
    if isinstance(made, o.Elementwise):
        found = _of_function(definitions, made)
    low, high = arg.dtype.integers
    if found is not None and low <= found[0] and found[1] <= high:
        return found
    return (low, high) if arg.dtype.bits < 32 else None


def _of_function(definitions: Definitions, op: o.Elementwise) -> Bounds | None:
    """None: of other functions nothing is known."""
    if op.fn == "and":
        masks = [int(a.value) for a in op.args if isinstance(a, Const) and a.value >= 0]
        return (0, min(masks)) if masks else None
    if op.fn == "mod":
        by = op.args[1]
        if isinstance(by, Const) and by.value > 0:
            return 0, int(by.value) - 1
        return None
    if op.fn not in ("add", "sub"):
        return _of_product(definitions, op)
    left, right = (bounds_of(definitions, a) for a in op.args)
    if left is None or right is None:
        return None
    if op.fn == "sub":
        right = -right[1], -right[0]
    return left[0] + right[0], left[1] + right[1]


def _of_product(definitions: Definitions, op: o.Elementwise) -> Bounds | None:
    if op.fn != "mul":
        return None
    left, right = (bounds_of(definitions, a) for a in op.args)
    if left is None or right is None:
        return None
    ends = [a * b for a in left for b in right]
    return min(ends), max(ends)
