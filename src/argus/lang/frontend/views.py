"""Slices of tensors as `GlobalView`s: coordinates, gathers, limits, sizes."""

from __future__ import annotations

from typing import assert_never

from argus.diagnostics import Span
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    axis,
    binary,
    substitute,
    symbols,
)
from argus.ir.memory import GatheredAxis, GlobalView, Limit
from argus.ir.ops import LoadGlobal, LoadScalar, Tile
from argus.ir.ranges import Range, Ranges
from argus.lang.frontend.state import Elaborator
from argus.lang.frontend.tiles import scalar_holds
from argus.lang.frontend.values import (
    Gathered,
    PointIndex,
    StaticValue,
    TileValue,
    Value,
    ViewValue,
    Window,
    counted,
    number,
)


def load_element(e: Elaborator, view: ViewValue, span: Span) -> Value:
    """One element of a tensor as a uniform scalar; what none holds is a tile ().

    Raises ArgusError (AG0615) for an element of a map, which may not exist.
    """
    source = view.source
    if source.holes is not None:
        raise e.fail(
            "AG0615",
            span,
            "a single element of a map cannot be read as a number",
            help="index the tensor itself, or load a slice of the map",
        )
    tensor = source.tensor
    if tensor.dtype.kind == "bool":
        raise e.fail("AG0107", span, "a bool cannot be read as a number")
    if not scalar_holds(tensor.dtype):
        place = global_view(e, view, (), span)
        tile = e.tile(tensor.dtype, (), (), span)
        zero = Const(0.0) if tensor.dtype.is_float else Const(0)
        e.emit(LoadGlobal(tile, place, zero, None, None, span=span))
        return TileValue(tile)
    kind = "float" if tensor.dtype.is_float else "int"
    sym = Sym(e.fresh(tensor.name.lower()), "let", kind, nonneg=False)
    coords = tuple(a.at for a in view.axes if isinstance(a, PointIndex))
    return number(e.bind(LoadScalar(sym, tensor, coords, span=span)))


def view_shape(
    e: Elaborator, view: ViewValue, context: tuple[int, ...] | None, span: Span
) -> tuple[int, ...]:
    """Sizes of the tile of a slice, from the slice itself and from its context.

    Raises ArgusError: an open size without a context (AG0108), or one that contradicts
    it (AG0206).
    """
    kept = view.kept
    if context is not None and len(context) != len(kept):
        raise e.fail(
            "AG0206",
            span,
            f"the slice has {counted(len(kept), 'axis', 'axes')}, and the tile has "
            f"{len(context)}",
        )
    sizes: list[int] = []
    for i, a in enumerate(kept):
        own = a.index.shape[0] if isinstance(a, Gathered) else a.extent
        wanted = context[i] if context is not None else None
        if own is not None and wanted is not None and own != wanted:
            raise e.fail(
                "AG0206",
                span,
                f"the slice has {own} elements along `{a.dim or i}`, and the tile "
                f"has {wanted}",
            )
        size = own if own is not None else wanted
        if size is None:
            raise e.fail(
                "AG0108",
                span,
                f"it is not known how many elements are taken along `{a.dim or i}`",
                help="give the sizes: `ag.load(view, (BM, BK))`, or write `a : a + N`",
            )
        sizes.append(size)
    return tuple(sizes)


def completed(view: ViewValue, like: Tile | None) -> tuple[int, ...] | None:
    """Sizes of a slice of which those that are open are a tile's; None: as they are."""
    kept = view.kept
    if like is None or len(like.shape) != len(kept):
        return None
    own = (a.index.shape[0] if isinstance(a, Gathered) else a.extent for a in kept)
    return tuple(
        n if size is None else size for size, n in zip(own, like.shape, strict=True)
    )


def global_view(
    e: Elaborator, view: ViewValue, context: tuple[int, ...] | None, span: Span
) -> GlobalView:
    """The slice with its sizes resolved; see `view_shape` for what is raised."""
    shape = view_shape(e, view, context, span)
    source = view.source
    coords: list[Expr] = []
    gathers: list[GatheredAxis] = []
    position = 0
    for a in view.axes:
        match a:
            case PointIndex(at=at):
                coords.append(at)
                continue
            case Window(start=start):
                coords.append(binary("+", start, axis(position)))
            case Gathered(index=index):
                sym = Sym(e.fresh("row"), "gather", nonneg=False)
                gathers.append(GatheredAxis(sym, index, position))
                coords.append(sym)
        position += 1
    limits = tuple(
        Limit(coord, a.stop)
        for a, coord in zip(view.axes, coords, strict=True)
        if isinstance(a, Window) and a.stop is not None
    )
    if source.holes is not None:
        env = {h.name: c for h, c in zip(source.holes, coords, strict=True)}
        ranges = _of_axes(shape)
        mapped = [_digits(substitute(c, env), ranges) for c in source.coords]
        wanted = dict.fromkeys(map(Limit, coords, source.extents))
        for x in source.limits:
            value = _digits(substitute(x.value, env), ranges)
            wanted[Limit(value, x.extent)] = None
        bounded = {*map(Limit, mapped, source.tensor.shape)}
        limits += tuple(
            x
            for x in wanted
            if x not in bounded and not _inside(x.value, x.extent, shape)
        )
        coords = mapped
    return GlobalView(
        source.tensor,
        shape,
        tuple(a.dim for a in view.kept),
        tuple(coords),
        tuple(gathers),
        limits,
    )


def _inside(coord: Expr, extent: Expr, shape: tuple[int, ...]) -> bool:
    """Whether a coordinate of a tile of this shape is always inside of an extent."""
    found = _range(coord, _of_axes(shape))
    if found is None or min(shape, default=1) < 1:
        return False
    low, high = found
    match number(extent):
        case StaticValue(value=int() as n):
            return low >= 0 and high < n
        case _:
            return False


def _of_axes(shape: tuple[int, ...]) -> dict[str, Range]:
    return {axis(i).name: (0, size - 1) for i, size in enumerate(shape)}


def _range(e: Expr, axes: dict[str, Range]) -> Range | None:
    """What an expression over axes alone comes to."""
    known = all(s.name in axes for s in symbols(e))
    return Ranges(axes).of(e) if known else None


def _digits(coord: Expr, axes: dict[str, Range]) -> Expr:
    """A coordinate without quotients by what a tile begins at a multiple of.

    ``(h * 64 + i) // 64`` is h of a tile of 64, and the remainder i.
    """
    match coord:
        case Binary(op="//" | "%" as op, left=left, right=Const(value=int() as by)) if (
            by > 0
        ):
            whole, rest = _split(_digits(left, axes), by)
            within = _range(rest, axes)
            if within is not None and within[0] >= 0 and within[1] < by:
                return whole if op == "//" else rest
            return coord
        case Binary(op=op, left=left, right=right):
            return binary(op, _digits(left, axes), _digits(right, axes))
        case Const() | Sym() | Select():
            return coord
        case _:
            assert_never(coord)


def _split(e: Expr, by: int) -> tuple[Expr, Expr]:
    """(q, r) with e = q * by + r, where terms of the sum are multiples."""
    match e:
        case Binary(op="+" | "-" as op, left=left, right=right):
            (q, r), (p, s) = _split(left, by), _split(right, by)
            return binary(op, q, p), binary(op, r, s)
        case Binary(op="*", left=left, right=Const(value=int() as n)) if n % by == 0:
            return binary("*", left, n // by), Const(0)
        case Const(value=int() as n) if n % by == 0:
            return Const(n // by), Const(0)
        case Const() | Sym() | Binary() | Select():
            return Const(0), e
        case _:
            assert_never(e)
