"""Names and shapes: renaming, repeating, reinterpreting; maps of tensors."""

from __future__ import annotations

import ast

from argus.ir.expr import Expr, Sym, substitute, symbols
from argus.ir.memory import Limit
from argus.ir.ops import Full, Reinterpret, Tile, Transpose
from argus.ir.walk import expressions
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import repeat
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.state import Scope
from argus.lang.frontend.tiles import scalar_for
from argus.lang.frontend.values import (
    LambdaValue,
    ScalarValue,
    StaticValue,
    TensorValue,
    TileValue,
    TupleValue,
    Value,
    counted,
    describe,
)


@builtin("rename", "Tile.rename")
def rename(call: BoundCall) -> Value:
    """The same elements under other names: an identity transpose."""
    e = call.e
    source = call.receiver if call.receiver is not None else call.value("x")
    t = coerce.tile(e, source, call.span, "what is renamed").tile
    dims = coerce.dim_names(e, call.value("dims"), call.where("dims"), len(t.shape))
    if dims == t.dims:
        return TileValue(t)
    axes = tuple(range(len(t.shape)))
    result = Tile(t.dtype, t.shape, dims, call.span)
    e.emit(Transpose(result, t, axes, span=call.span))
    return TileValue(result)


@builtin("broadcast")
def broadcast(call: BoundCall) -> Value:
    """A tile or a number repeated to the shape of another tile."""
    e = call.e
    like, value = call.tile("like"), call.value("x")
    if isinstance(value, StaticValue | ScalarValue):
        x = call.scalar("x")
        result = e.tile(like.dtype, like.shape, like.dims, call.span)
        filler = scalar_for(e, x, like.dtype, call.where("x"))
        e.emit(Full(result, filler, span=call.span))
        return TileValue(result)
    return TileValue(repeat(e, call.tile("x"), like.shape, like.dims, call.span))


@builtin("reinterpret")
def reinterpret(call: BoundCall) -> Value:
    """The same registers under another layout.

    Raises ArgusError (AG0213) where the layout does not have the tile's elements.
    """
    e = call.e
    t, layout = call.tile("x"), call.layout("layout")
    if layout is None:
        raise e.fail("AG0105", call.where("layout"), "`layout` is a layout")
    shape = call.shape("shape") if call.given("shape") else layout.shape
    if shape != layout.shape:
        raise e.fail(
            "AG0213",
            call.where("shape"),
            f"the layout has the shape {layout.shape}, not {shape}",
        )
    dims = call.dims("dims", len(shape))
    if not call.given("dims") and shape == t.shape:
        dims = t.dims
    result = Tile(t.dtype, shape, dims, call.span, required=layout)
    e.emit(Reinterpret(result, t, span=call.span))
    return TileValue(result)


# ------------------------------------------------------------- maps of tensors


@builtin("view", "Tensor.view")
def view(call: BoundCall) -> Value:
    """An affine map of a tensor, or of another map.

    Raises ArgusError: sizes or coordinates that are not as many as dimensions (AG0203),
    coordinates that are not affine (AG0211).
    """
    e = call.e
    source = call.receiver if call.receiver is not None else call.value("tensor")
    if not isinstance(source, TensorValue):
        raise call.wrong(
            "tensor", f"a map is made of a tensor, not of {describe(source)}"
        )
    extents = [
        coerce.integer(e, item, call.where("shape"), "a size of a map")
        for item in call.items("shape")
    ]
    dims = coerce.dim_names(e, call.value("dims"), call.where("dims"), len(extents))
    function = call.value("at")
    if not isinstance(function, LambdaValue):
        raise call.wrong("at", "`at` is a lambda", "write `at=lambda m, k: (m, k)`")
    names = [a.arg for a in function.node.args.args]
    if len(names) != len(extents):
        raise e.fail(
            "AG0203",
            call.where("at"),
            f"the lambda takes {counted(len(names), 'coordinate')}, and the map has "
            f"{counted(len(extents), 'dimension')}",
        )
    holes = tuple(Sym(e.fresh(f"%{name}"), "axis") for name in names)
    coords = _coordinates(call, function, names, holes)
    if len(coords) != len(source.dims):
        beneath = "the map" if source.holes is not None else f"`{source.tensor.name}`"
        raise e.fail(
            "AG0203",
            call.where("at"),
            f"the lambda gives {counted(len(coords), 'coordinate')}, and "
            f"{beneath} has {counted(len(source.dims), 'dimension')}",
        )
    limits: tuple[Limit, ...] = ()
    if source.holes is not None:
        env = {h.name: c for h, c in zip(source.holes, coords, strict=True)}
        limits = tuple(Limit(substitute(x.value, env), x.extent) for x in source.limits)
        limits += tuple(map(Limit, coords, source.extents))
        coords = tuple(substitute(c, env) for c in source.coords)
    return TensorValue(source.tensor, dims, tuple(extents), holes, coords, limits)


def _coordinates(
    call: BoundCall, function: LambdaValue, names: list[str], holes: tuple[Sym, ...]
) -> tuple[Expr, ...]:
    e = call.e
    outer, ops = e.scope, len(e.block.ops)
    inside = dict(function.scope.variables)
    inside.update({n: ScalarValue(h) for n, h in zip(names, holes, strict=True)})
    e.scope = Scope(function.scope.env, inside, function.scope.live)
    try:
        body: ast.expr = function.node.body
        value, span = e.evaluate(body), e.span(body)
    finally:
        e.scope = outer
    items = value.items if isinstance(value, TupleValue) else (value,)
    coords = tuple(coerce.integer(e, i, span, "a coordinate") for i in items)
    own = {h.name for h in holes}
    for op in e.block.ops[ops:]:
        if any(s.name in own for x in expressions(op) for s in symbols(x)):
            raise e.fail(
                "AG0211",
                span,
                "a coordinate of a map is computed from its arguments by arithmetic "
                "only",
            )
    return coords
