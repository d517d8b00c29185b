"""Subscripts: slices of tensors, maps and shared tiles; items of tuples, barriers."""

from __future__ import annotations

import ast

from argus.diagnostics import Span
from argus.ir.dtypes import i32, i64
from argus.ir.expr import Const, Expr
from argus.ir.memory import BarrierRef
from argus.lang.frontend import coerce
from argus.lang.frontend.shared import (
    shared_subscript,
    static_difference,
    tile_subscript,
)
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.values import (
    BarriersValue,
    BarrierValue,
    Gathered,
    PointIndex,
    RingValue,
    SharedValue,
    StagedValue,
    TensorValue,
    TileValue,
    TupleValue,
    Value,
    ViewValue,
    Window,
    counted,
    describe,
)
from argus.lang.frontend.views import load_element


def subscript(e: Elaborator, node: ast.Subscript) -> Value:
    """The value of `base[...]`. A tensor indexed by numbers only is a scalar load."""
    base = e.evaluate(node.value)
    if isinstance(base, TensorValue):
        view = tensor_slice(e, base, node)
        return view if view.kept else load_element(e, view, e.span(node))
    return _other(e, base, node)


def place(e: Elaborator, node: ast.Subscript) -> Value:
    """A subscript on the left of `=`: a place, which is not read."""
    base = e.evaluate(node.value)
    if isinstance(base, TensorValue):
        return tensor_slice(e, base, node)
    return _other(e, base, node)


def _other(e: Elaborator, base: Value, node: ast.Subscript) -> Value:
    span = e.span(node)
    match base:
        case StagedValue() | SharedValue():
            return shared_subscript(e, base, node)
        case TupleValue(items=items):
            index = coerce.static_int(
                e, e.evaluate(node.slice), e.span(node.slice), "an index"
            )
            if not -len(items) <= index < len(items):
                raise e.fail(
                    "AG0203", span, f"there is no item {index} in {describe(base)}"
                )
            return items[index]
        case BarriersValue(alloc=alloc):
            at = coerce.integer(
                e, e.evaluate(node.slice), e.span(node.slice), "an index"
            )
            if isinstance(at, Const) and not 0 <= at.value < alloc.count:
                raise e.fail(
                    "AG0203",
                    e.span(node.slice),
                    f"there is no barrier {at.value}: they are 0 to {alloc.count - 1}",
                )
            return BarrierValue(BarrierRef(alloc, at))
        case TileValue(tile=tile):
            return tile_subscript(e, tile, node)
        case ViewValue():
            raise e.fail("AG0116", span, "a slice of a tensor is not sliced again")
        case _:
            raise e.fail(
                "AG0116",
                span,
                f"{describe(base)} cannot be indexed",
                help="slots come from `with ring.fill()` and `with ring.drain()`"
                if isinstance(base, RingValue)
                else None,
            )


def tensor_slice(e: Elaborator, tensor: TensorValue, node: ast.Subscript) -> ViewValue:
    """The places that `T[...]` names.

    Raises ArgusError: a wrong number of indices (AG0203), an index that is neither a
    number, a slice, nor a 1-D tile of i32 or i64 (AG0105), a step (AG0210).
    """
    items = list(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
    rank = len(tensor.dims)
    dots = [
        i
        for i, x in enumerate(items)
        if isinstance(x, ast.Constant) and x.value is Ellipsis
    ]
    if len(dots) == 1:
        fill = rank - len(items) + 1
        items[dots[0] : dots[0] + 1] = [ast.Slice() for _ in range(max(fill, 0))]
    if len(items) != rank or len(dots) > 1:
        names = ", ".join(d or "_" for d in tensor.dims)
        raise e.fail(
            "AG0203",
            e.span(node),
            f"{counted(len(items), 'index', 'indices')} for "
            f"`{tensor.tensor.name}`, which has the dimensions {names}",
            help="`:` takes a whole dimension, `...` all that are left out",
        )
    axes = tuple(_axis(e, tensor, i, item) for i, item in enumerate(items))
    return ViewValue(tensor, axes)


def _axis(
    e: Elaborator, tensor: TensorValue, i: int, item: ast.expr
) -> PointIndex | Window | Gathered:
    dim = tensor.dims[i]
    if isinstance(item, ast.Slice):
        return _window(e, item, tensor.extents[i], dim)
    value, span = e.evaluate(item), e.span(item)
    if isinstance(value, TensorValue):
        raise e.fail(
            "AG0105",
            span,
            f"{describe(value)} cannot select rows",
            help="load the numbers of the rows first: "
            f"`rows = ag.load({value.tensor.name}[0:], (32,))`",
        )
    if not isinstance(value, TileValue):
        return PointIndex(coerce.integer(e, value, span, "an index"))
    t = value.tile
    if len(t.shape) != 1 or t.dtype not in (i32, i64):
        raise e.fail(
            "AG0105",
            span,
            f"{describe(value)} cannot select rows",
            help="an index tile has one axis and the element type i32 or i64",
        )
    return Gathered(t, t.dims[0] or dim)


def _window(e: Elaborator, node: ast.Slice, extent: Expr, dim: str | None) -> Window:
    if node.step is not None:
        raise e.fail("AG0210", e.span(node.step), "tensors are sliced without a step")
    if node.lower is None and node.upper is None:
        size = extent.value if isinstance(extent, Const) else None
        return Window(Const(0), int(size) if size is not None else None, dim)
    start: Expr = Const(0)
    if node.lower is not None:
        start = _bound(e, node.lower, "the start of a slice")
    if node.upper is None:
        return Window(start, None, dim)
    stop = _bound(e, node.upper, "the end of a slice")
    size = static_difference(e, stop, start)
    if size is None:
        return Window(start, None, dim, stop)
    if size < 1:
        raise e.fail("AG0208", e.span(node.upper), f"the slice has {size} elements")
    return Window(start, size, dim)


def _bound(e: Elaborator, node: ast.expr, what: str) -> Expr:
    span: Span = e.span(node)
    return coerce.integer(e, e.evaluate(node), span, what)
