"""Sorts, and the largest elements of a dimension."""

from __future__ import annotations

from argus.ir.dtypes import i32
from argus.ir.numerics import accumulated
from argus.ir.ops import Slice, Sort, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.tiles import cast
from argus.lang.frontend.values import TileValue, TupleValue, Value

__all__ = ["sort", "topk"]


@builtin("sort")
def sort(call: BoundCall) -> Value:
    """Values and indices in order."""
    values, indices, _ = _sorted(call, call.flag("descending", False))
    return TupleValue((TileValue(values), TileValue(indices)))


@builtin("topk")
def topk(call: BoundCall) -> Value:
    """The first of those in descending order."""
    e = call.e
    k = call.positive("k")
    values, indices, axis = _sorted(call, True)
    extent = values.shape[axis]
    if k > extent:
        raise call.wrong("k", f"{k} elements are taken of {extent}")
    found: list[Value] = []
    for t in (values, indices):
        shape = (*t.shape[:axis], k, *t.shape[axis + 1 :])
        result = e.tile(t.dtype, shape, t.dims, call.span)
        if k < extent:
            e.emit(Slice(result, t, axis, 0, span=call.span))
        found.append(TileValue(result if k < extent else t))
    return TupleValue(tuple(found))


def _sorted(call: BoundCall, descending: bool) -> tuple[Tile, Tile, int]:
    e = call.e
    t = call.tile("x")
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), t.dims)
    if t.dtype.kind == "bool":
        raise e.fail(
            "AG0107", call.where("x"), f"`{call.name}` is not defined for bool"
        )
    extent = t.shape[axis]
    if extent & (extent - 1):
        raise e.fail(
            "AG0201",
            call.where("x"),
            f"{extent} elements are sorted, which is no power of two",
            help="load more with a `fill` that comes last",
        )
    wide = cast(e, t, accumulated("sum", t.dtype), call.span)
    values = e.tile(wide.dtype, t.shape, t.dims, call.span)
    indices = e.tile(i32, t.shape, t.dims, call.span)
    e.emit(Sort(values, wide, axis, descending, False, span=call.span))
    e.emit(Sort(indices, wide, axis, descending, True, span=call.span))
    return cast(e, values, t.dtype, call.span), indices, axis
