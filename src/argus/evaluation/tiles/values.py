"""What operations on tiles compute, on whole tiles as arrays of their shapes.

The same meanings as the interpreter's (`ops_compute.py`), without layouts: 16-bit
floats are float32 numbers that were rounded to their type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from argus.interpret.numbers import Array, compute, convert, extreme, rounded, storage
from argus.interpret.scalars import scalar_value
from argus.ir import ops as o
from argus.ir.dtypes import DType, boolean, f32
from argus.ir.expr import Expr
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import common

__all__ = ["TileOp", "Tiles", "computed", "fitted"]

Tiles = Mapping[o.Tile, Array]
TileOp = o.AnyRegisterOp


def fitted(values: Any, dtype: DType) -> Array:
    """Results as a tile of a type holds them."""
    if dtype.name == "f32":
        return np.asarray(values, np.float32)
    held = np.asarray(values)
    # Bit patterns have at least one axis.
    return compute(rounded(held, dtype), dtype).reshape(held.shape)


def computed(op: TileOp, tiles: Tiles, env: Mapping[str, Any]) -> Array:
    """The result of an operation without memory."""
    match op:
        case o.Full():
            wide = np.float32 if op.result.dtype.is_float else np.int64
            if op.result.dtype == boolean:
                wide = np.bool_
            value = np.array(scalar_value(op.value, env)).astype(wide)
            return np.broadcast_to(fitted(value, op.result.dtype), op.result.shape)
        case o.Index():
            shape = [1] * len(op.result.shape)
            shape[op.axis] = op.result.shape[op.axis]
            kind = storage(op.result.dtype)
            counted = np.arange(shape[op.axis], dtype=kind).reshape(shape)
            return np.broadcast_to(counted, op.result.shape)
        case o.Elementwise():
            return _elementwise(op, tiles, env)
        case o.Cast():
            held = tiles[op.src]
            if op.src.dtype.is_float and op.result.dtype.is_float:
                return fitted(held, op.result.dtype)
            source = f32 if op.src.dtype.is_float else op.src.dtype
            if op.src.dtype.name in ("i8", "u8"):
                held = held.astype(storage(op.src.dtype))
            made = convert(held, source, op.result.dtype)
            return compute(made, op.result.dtype)
        case o.Broadcast():
            shape = [1] * len(op.result.shape)
            order = np.argsort(op.axes)
            for axis, extent in zip(op.axes, op.src.shape, strict=True):
                shape[axis] = extent
            held = tiles[op.src].transpose(order).reshape(shape)
            return np.broadcast_to(held, op.result.shape)
        case o.Transpose():
            return tiles[op.src].transpose(op.axes)
        case o.Reinterpret() | o.Convert():
            return tiles[op.src]
        case o.Split():
            return tiles[op.src].reshape(op.result.shape)
        case o.Selection():
            window = [slice(None)] * len(op.src.shape)
            kept = op.elements
            window[op.axis] = slice(kept.start, kept.stop, kept.step)
            return tiles[op.src][tuple(window)]
        case o.Reduce():
            return fitted(_reduced(op, tiles[op.src]), op.result.dtype)
        case o.Scan():
            held = tiles[op.src]
            return fitted(held.cumsum(op.axis, dtype=held.dtype), op.result.dtype)
        case _:
            assert_never(op)


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


def _elementwise(op: o.Elementwise, tiles: Tiles, env: Mapping[str, Any]) -> Array:
    types = [a.dtype if isinstance(a, o.Tile) else None for a in op.args]
    wide = storage(common(op.fn, types, op.result.dtype))
    args: list[Array] = []
    for arg in op.args:
        if isinstance(arg, Expr):
            kind = np.dtype(np.bool_) if arg.type == "bool" else wide
            args.append(np.asarray(scalar_value(arg, env)).astype(kind))
        elif arg.dtype == boolean:
            args.append(tiles[arg])
        else:
            args.append(tiles[arg].astype(wide, copy=False))
    result = np.asarray(FUNCTIONS[op.fn].numpy(*args))
    return np.broadcast_to(fitted(result, op.result.dtype), op.result.shape)
