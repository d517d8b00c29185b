"""What operations on tiles compute, on whole tiles as arrays of their shapes.

The same meanings as the interpreter's (`ops_compute.py`), without layouts: 16-bit
floats are float32 numbers that were rounded to their type, f64 as they are.
``exact``: every float is a float64 number that nothing rounds, which is what real
arithmetic comes to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from argus.interpret.numbers import Array, compute, convert, extreme, rounded, storage
from argus.interpret.scalars import operand_value
from argus.ir import ops as o
from argus.ir.codec import computing
from argus.ir.combining import in_order, scanned
from argus.ir.dtypes import DType, boolean
from argus.ir.expr import Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import arithmetic, common

__all__ = ["TileOp", "Tiles", "computed", "filled", "fitted"]

Tiles = Mapping[o.Tile, Array]
TileOp = o.AnyRegisterOp


def fitted(values: Any, dtype: DType, exact: bool = False) -> Array:
    """Results as a tile of a type holds them."""
    if exact and dtype.is_float:
        return np.asarray(values, np.float64)
    if dtype.is_float and not dtype.encoded:
        return np.asarray(values, storage(dtype))
    held = np.asarray(values)
    # Bit patterns have at least one axis.
    return compute(rounded(held, dtype), dtype).reshape(held.shape)


def computed(
    op: TileOp, tiles: Tiles, env: Mapping[str, Any], exact: bool = False
) -> Array:
    """The result of an operation without memory."""
    match op:
        case o.Full():
            dtype = op.result.dtype
            value = filled(op.value, dtype, env, exact)
            return np.broadcast_to(value, op.result.shape)
        case o.Index():
            shape = [1] * len(op.result.shape)
            shape[op.axis] = op.result.shape[op.axis]
            kind = storage(op.result.dtype)
            counted = np.arange(shape[op.axis], dtype=kind).reshape(shape)
            return np.broadcast_to(counted, op.result.shape)
        case o.Elementwise():
            return _elementwise(op, tiles, env, exact)
        case o.Cast():
            held = tiles[op.src]
            if op.src.dtype.is_float and op.result.dtype.is_float:
                return fitted(held, op.result.dtype, exact)
            if exact and op.result.dtype.is_float:
                return held.astype(np.float64)
            source = arithmetic(op.src.dtype) if op.src.dtype.is_float else op.src.dtype
            if op.src.dtype.kind == "int":
                held = held.astype(storage(op.src.dtype))
            made = convert(held, source, op.result.dtype)
            return compute(made, op.result.dtype)
        case o.Moving():
            return op.array([tiles[x] for x in op.sources])
        case o.Reinterpret():
            return tiles[op.src]
        case o.Reduce():
            return fitted(_reduced(op, tiles[op.src]), op.result.dtype, exact)
        case o.Sort():
            made = in_order(op, np.moveaxis(tiles[op.src], op.axis, -1))
            return fitted(np.moveaxis(made, -1, op.axis), op.result.dtype, exact)
        case o.Scan() | o.ScanTotal():
            held = [np.moveaxis(tiles[x], op.axis, -1) for x in op.srcs]
            found = scanned(op, held, exact)
            if isinstance(op, o.ScanTotal):
                return fitted(found[..., -1], op.result.dtype, exact)
            return fitted(np.moveaxis(found, -1, op.axis), op.result.dtype, exact)
        case _:
            assert_never(op)


def filled(e: Expr, dtype: DType, env: Mapping[str, Any], exact: bool) -> Array:
    """A scalar as an element of a type."""
    if dtype == boolean:
        wide: type[np.generic] = np.bool_
    elif dtype.is_float:
        wide = np.float64 if exact else computing(dtype).type
    else:
        wide = np.int64
    return fitted(_scalar(e, env, np.dtype(wide), exact), dtype, exact)


def _scalar(e: Expr, env: Mapping[str, Any], kind: np.dtype[Any], exact: bool) -> Array:
    """A scalar in a type. Whole numbers of more than 64 bits wrap, as they do there."""
    value = operand_value(e, env, np.float64 if exact else np.float32)
    if kind.kind in "iu" and isinstance(value, int):
        value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return np.asarray(value).astype(kind)


def _reduced(op: o.Reduce, values: Array) -> Array:
    match op.fn:
        case "sum":
            return values.sum(axis=op.axis, dtype=values.dtype)
        case "prod":
            return values.prod(axis=op.axis, dtype=values.dtype)
        case "max" | "min":
            return extreme(op.fn, values, (op.axis,)).squeeze(op.axis)
        case "argmax":
            return np.argmax(values, axis=op.axis)
        case "argmin":
            return np.argmin(values, axis=op.axis)
        case _:
            raise ValueError(f"no reduction is called {op.fn}")


def _elementwise(
    op: o.Elementwise, tiles: Tiles, env: Mapping[str, Any], exact: bool
) -> Array:
    types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
    wide = storage(common(op.fn, types, op.result.dtype))
    real = np.float64 if exact else np.float32
    if exact and wide.kind == "f":
        wide = np.dtype(real)
    args: list[Array] = []
    for arg in op.args:
        if isinstance(arg, Expr):
            kind = np.dtype(np.bool_) if arg.type == "bool" else wide
            args.append(_scalar(arg, env, np.dtype(kind), exact))
        elif arg.dtype == boolean:
            args.append(tiles[arg])
        else:
            args.append(tiles[arg].astype(wide, copy=False))
    result = np.asarray(FUNCTIONS[op.fn].numpy(*args))
    return np.broadcast_to(fitted(result, op.result.dtype, exact), op.result.shape)
