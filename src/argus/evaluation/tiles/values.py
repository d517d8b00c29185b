"""What operations on tiles compute, on whole tiles as arrays of their shapes.

The same meanings as the interpreter's (`ops_compute.py`), without layouts: 16-bit
floats are float32 numbers that were rounded to their type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from argus.interpret.numbers import Array, compute, convert, rounded, storage
from argus.ir import ops as o
from argus.ir.dtypes import DType, boolean, f32, i32, i64
from argus.ir.expr import Expr, evaluate
from argus.ir.functions import FUNCTIONS

__all__ = ["Tiles", "TileOp", "computed", "fitted"]

Tiles = Mapping[o.Tile, Array]
TileOp = (
    o.Full | o.Index | o.Elementwise | o.Cast | o.Broadcast | o.Transpose | o.Reduce
    | o.Split | o.Slice | o.Scan | o.Reinterpret | o.Convert
)  # fmt: skip


def fitted(values: Any, dtype: DType) -> Array:
    """Results as a tile of a type holds them."""
    if dtype.name == "f32":
        return np.asarray(values, np.float32)
    return compute(rounded(np.asarray(values), dtype), dtype)


def computed(op: TileOp, tiles: Tiles, env: Mapping[str, Any]) -> Array:
    """The result of an operation without memory."""
    match op:
        case o.Full():
            wide = np.float32 if op.result.dtype.is_float else np.int64
            if op.result.dtype == boolean:
                wide = np.bool_
            value = np.array(evaluate(op.value, env)).astype(wide)
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
        case o.Slice():
            window = [slice(None)] * len(op.src.shape)
            end = op.start + op.result.shape[op.axis]
            window[op.axis] = slice(op.start, end)
            return tiles[op.src][tuple(window)]
        case o.Reduce():
            return fitted(_reduced(op, tiles[op.src]), op.result.dtype)
        case o.Scan():
            held = tiles[op.src]
            return fitted(held.cumsum(op.axis, dtype=held.dtype), op.result.dtype)


_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "sum": lambda x, axis: x.sum(axis=axis, dtype=x.dtype),
    "prod": lambda x, axis: x.prod(axis=axis, dtype=x.dtype),
    "max": np.max,
    "min": np.min,
    "argmax": np.argmax,
    "argmin": np.argmin,
}


def _reduced(op: o.Reduce, values: Array) -> Array:
    return _REDUCTIONS[op.fn](values, axis=op.axis)


def _elementwise(op: o.Elementwise, tiles: Tiles, env: Mapping[str, Any]) -> Array:
    dtypes = [a.dtype for a in op.args if isinstance(a, o.Tile)]
    # The condition of `where` is bool and does not take part in promotion.
    kinds = [d for d in dtypes if d != boolean] or dtypes or [op.result.dtype]
    wide = storage(_arithmetic(kinds))
    args: list[Array] = []
    for arg in op.args:
        if isinstance(arg, Expr):
            args.append(_scalar(arg, wide, env))
        elif arg.dtype == boolean:
            args.append(tiles[arg])
        else:
            args.append(tiles[arg].astype(wide, copy=False))
    result = np.asarray(FUNCTIONS[op.fn].numpy(*args))
    return np.broadcast_to(fitted(result, op.result.dtype), op.result.shape)


def _arithmetic(dtypes: list[DType]) -> DType:
    if any(d.is_float for d in dtypes):
        return f32
    if i64 in dtypes:
        return i64
    return boolean if all(d == boolean for d in dtypes) else i32


def _scalar(arg: Expr, wide: np.dtype[Any], env: Mapping[str, Any]) -> Array:
    value = evaluate(arg, env)
    if arg.type == "bool":
        return np.asarray(bool(value))
    return np.asarray(value).astype(np.int32 if wide == np.bool_ else wide)
