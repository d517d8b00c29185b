"""Reductions, prefix sums, and coordinates along a dimension."""

from __future__ import annotations

from argus.ir import dtypes as d
from argus.ir.combine import Combination
from argus.ir.expr import binary
from argus.ir.numerics import accumulated
from argus.ir.ops import Elementwise, Index, Reduce, Scan, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.builtins.scan import combining
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.tiles import cast, elementwise, extracted
from argus.lang.frontend.values import (
    ScalarValue,
    SharedValue,
    StaticValue,
    TileValue,
    Value,
    number,
)


def _reduce(call: BoundCall, fn: str, dim: str = "dim") -> Tile:
    e = call.e
    t = call.tile("x")
    axis = coerce.axis_of(e, call.value(dim), call.where(dim), t.dims)
    if t.dtype.kind == "bool":
        raise e.fail(
            "AG0107",
            call.where("x"),
            f"`{fn}` is not defined for bool",
            help="use `ag.where(mask, 1, 0)` to count",
        )
    dtype = accumulated(fn, t.dtype)
    if fn in ("sum", "prod"):
        t = cast(e, t, dtype, call.span)
    shape = t.shape[:axis] + t.shape[axis + 1 :]
    result = e.tile(dtype, shape, t.dims[:axis] + t.dims[axis + 1 :], call.span)
    e.emit(Reduce(result, t, axis, fn, span=call.span))
    return result


@builtin("sum")
def sum_(call: BoundCall) -> Value:
    """Sum along a dimension."""
    return TileValue(_reduce(call, "sum"))


@builtin("prod")
def prod(call: BoundCall) -> Value:
    """Product along a dimension."""
    return TileValue(_reduce(call, "prod"))


@builtin("argmax")
def argmax(call: BoundCall) -> Value:
    """Index of the first largest element."""
    return TileValue(_reduce(call, "argmax"))


@builtin("argmin")
def argmin(call: BoundCall) -> Value:
    """Index of the first smallest element."""
    return TileValue(_reduce(call, "argmin"))


@builtin("mean")
def mean(call: BoundCall) -> Value:
    """Sum over a count, in the type of the sum."""
    t = call.tile("x")
    axis = coerce.axis_of(call.e, call.value("dim"), call.where("dim"), t.dims)
    if not t.dtype.is_float:
        raise call.e.fail(
            "AG0107",
            call.where("x"),
            f"`mean` is not defined for {t.dtype}",
            help="convert the tile with `.to(f32)`",
        )
    total = _reduce(call, "sum")
    count: Value = StaticValue(t.shape[axis])
    if call.given("count"):
        count = number(call.scalar("count"))
    spans = (call.span, call.where("count"))
    return elementwise(call.e, "div", (TileValue(total), count), spans, call.span)


@builtin("max", "min")
def extreme(call: BoundCall) -> Value:
    """Along a dimension of a tile, or of two scalars."""
    if isinstance(call.value("x"), StaticValue | ScalarValue):
        op = "max" if call.name == "max" else "min"
        return number(binary(op, call.scalar("x"), call.scalar("y")))
    if isinstance(call.value("y"), TileValue | ScalarValue) or isinstance(
        getattr(call.value("y"), "value", None), float
    ):
        raise call.e.fail(
            "AG0105",
            call.where("y"),
            f"`{call.name}` of a tile takes the dimension to reduce",
            help=f"`ag.{call.name}imum(x, y)` compares element by element",
        )
    return TileValue(_reduce(call, call.name, "y"))


@builtin("any", "all")
def vote(call: BoundCall) -> Value:
    """Whether a mask holds somewhere, or everywhere, as a scalar."""
    e, t = call.e, call.tile("x")
    if t.dtype.kind != "bool":
        raise e.fail(
            "AG0105",
            call.where("x"),
            f"`{call.name}` takes a mask, and this is a tile of {t.dtype}",
            help=f"compare its elements, as in `ag.{call.name}(x > 0)`",
        )
    if call.name == "all":
        no = e.tile(t.dtype, t.shape, t.dims, call.span)
        e.emit(Elementwise(no, "not", (t,), span=call.span))
        t = no
    # Counted, so that elements that say nothing add nothing.
    t = cast(e, t, d.i32, call.span)
    while t.shape:
        axis = len(t.shape) - 1
        result = e.tile(d.i32, t.shape[:axis], t.dims[:axis], call.span)
        e.emit(Reduce(result, t, axis, "sum", span=call.span))
        t = result
    op = "==" if call.name == "all" else "!="
    return number(binary(op, extracted(e, t, call.name, call.span), 0))


@builtin("cumsum")
def cumsum(call: BoundCall) -> Value:
    """Inclusive prefix sum."""
    e, reverse = call.e, call.flag("reverse", False)
    t = call.tile("x")
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), t.dims)
    if t.dtype.kind == "bool":
        raise e.fail("AG0107", call.where("x"), "`cumsum` is not defined for bool")
    t = cast(e, t, accumulated("cumsum", t.dtype), call.span)
    combine = Combination.of("add", t.dtype)
    return combining(e, Scan, [t], axis, combine, call.span, reverse)[0]


@builtin("index")
def index(call: BoundCall) -> Value:
    """Coordinates along a dimension: a 1-D i32 tile that carries its name."""
    e, value = call.e, call.value("x")
    match value:
        case TileValue(tile=x) | SharedValue(view=x):
            dims, shape = x.dims, x.shape
            axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), dims)
            name, size = dims[axis], shape[axis]
        case _:
            shape = call.shape("x")
            if len(shape) != 1:
                raise e.fail(
                    "AG0105",
                    call.where("x"),
                    "the coordinates are taken of a tile, or of one size",
                    help='write `ag.index(BN, "N")`',
                )
            word = coerce.text(e, call.value("dim"), call.where("dim"), "`dim`")
            (name,), size = (
                coerce.dim_names(e, StaticValue(word), call.where("dim"), 1),
                shape[0],
            )
    result = e.tile(d.i32, (size,), (name,), call.span)
    e.emit(Index(result, 0, span=call.span))
    return TileValue(result)
