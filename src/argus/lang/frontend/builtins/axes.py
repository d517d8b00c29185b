"""Shapes of register tiles: other axes, axes in another order, parts and wholes."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from argus.diagnostics import Span
from argus.ir.memory import SharedView
from argus.ir.ops import Flip, Join, Reshape, Slice, Tile, Transpose
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import unify_dims
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.state import Dims
from argus.lang.frontend.values import (
    SharedValue,
    StaticValue,
    TileValue,
    TupleValue,
    Value,
    axes_text,
    counted,
)
from argus.layout import refined


@builtin("reshape")
def reshape(call: BoundCall) -> Value:
    """The same elements in row-major order, in another shape.

    Raises ArgusError: sizes that do not have the tile's elements, or that cut its axes
    (AG0220), names for another number of axes (AG0203).
    """
    e, t = call.e, call.tile("x")
    shape = _sizes(call, t)
    parts = refined(t.shape, shape)
    if parts is None:
        raise e.fail(
            "AG0220",
            call.where("shape"),
            f"axes of {t.shape} and {shape} cut each other",
            notes=(
                "read from the last axis on, the product of the first sizes of one "
                "shape divides that of the other, or is divided by it",
            ),
        )
    if call.given("dims"):
        where = call.where("dims")
        dims = coerce.dim_names(e, call.value("dims"), where, len(shape))
    else:
        dims = _kept(t, shape)
    return TileValue(_reshaped(call, t, shape, dims))


def _sizes(call: BoundCall, t: Tile) -> tuple[int, ...]:
    """The sizes that are asked for; one may be -1: what is left."""
    e, where = call.e, call.where("shape")
    given = call.items("shape")
    sizes = [coerce.static_int(e, x, where, "a size of the tile") for x in given]
    if sizes.count(-1) == 1:
        rest = -prod(sizes)
        if rest > 0 and prod(t.shape) % rest == 0:
            sizes[sizes.index(-1)] = prod(t.shape) // rest
    shape = tuple(sizes)
    if any(n < 1 for n in shape) or prod(shape) != prod(t.shape):
        raise e.fail(
            "AG0220",
            where,
            f"a tile of the shape {shape} has not the {prod(t.shape)} elements of "
            f"{axes_text(t.dims, t.shape)}",
        )
    return shape


def _kept(t: Tile, shape: tuple[int, ...]) -> Dims:
    """Names of the axes before and after those that a reshape changes."""
    low = 0
    while low < min(len(shape), len(t.shape)) and shape[low] == t.shape[low]:
        low += 1
    high = 0
    most = min(len(shape), len(t.shape)) - low
    while high < most and shape[-1 - high] == t.shape[-1 - high]:
        high += 1
    inner = (None,) * (len(shape) - low - high)
    return (*t.dims[:low], *inner, *t.dims[len(t.dims) - high :])


def _reshaped(call: BoundCall, t: Tile, shape: tuple[int, ...], dims: Dims) -> Tile:
    if (shape, dims) == (t.shape, t.dims):
        return t
    result = call.e.tile(t.dtype, shape, dims, call.span)
    call.e.emit(Reshape(result, t, span=call.span))
    return result


@builtin("permute")
def permute(call: BoundCall) -> Value:
    """The axes in another order, by name or by number.

    Raises ArgusError: not each axis once (AG0216).
    """
    e, given, where = call.e, call.value("dims"), call.where("dims")
    value = call.value("x")
    t = value.view if isinstance(value, SharedValue) else call.tile("x")
    if isinstance(given, StaticValue) and isinstance(given.value, str):
        items: tuple[Value, ...] = tuple(StaticValue(w) for w in given.value.split())
    else:
        items = call.items("dims")
    axes = tuple(coerce.axis_of(e, item, where, t.dims) for item in items)
    if sorted(axes) != list(range(len(t.shape))):
        raise e.fail(
            "AG0216",
            where,
            f"{counted(len(axes), 'axis', 'axes')} for {axes_text(t.dims, t.shape)}: "
            "each axis stands once in the order",
        )
    if axes == tuple(range(len(axes))):
        return value
    shape, dims = tuple(t.shape[a] for a in axes), tuple(t.dims[a] for a in axes)
    if isinstance(t, SharedView):
        own = tuple(t.axes[a] for a in axes)
        return SharedValue(replace(t, axes=own, shape=shape, dims=dims))
    result = e.tile(t.dtype, shape, dims, call.span)
    e.emit(Transpose(result, t, axes, span=call.span))
    return TileValue(result)


@builtin("flip")
def flip(call: BoundCall) -> Value:
    """The last element first along a dimension, which the result does not name."""
    e, t = call.e, call.tile("x")
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), t.dims)
    dims = (*t.dims[:axis], None, *t.dims[axis + 1 :])
    result = e.tile(t.dtype, t.shape, dims, call.span)
    e.emit(Flip(result, t, axis, span=call.span))
    return TileValue(result)


@builtin("split")
def split(call: BoundCall) -> Value:
    """Parts of one size along a dimension.

    Raises ArgusError: a size that the number of parts does not divide (AG0209).
    """
    e, t, n = call.e, call.tile("x"), call.positive("n")
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), t.dims)
    extent = t.shape[axis]
    if extent % n:
        raise e.fail(
            "AG0209",
            call.where("n"),
            f"{axes_text(t.dims, t.shape)} cannot be split into {n} equal parts along "
            f"axis {axis}",
            help="parts of other sizes are slices: `x[:, 0:64]`",
        )
    size = extent // n
    shape = (*t.shape[:axis], size, *t.shape[axis + 1 :])
    parts: list[Value] = []
    for number in range(n):
        part = t
        if n > 1:
            part = e.tile(t.dtype, shape, t.dims, call.span)
            e.emit(Slice(part, t, axis, number * size, span=call.span))
        parts.append(TileValue(part))
    return TupleValue(tuple(parts))


@builtin("join")
def join(call: BoundCall) -> Value:
    """The second tile after the first.

    Raises ArgusError: tiles of other shapes (AG0201) or types (AG0106).
    """
    a, b, dims, axis = _pair(call)
    return TileValue(_joined(call, a, b, dims, axis, call.span))


@builtin("interleave")
def interleave(call: BoundCall) -> Value:
    """Elements of two tiles in turns: joined along an axis of their own, the fastest.

    Raises ArgusError: tiles of other shapes (AG0201) or types (AG0106).
    """
    a, b, dims, axis = _pair(call)
    shape = (*a.shape[: axis + 1], 1, *a.shape[axis + 1 :])
    own = (*dims[: axis + 1], None, *dims[axis + 1 :])
    a, b = (_reshaped(call, x, shape, own) for x in (a, b))
    both = _joined(call, a, b, own, axis + 1, call.span)
    whole = (*shape[:axis], 2 * shape[axis], *shape[axis + 2 :])
    return TileValue(_reshaped(call, both, whole, dims))


def _pair(call: BoundCall) -> tuple[Tile, Tile, Dims, int]:
    """Two tiles of one shape and type, the names of their axes, and an axis."""
    e, a, b = call.e, call.tile("a"), call.tile("b")
    if a.shape != b.shape:
        raise e.fail(
            "AG0201",
            call.where("b"),
            f"{axes_text(a.dims, a.shape)} and {axes_text(b.dims, b.shape)} cannot be "
            "joined: tiles of one shape can",
        )
    if a.dtype != b.dtype:
        raise e.fail(
            "AG0106",
            call.where("b"),
            f"a tile of {a.dtype} is joined with one of {b.dtype}",
            help=f"convert one of them: `.to({a.dtype})`",
        )
    dims = unify_dims(e, a.dims, b.dims, call.span)
    axis = coerce.axis_of(e, call.value("dim"), call.where("dim"), dims)
    return a, b, dims, axis


def _joined(
    call: BoundCall, a: Tile, b: Tile, dims: Dims, axis: int, span: Span
) -> Tile:
    shape = (*a.shape[:axis], 2 * a.shape[axis], *a.shape[axis + 1 :])
    result = call.e.tile(a.dtype, shape, dims, span)
    call.e.emit(Join(result, (a, b), axis, span=span))
    return result
