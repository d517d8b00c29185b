"""Loads, stores, shared tiles, explicit copies."""

from __future__ import annotations

from typing import Literal, cast

from argus.ir.expr import Const
from argus.ir.memory import SharedAlloc
from argus.ir.ops import (
    CopyOut,
    CopyOutCommit,
    CopyOutWait,
    LoadGlobal,
    LoadShared,
    Tile,
)
from argus.isa import memory, registry, tma
from argus.lang.frontend import coerce, stores
from argus.lang.frontend.broadcast import unify_dims
from argus.lang.frontend.builtins.sync import one_barrier
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.shared import whole
from argus.lang.frontend.tiles import extracted, scalar_for, scalar_holds
from argus.lang.frontend.values import (
    NOTHING,
    ScalarValue,
    SharedValue,
    SpecValue,
    StagedValue,
    StaticValue,
    TileValue,
    Value,
    ViewValue,
    describe,
)
from argus.lang.frontend.values import number as number_of
from argus.lang.frontend.views import completed, global_view
from argus.layout import Fragment

_EVICT = ("first", "last", "normal")


@builtin("load")
def load(call: BoundCall) -> Value:
    """A slice of a tensor, or a shared tile, into registers."""
    e, source = call.e, call.value("view")
    if isinstance(source, SharedValue | StagedValue):
        for name in ("shape", "fill", "mask", "evict"):
            if call.given(name):
                raise call.wrong(name, f"a shared tile is loaded without `{name}`")
        return load_shared(call, source)
    if not isinstance(source, ViewValue):
        raise call.wrong(
            "view",
            f"`load` reads a slice or a shared tile, not {describe(source)}",
            "write a slice with an index for each dimension, such as `A[i:, k:]`",
        )
    mask = call.tile("mask") if call.given("mask") else None
    given = call.given("shape")
    context = call.shape("shape") if given else completed(source, mask)
    view = global_view(e, source, context, call.where("view"))
    empty = Const(False) if view.dtype.kind == "bool" else Const(0)
    fill = call.scalar("fill") if call.given("fill") else empty
    fill = scalar_for(e, fill, view.dtype, call.where("fill"))
    if mask is not None:
        stores.check_mask(e, mask, view, call.where("mask"))
    dims = view.dims
    if call.given("dims"):
        dims = call.dims("dims", len(view.shape))
    result = Tile(
        view.dtype, view.shape, dims, call.span, required=_layout(call, view.shape)
    )
    evict = call.choice("evict", _EVICT)
    e.emit(LoadGlobal(result, view, fill, mask, evict, span=call.span))
    return TileValue(result)


def _layout(call: BoundCall, shape: tuple[int, ...]) -> Fragment | None:
    layout = call.layout("layout")
    if layout is not None and layout.shape != shape:
        raise call.e.fail(
            "AG0206",
            call.where("layout"),
            f"the layout has the shape {layout.shape}, and the tile {shape}",
        )
    return layout


def load_shared(call: BoundCall, source: Value) -> Value:
    """A shared tile into registers."""
    e = call.e
    if not isinstance(source, SharedValue):
        raise e.fail(
            "AG0105",
            call.span,
            f"{describe(source)} is loaded stage by stage",
            help="index it by stage first: `s[i]`",
        )
    view = source.view
    dims = call.dims("dims", len(view.shape)) if call.given("dims") else view.dims
    result = Tile(
        view.dtype, view.shape, dims, call.span, required=_layout(call, view.shape)
    )
    e.emit(LoadShared(result, e.use_shared(view), span=call.span))
    return TileValue(result)


@builtin("ldmatrix")
def ldmatrix(call: BoundCall) -> Value:
    """A shared tile into registers."""
    return load_shared(call, call.value("source"))


@builtin("SharedTile.load")
def shared_load(call: BoundCall) -> Value:
    """Fill a slot's field from a slice; without one, read a shared tile."""
    receiver = call.receiver
    if not call.given("view"):
        if isinstance(receiver, SharedValue | StagedValue):
            return load_shared(call, receiver)
        raise AssertionError(receiver)
    if not isinstance(receiver, SharedValue) or receiver.ring is None:
        raise call.e.fail(
            "AG0105",
            call.span,
            "`.load(view)` fills a field of a slot inside `with ring.fill()`",
            help="`s.copy(view, barrier)` starts an explicit copy; "
            "`s.store(ag.load(view, shape))` goes through registers",
        )
    _copy(call, receiver)
    return NOTHING


@builtin("SharedTile.copy")
def shared_copy(call: BoundCall) -> Value:
    """An explicit asynchronous copy."""
    receiver = call.receiver
    if not isinstance(receiver, SharedValue):
        raise call.e.fail(
            "AG0105",
            call.span,
            "a staged buffer is copied to stage by stage",
            help="index it by stage first: `s[i].copy(...)`",
        )
    _copy(call, receiver)
    return NOTHING


def _copy(call: BoundCall, target: SharedValue) -> None:
    e, source = call.e, call.value("view")
    if not isinstance(source, ViewValue):
        raise call.wrong(
            "view", f"a slice of a tensor is copied, not {describe(source)}"
        )
    via = cast(
        Literal["tma", "cp_async"] | None, call.choice("via", ("tma", "cp_async"))
    )
    if via == "tma" and not registry.has_family("tma", e.program.target.name):
        raise e.fail(
            "AG0602",
            call.where("via"),
            f"{e.program.target.name} has no TMA",
            help='leave `via=` out, or write `via="cp_async"`',
        )
    barrier = None
    if call.name == "SharedTile.copy" and call.given("barrier"):
        barrier = one_barrier(call, call.value("barrier"), call.where("barrier"))
    stores.copy_async(
        e,
        target.view,
        source,
        call.where("view"),
        call.span,
        ring=target.ring if call.name == "SharedTile.load" else None,
        barrier=barrier,
        via=via,
        multicast=call.positive("multicast", 1),
        evict=call.choice("evict", _EVICT),
    )


@builtin("SharedTile.store")
def shared_store(call: BoundCall) -> Value:
    """Registers to shared memory."""
    if not isinstance(call.receiver, SharedValue):
        raise call.e.fail(
            "AG0105",
            call.span,
            "a staged buffer is written stage by stage",
            help="index it by stage first: `s[i].store(tile)`",
        )
    stores.store_shared(call.e, call.receiver.view, call.tile("tile"), call.span)
    return NOTHING


@builtin("store")
def store(call: BoundCall) -> Value:
    """Registers to a slice of a tensor, or to a shared tile."""
    mask = call.tile("mask") if call.given("mask") else None
    place = call.value("view")
    if isinstance(place, SharedValue) and mask is not None:
        raise call.wrong("mask", "a shared tile is written without a mask")
    stores.store_into(
        call.e, place, call.value("tile"), call.where("view"), call.where("tile"), mask
    )
    return NOTHING


@builtin("atomic_add")
def atomic_add(call: BoundCall) -> Value:
    """Add to memory. See `_atomic`."""
    return _atomic(call, "add")


@builtin("atomic_max")
def atomic_max(call: BoundCall) -> Value:
    """Raise memory to what is larger. See `_atomic`."""
    return _atomic(call, "max")


@builtin("atomic_min")
def atomic_min(call: BoundCall) -> Value:
    """Lower memory to what is less. See `_atomic`."""
    return _atomic(call, "min")


@builtin("atomic_exchange")
def atomic_exchange(call: BoundCall) -> Value:
    """Memory becomes the element. See `_atomic`."""
    return _atomic(call, "exchange")


@builtin("atomic_cas")
def atomic_cas(call: BoundCall) -> Value:
    """Memory becomes the element where it is what is expected. See `_atomic`."""
    return _atomic(call, "cas")


def _atomic(call: BoundCall, fn: stores.AtomicFunction) -> Value:
    """Change memory by each element; what it was before, where somebody uses it.

    Raises ArgusError: no hardware does it to elements of the type (AG0107), or the
    target does not (AG0602).
    """
    e = call.e
    place, given = call.value("view"), call.value("tile")
    if not isinstance(place, ViewValue):
        raise call.wrong(
            "view", f"`{call.name}` changes a slice of a tensor, not {describe(place)}"
        )
    mask = call.tile("mask") if call.given("mask") else None
    number = isinstance(given, StaticValue | ScalarValue)
    dtype = place.source.tensor.dtype if number else call.tile("tile").dtype
    old = fn in ("exchange", "cas") or e.discarded != call.span
    form = memory.reduction(dtype, fn, old=old)
    if form is None:
        forms = memory.ATOMS if old else memory.REDUCTIONS
        known = ", ".join(r.dtype.name for r in forms if r.fn == fn)
        there = old and memory.reduction(dtype, fn) is not None
        raise e.fail(
            "AG0107",
            call.where("tile"),
            f"`{call.name}` gives no old values of {dtype}"
            if there
            else f"`{call.name}` is not defined for {dtype}",
            notes=(f"it does for {known}" if there else f"it is for {known}",),
            help="use it as a statement of its own" if there else None,
        )
    target = e.program.target.name
    if not registry.supports(form.function, target):
        raise e.fail(
            "AG0602",
            call.where("tile"),
            f"{target} has no atomic addition of {dtype}",
            help="add f32 instead",
        )
    expected = call.value("expected") if fn == "cas" else None
    where = call.where("expected") if fn == "cas" else None
    change = stores.AtomicChange(fn, old, expected, where)
    before = stores.store_into(
        e, place, given, call.where("view"), call.where("tile"), mask, change
    )
    if before is None or e.discarded == call.span:
        return NOTHING
    if not before.shape and scalar_holds(before.dtype):  # of one element, as `V[0]` is
        return number_of(extracted(e, before, "old", call.span))
    return TileValue(before)


def swizzle_of(call: BoundCall) -> int | None:
    """The author's swizzle; raises ArgusError (AG0606) for one that does not exist."""
    if not call.given("swizzle"):
        return None
    swizzle = call.int("swizzle")
    if swizzle not in tma.SWIZZLES:
        raise call.e.fail(
            "AG0606",
            call.where("swizzle"),
            f"there is no swizzle of {swizzle} bytes",
            notes=(f"a swizzle has {tma.swizzles_text('or')} bytes",),
        )
    return swizzle


@builtin("shared")
def shared(call: BoundCall) -> Value:
    """A buffer in shared memory."""
    e = call.e
    shape = call.shape("shape", "the shared tile")
    dims = call.dims("dims", len(shape))
    name = e.own_name(call.span, "smem")
    stages = call.positive("stages", 1)
    alloc = SharedAlloc(
        name,
        call.dtype("dtype"),
        shape,
        e.seeds.get(name, dims),
        stages,
        call.span,
        swizzle=swizzle_of(call),
    )
    e.program.shared.append(alloc)
    if stages > 1:
        return StagedValue(alloc)
    return SharedValue(whole(alloc, Const(0)), staged=call.given("stages"))


@builtin("ElementType.tile")
def tile_spec(call: BoundCall) -> Value:
    """The description of a ring's field."""
    e = call.e
    assert call.receiver is not None
    dtype = coerce.dtype(e, call.receiver, call.span)
    shape = call.shape("shape")
    if not shape:
        raise e.fail("AG0104", call.span, "a tile has at least one size")
    return SpecValue(dtype, shape, swizzle_of(call), call.dims("dims", len(shape)))


@builtin("tma_store")
def tma_store(call: BoundCall) -> Value:
    """Shared to global memory by TMA, as a group of its own."""
    e = call.e
    place, source = call.value("view"), call.value("source")
    if not registry.has_family("tma", e.program.target.name):
        raise e.fail(
            "AG0602",
            call.span,
            f"{e.program.target.name} has no TMA",
            help="store a register tile: `C[i:, j:] = tile`",
        )
    if not isinstance(place, ViewValue):
        raise call.wrong(
            "view", f"a slice of a tensor is written, not {describe(place)}"
        )
    if not isinstance(source, SharedValue):
        raise call.wrong("source", f"a shared tile is stored, not {describe(source)}")
    if place.source.holes is not None:
        raise e.fail(
            "AG0117",
            call.where("view"),
            "TMA stores to no map of a tensor",
            help="store a register tile: `V[i:, j:] = s.load()`",
        )
    view = global_view(e, place, source.view.shape, call.where("view"))
    stores.same_dtype(
        e, source.view.dtype, view.dtype, f"`{view.tensor.name}`", call.where("source")
    )
    unify_dims(e, source.view.dims, view.dims, call.span)
    if view.tensor.name not in e.program.outputs:
        e.program.outputs.append(view.tensor.name)
    e.emit(CopyOut(view, e.use_shared(source.view), span=call.span))
    e.emit(CopyOutCommit(span=call.span))
    return NOTHING


@builtin("tma_store_wait")
def tma_store_wait(call: BoundCall) -> Value:
    """Wait for TMA stores."""
    pending = call.int("pending", 0)
    if not 0 <= pending <= 63:
        raise call.wrong("pending", "`pending` is 0 to 63")
    call.e.emit(CopyOutWait(pending, call.flag("read", True), span=call.span))
    return NOTHING
