"""Writing to tensors and shared tiles, and asynchronous copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.ir.memory import BarrierRef, GlobalView, Ring, SharedView
from argus.ir.ops import Atomic, CopyAsync, Full, StoreGlobal, StoreShared, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.broadcast import unify_dims
from argus.lang.frontend.state import Dims, Elaborator
from argus.lang.frontend.tiles import scalar_for
from argus.lang.frontend.values import (
    ScalarValue,
    SharedValue,
    StagedValue,
    StaticValue,
    TileValue,
    Value,
    ViewValue,
    axes_text,
    describe,
)
from argus.lang.frontend.views import completed, global_view, view_shape

AtomicFunction = Literal["add", "max", "min", "exchange", "cas"]


@dataclass(frozen=True, slots=True)
class AtomicChange:
    """An atomic store: its function, and whether old elements are asked for.

    ``expected``: what they are compared with; it stands at ``where``.
    """

    fn: AtomicFunction
    old: bool
    expected: Value | None = None
    where: Span | None = None


def store_into(
    e: Elaborator,
    place: Value,
    value: Value,
    where: Span,
    span: Span,
    mask: Tile | None = None,
    atomic: AtomicChange | None = None,
) -> Tile | None:
    """Write a register tile or a number to a slice of a tensor or a shared tile.

    Gives the old elements, where ``atomic`` asks for them.

    Raises ArgusError: sizes (AG0206), names (AG0218) or element types (AG0106) that
    differ, a place that cannot be written (AG0117).
    """
    match place:
        case ViewValue():
            return _store_global(e, place, value, where, span, mask, atomic)
        case SharedValue(view=view):
            t = _as_tile(e, value, view.dtype, view.shape, view.dims, span)
            store_shared(e, view, t, span)
            return None
        case _:
            raise e.fail(
                "AG0117",
                where,
                f"{describe(place)} cannot be written",
                help="operations return new tiles; `ag.where` chooses per element"
                if isinstance(place, TileValue)
                else "index it by stage first: `s[i]`"
                if isinstance(place, StagedValue)
                else None,
            )


def _store_global(
    e: Elaborator,
    place: ViewValue,
    value: Value,
    where: Span,
    span: Span,
    mask: Tile | None,
    atomic: AtomicChange | None,
) -> Tile | None:
    tensor = place.source.tensor
    if isinstance(value, StaticValue | ScalarValue):
        expected = None if atomic is None else atomic.expected
        like = expected.tile if isinstance(expected, TileValue) else mask
        shape = view_shape(e, place, completed(place, like), where)
        dims = tuple(a.dim for a in place.kept)
        t = _as_tile(e, value, tensor.dtype, shape, dims, span)
    else:
        t = coerce.tile(e, value, span, "what is stored").tile
    same_dtype(e, t.dtype, tensor.dtype, f"`{tensor.name}`", span)
    view = global_view(e, place, t.shape, where)
    unify_dims(e, view.dims, t.dims, span, place=True)
    if mask is not None:
        check_mask(e, mask, view, where)
    if tensor.name not in e.program.outputs:
        e.program.outputs.append(tensor.name)
    at = where.to(span)
    fn = None if atomic is None else atomic.fn
    if atomic is None or not atomic.old:
        e.emit(StoreGlobal(view, t, mask, fn, span=at))
        return None
    expected = None
    if atomic.expected is not None:
        expected = _expected(e, atomic.expected, t, atomic.where or span)
    old = e.tile(t.dtype, t.shape, t.dims, at)
    e.emit(Atomic(view, t, mask, fn, result=old, expected=expected, span=at))
    return old


def _expected(e: Elaborator, value: Value, t: Tile, span: Span) -> Tile:
    """What a compare-and-swap compares with: as large as what it stores."""
    made = _as_tile(e, value, t.dtype, t.shape, t.dims, span)
    same_dtype(e, made.dtype, t.dtype, "a compare-and-swap", span)
    if made.shape != t.shape:
        raise e.fail(
            "AG0206",
            span,
            f"what is expected is {axes_text(made.dims, made.shape)}, and what is "
            f"stored {axes_text(t.dims, t.shape)}",
        )
    unify_dims(e, made.dims, t.dims, span)
    return made


def check_mask(e: Elaborator, mask: Tile, view: GlobalView, span: Span) -> None:
    """A mask is a bool tile of the shape of the slice; raises ArgusError otherwise."""
    if mask.dtype.kind != "bool":
        raise e.fail("AG0105", span, f"the mask is a tile of {mask.dtype}, not of bool")
    if mask.shape != view.shape:
        raise e.fail(
            "AG0206",
            span,
            f"the mask {axes_text(mask.dims, mask.shape)} does not fit the slice "
            f"{axes_text(view.dims, view.shape)}",
            help="`ag.broadcast(mask, like)` repeats it",
        )
    unify_dims(e, view.dims, mask.dims, span, place=True)


def same_dtype(e: Elaborator, have: DType, want: DType, what: str, span: Span) -> None:
    """Nothing is converted silently; raises ArgusError (AG0106) where it would be."""
    if have != want:
        raise e.fail(
            "AG0106",
            span,
            f"a tile of {have} is stored to {what} of {want}",
            help=f"convert it with `.to({want})`",
        )


def _as_tile(
    e: Elaborator,
    value: Value,
    dtype: DType,
    shape: tuple[int, ...],
    dims: Dims,
    span: Span,
) -> Tile:
    if not isinstance(value, StaticValue | ScalarValue):
        return coerce.tile(e, value, span, "what is stored").tile
    number = coerce.scalar(e, value, span, "what is stored")
    t = e.tile(dtype, shape, dims, span)
    e.emit(Full(t, scalar_for(e, number, dtype, span), span=span))
    return t


def store_shared(e: Elaborator, view: SharedView, t: Tile, span: Span) -> None:
    """Write a register tile to a shared tile of the same sizes."""
    same_dtype(e, t.dtype, view.dtype, "a shared tile", span)
    if t.shape != view.shape:
        raise e.fail(
            "AG0206",
            span,
            f"{axes_text(t.dims, t.shape)} does not fit the shared tile "
            f"{axes_text(view.dims, view.shape)}",
        )
    dims = unify_dims(e, view.dims, t.dims, span)
    e.name_shared(view, dims)
    e.emit(StoreShared(e.use_shared(replace(view, dims=dims)), t, span=span))


def copy_async(
    e: Elaborator,
    target: SharedView,
    source: ViewValue,
    where: Span,
    span: Span,
    *,
    ring: Ring | None,
    barrier: BarrierRef | None,
    via: Literal["tma", "cp_async"] | None,
    multicast: int,
    evict: str | None,
) -> None:
    """Copy a slice of a tensor to a shared tile of the same sizes.

    Raises ArgusError: sizes (AG0206), names (AG0218) or element types (AG0106) differ.
    """
    view = global_view(e, source, target.shape, where)
    if view.dtype != target.dtype:
        raise e.fail(
            "AG0106",
            where,
            f"elements of {view.dtype} are copied to a shared tile of {target.dtype}",
            help="a copy converts nothing: give both the same element type",
        )
    dims = unify_dims(e, target.dims, view.dims, where)
    e.name_shared(target, dims)
    if ring is not None and multicast > 1:
        ring.cluster = True
    if not 1 <= multicast <= e.program.cluster:
        raise e.fail(
            "AG0508",
            span,
            f"a copy to {multicast} blocks needs a cluster of as many",
            help=f"declare `ag.cluster({multicast})` at the top of the kernel",
        )
    e.emit(
        CopyAsync(
            e.use_shared(replace(target, dims=dims)),
            view,
            barrier,
            via,
            multicast,
            evict,
            ring,
            span=span,
        )
    )
