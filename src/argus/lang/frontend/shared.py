"""Shared tiles: views of buffers, their slices, and the fields of ring slots."""

from __future__ import annotations

import ast
from dataclasses import replace

from argus.diagnostics import Span
from argus.ir.expr import Const, Expr, binary
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.ops import Slice, StridedSlice, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.values import (
    SharedValue,
    SlotValue,
    StagedValue,
    StaticValue,
    TileValue,
    Value,
    counted,
    number,
)


def whole(alloc: SharedAlloc, stage: Expr) -> SharedView:
    """One stage of a buffer."""
    rank = len(alloc.shape)
    return SharedView(
        alloc,
        stage,
        (Const(0),) * rank,
        tuple(range(rank)),
        alloc.shape,
        alloc.dims,
    )


def with_names(value: SharedValue) -> SharedValue:
    """The tile with the dimension names that its buffer has got since."""
    view = value.view
    dims = tuple(
        d or view.alloc.dims[axis] for d, axis in zip(view.dims, view.axes, strict=True)
    )
    if dims == view.dims:
        return value
    return SharedValue(replace(view, dims=dims), value.ring)


def field_of(e: Elaborator, slot: SlotValue, name: str) -> SharedValue:
    """A field of a ring slot: fill n is in stage n % stages."""
    stage = binary("%", slot.n, slot.ring.stages)
    view = whole(slot.ring.fields[name], stage)
    return SharedValue(view, slot.ring if slot.mode == "fill" else None)


def shared_subscript(
    e: Elaborator, value: StagedValue | SharedValue, node: ast.Subscript
) -> Value:
    """`s[i]`, `s[a:b, :]`: a stage of a staged buffer, or a part of a tile.

    Raises ArgusError: wrong number of indices (AG0203), a slice whose size is not
    static (AG0108) or that is outside the tile (AG0206), a step (AG0210).
    """
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    ring = None
    if isinstance(value, StagedValue) or value.staged:
        alloc = value.alloc if isinstance(value, StagedValue) else value.view.alloc
        stage = coerce.integer(
            e, e.evaluate(items[0]), e.span(items[0]), "a stage index"
        )
        if isinstance(stage, Const) and not 0 <= stage.value < alloc.stages:
            raise e.fail(
                "AG0206",
                e.span(items[0]),
                f"there is no stage {stage.value}: they are 0 to {alloc.stages - 1}",
            )
        view = whole(alloc, stage)
        items = items[1:]
    else:
        view, ring = value.view, value.ring
    items = [i for i in items if not _is_ellipsis(i)]
    if len(items) > len(view.shape):
        raise e.fail(
            "AG0203",
            e.span(node),
            f"{counted(len(items), 'index', 'indices')} for a shared tile with "
            f"{counted(len(view.shape), 'axis', 'axes')}",
        )
    origin = list(view.origin)
    kept: list[int] = []
    shape: list[int] = []
    for position, axis in enumerate(view.axes):
        size = view.shape[position]
        if position >= len(items):
            kept.append(position)
            shape.append(size)
            continue
        item = items[position]
        if isinstance(item, ast.Slice):
            start, extent = _window(e, item, size, e.span(item))
            kept.append(position)
            shape.append(extent)
        else:
            start = coerce.integer(e, e.evaluate(item), e.span(item), "an index")
            _check(e, start, 1, size, e.span(item))
        origin[axis] = binary("+", origin[axis], start)
    made = SharedView(
        view.alloc,
        view.stage,
        tuple(origin),
        tuple(view.axes[p] for p in kept),
        tuple(shape),
        tuple(view.dims[p] for p in kept),
    )
    return SharedValue(made, ring)


def tile_subscript(e: Elaborator, tile: Tile, node: ast.Subscript) -> Value:
    """A part of a register tile: static slices, one for each axis.

    Raises ArgusError: an index that is no static slice (AG0108, AG0116), one outside
    the tile (AG0206), too many or too few (AG0203), a step below 1 (AG0210).
    """
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    span = e.span(node)
    if len(items) != len(tile.shape):
        raise e.fail(
            "AG0203",
            span,
            f"{counted(len(items), 'slice')} for a tile with "
            f"{counted(len(tile.shape), 'axis', 'axes')}",
            help=_REPEATED if any(_is_none(i) for i in items) else None,
        )
    for axis, item in enumerate(items):
        if not isinstance(item, ast.Slice):
            raise e.fail(
                "AG0116",
                e.span(item),
                "a register tile is not indexed by element",
                help=_REPEATED
                if _is_none(item)
                else "slice it with static bounds, `x[:, 0:64]`, or reduce it",
            )
        window = ast.Slice(item.lower, item.upper)
        start, extent = _window(e, window, tile.shape[axis], e.span(item))
        step = _step(e, item)
        count = len(range(0, extent, step))
        if count == tile.shape[axis]:
            continue
        if not isinstance(start, Const) or not isinstance(start.value, int):
            raise e.fail(
                "AG0108", e.span(item), "a register tile is sliced at static places"
            )
        shape = (*tile.shape[:axis], count, *tile.shape[axis + 1 :])
        made = e.tile(tile.dtype, shape, tile.dims, span)
        if step == 1:
            e.emit(Slice(made, tile, axis, start.value, span=span))
        else:
            e.emit(StridedSlice(made, tile, axis, start.value, step, span=span))
        tile = made
    return TileValue(tile)


_REPEATED = (
    "a tile is repeated along the dimensions that it lacks, which are found by name: "
    "`x + v`, or `ag.broadcast(v, x)`"
)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _window(e: Elaborator, node: ast.Slice, size: int, span: Span) -> tuple[Expr, int]:
    if node.step is not None:
        raise e.fail(
            "AG0210", e.span(node.step), "a shared tile is sliced without step"
        )
    start: Expr = Const(0)
    if node.lower is not None:
        start = coerce.integer(
            e, e.evaluate(node.lower), e.span(node.lower), "the start of a slice"
        )
    stop: Expr = Const(size)
    if node.upper is not None:
        stop = coerce.integer(
            e, e.evaluate(node.upper), e.span(node.upper), "the end of a slice"
        )
    extent = static_difference(e, stop, start)
    if extent is None:
        raise e.fail(
            "AG0108",
            span,
            "the size of a slice must be known at compile time",
            help="write it as `a : a + N` with a static N",
        )
    if extent < 1:
        raise e.fail("AG0208", span, f"the slice has {extent} elements")
    _check(e, start, extent, size, span)
    return start, extent


def _step(e: Elaborator, node: ast.Slice) -> int:
    if node.step is None:
        return 1
    span = e.span(node.step)
    step = coerce.static_int(e, e.evaluate(node.step), span, "the step of a slice")
    if step < 1:
        raise e.fail("AG0210", span, f"a slice has a step of at least 1, not {step}")
    return step


def _check(e: Elaborator, start: Expr, extent: int, size: int, span: Span) -> None:
    if isinstance(start, Const) and not 0 <= start.value <= size - extent:
        raise e.fail(
            "AG0206", span, f"the slice is outside the tile, which has {size} elements"
        )


def static_difference(e: Elaborator, a: Expr, b: Expr) -> int | None:
    """`a - b` where it is static, also through named scalars; else None."""
    for x, y in ((a, b), (e.expand(a), e.expand(b))):
        match number(binary("-", x, y)):
            case StaticValue(value=int() as n) if not isinstance(n, bool):
                return n
            case _:
                continue
    return None
