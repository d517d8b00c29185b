"""Attributes of values: shapes, transposes, fields of slots, bound methods."""

from __future__ import annotations

import ast

from argus.diagnostics import ArgusError
from argus.ir.annotations import component
from argus.ir.dtypes import DType
from argus.ir.ops import Transpose
from argus.lang.frontend import lookup
from argus.lang.frontend.calls import HANDLERS, STUBS
from argus.lang.frontend.idioms import of_attribute, of_scalar
from argus.lang.frontend.shared import field_of
from argus.lang.frontend.state import Elaborator, suggest
from argus.lang.frontend.values import (
    CLASS_OF,
    Builtin,
    ElementValue,
    Method,
    Namespace,
    ScalarValue,
    SharedValue,
    SlotValue,
    StagedValue,
    StaticValue,
    TensorValue,
    TileValue,
    TupleValue,
    Value,
    describe,
    number,
)
from argus.lang.names import FUNCTIONS


def attribute(e: Elaborator, value: Value, name: str, node: ast.Attribute) -> Value:
    """`value.name`. Raises ArgusError (AG0103) where there is no such attribute."""
    match value, name:
        case Namespace(name="argus"), _:
            return lookup.language(e, name, e.span(node))
        case Namespace(name="layouts"), _ if f"layouts.{name}" in HANDLERS:
            return Builtin(f"layouts.{name}")
        case StaticValue(value=DType() as dtype), "bits" | "bytes":
            return StaticValue(dtype.bits if name == "bits" else dtype.bytes)
        case StaticValue(value=DType()), "tile":
            return Method(value, "ElementType.tile")
        case TensorValue(extents=extents), "shape":
            return TupleValue(tuple(number(x) for x in extents))
        case TensorValue(tensor=tensor), "dtype":
            return StaticValue(tensor.dtype)
        case TensorValue(dims=dims), "dims":
            return TupleValue(tuple(StaticValue(d) for d in dims))
        case TileValue(tile=t), "shape" | "dims" | "dtype":
            return _facts(t.shape, t.dims, t.dtype, name)
        case SharedValue(view=v), "shape" | "dims" | "dtype":
            return _facts(v.shape, v.dims, v.dtype, name)
        case StagedValue(alloc=a), "shape" | "dims" | "dtype":
            return _facts(a.shape, a.dims, a.dtype, name)
        case ((TileValue() | SharedValue()), "T"):
            return transposed(e, value, node)
        case ElementValue(argument=i), _:
            return ScalarValue(component(i, name))
        case SlotValue(ring=ring), _ if name in ring.fields:
            return field_of(e, value, name)
        case _:
            cls = CLASS_OF.get(type(value))
            if cls is not None and f"{cls}.{name}" in HANDLERS:
                return Method(value, f"{cls}.{name}")
            raise _missing(e, value, name, node)


def _facts(
    shape: tuple[int, ...], dims: tuple[str | None, ...], dtype: DType, name: str
) -> Value:
    match name:
        case "shape":
            return TupleValue(tuple(StaticValue(n) for n in shape))
        case "dims":
            return TupleValue(tuple(StaticValue(d) for d in dims))
        case _:
            return StaticValue(dtype)


def transposed(
    e: Elaborator, value: TileValue | SharedValue, node: ast.Attribute
) -> Value:
    """The value with its last two axes exchanged."""
    span = e.span(node)
    shape = value.tile.shape if isinstance(value, TileValue) else value.view.shape
    if len(shape) < 2:
        raise e.fail(
            "AG0216", span, f"`.T` exchanges two axes, and this has {len(shape)}"
        )
    if isinstance(value, SharedValue):
        return SharedValue(value.view.transposed, value.ring)
    t, n = value.tile, len(shape)
    axes = (*range(n - 2), n - 1, n - 2)
    result = e.tile(
        t.dtype, tuple(t.shape[a] for a in axes), tuple(t.dims[a] for a in axes), span
    )
    e.emit(Transpose(result, t, axes, span=span))
    return TileValue(result)


def _foreign(value: Value, name: str) -> str | None:
    """How an attribute of numpy's or PyTorch's arrays is said here."""
    if isinstance(value, ScalarValue):
        return of_scalar(name)
    if not isinstance(value, TileValue | SharedValue | TensorValue):
        return None
    return of_attribute(name, tuple(FUNCTIONS), tensor=isinstance(value, TensorValue))


def _missing(e: Elaborator, value: Value, name: str, node: ast.Attribute) -> ArgusError:
    cls = CLASS_OF.get(type(value), "")
    options = [key.split(".")[1] for key in STUBS if key.startswith(f"{cls}.")]
    match value:
        case SlotValue(ring=ring):
            options = [*ring.fields, *options]
        case TileValue() | SharedValue():
            options += ["shape", "dtype", "dims", "T"]
        case TensorValue():
            options += ["shape", "dtype", "dims"]
        case Namespace(name="layouts"):
            options = [k.split(".")[1] for k in STUBS if k.startswith("layouts.")]
        case _:
            pass
    return e.fail(
        "AG0103",
        e.span(node),
        f"{describe(value)} has no attribute `{name}`",
        help=_foreign(value, name) or suggest(name, options),
        notes=(f"it has: {', '.join(options)}",) if options else (),
    )
