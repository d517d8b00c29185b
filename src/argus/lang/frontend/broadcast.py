"""How operands of an element-wise operation meet: by dimension name.

    (M=128, N=64) + (N=64)       the second is repeated along M
    (_=128, N=64) + (M=128, N=64)  the name M wins
    (M=128, N=64) + (N=64, M=128)  an error: transpose one of them
    (M=128, N=64) + (_=64)       an error: the axis could be either

While a loop body is read for the first time, axes of carried tiles may not have their
names yet. An operand of lower rank is then placed by its sizes (a guess), and the body
is read again once the names are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.diagnostics import ArgusError, Span
from argus.ir.ops import Broadcast, Tile
from argus.lang.frontend.state import Dims, Elaborator
from argus.lang.frontend.values import axes_text

Shape = tuple[int, ...]


def unify_dims(
    e: Elaborator, a: Dims, b: Dims, span: Span, code: str = "AG0218"
) -> Dims:
    """Names of axes that meet by position; an unnamed axis takes the other's name."""
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None and x != y:
            swapped = len(a) >= 2 and (*a[:-2], a[-1], a[-2]) == b
            raise e.fail(
                code,
                span,
                f"dimension `{x}` meets dimension `{y}`",
                notes=(f"left: {_names(a)}; right: {_names(b)}",),
                help="transpose one of them with `.T`"
                if swapped
                else f'if they are the same, say so: `ag.rename(x, "{_text(a)}")`',
            )
    united = tuple(x or y for x, y in zip(a, b, strict=True))
    named = [d for d in united if d is not None]
    for name in named:
        if named.count(name) > 1:
            raise e.fail("AG0207", span, f"dimension `{name}` appears twice")
    return united


def _names(dims: Dims) -> str:
    return "(" + ", ".join(d or "_" for d in dims) + ")"


def _text(dims: Dims) -> str:
    return " ".join(d or "_" for d in dims)


def placement(
    e: Elaborator, small: Tile, dims: Dims, shape: Shape, span: Span
) -> tuple[int, ...]:
    """Axes of (dims, shape) that a tile of lower rank lies along."""
    axes: list[int] = []
    for name, size in zip(small.dims, small.shape, strict=True):
        axis = dims.index(name) if name is not None and name in dims else None
        if axis is None:
            if e.tentative and None in (*dims, name):
                free = [
                    i
                    for i, n in enumerate(shape)
                    if n == size and i not in axes and (dims[i] is None or name is None)
                ]
                if free:
                    e.guesses += 1
                    axes.append(free[0])
                    continue
            raise _no_place(e, small, name, dims, shape, span)
        if shape[axis] != size:
            raise e.fail(
                "AG0201",
                span,
                f"dimension `{name}` has {size} elements on one side and "
                f"{shape[axis]} on the other",
                help="`ag.broadcast` repeats a tile; an extent of 1 is not repeated"
                if size == 1
                else None,
            )
        axes.append(axis)
    if axes != sorted(axes):
        raise e.fail(
            "AG0218",
            span,
            f"dimensions {_names(small.dims)} are in another order than in "
            f"{_names(dims)}",
            help="transpose one of them with `.T`",
        )
    return tuple(axes)


def _no_place(
    e: Elaborator, small: Tile, name: str | None, dims: Dims, shape: Shape, span: Span
) -> ArgusError:
    left = axes_text(small.dims, small.shape)
    right = axes_text(dims, shape)
    if name is None:
        message = f"it is not known along which dimension {left} meets {right}"
        help = f'name its axis, for instance `ag.rename(x, "{dims[-1] or "N"}")`'
    else:
        message = f"{right} has no dimension `{name}`"
        help = "name its axes with `ag.rename` or `dims=`" if None in dims else None
    return e.fail("AG0201", span, message, help=help)


def meet(
    e: Elaborator, tiles: Sequence[Tile], span: Span
) -> tuple[list[Tile], Shape, Dims]:
    """Tiles repeated to one common shape, that shape, and its names."""
    lead = max(tiles, key=lambda t: len(t.shape))
    shape, dims = lead.shape, lead.dims
    for t in tiles:
        if len(t.shape) == len(shape):
            dims = unify_dims(e, dims, t.dims, span)
            if t.shape != shape:
                raise e.fail(
                    "AG0201",
                    span,
                    f"{axes_text(lead.dims, lead.shape)} and "
                    f"{axes_text(t.dims, t.shape)} do not go together",
                    help="`ag.broadcast(x, like)` repeats a tile",
                )
    made: list[Tile] = []
    for t in tiles:
        if len(t.shape) == len(shape):
            made.append(t)
            continue
        made.append(_repeat(e, t, shape, dims, span))
    return made, shape, dims


def repeat(e: Elaborator, t: Tile, shape: Shape, dims: Dims, span: Span) -> Tile:
    """A tile repeated over the axes that it lacks; itself where it lacks none."""
    if len(t.shape) == len(shape):
        unify_dims(e, dims, t.dims, span)
        if t.shape != shape:
            raise e.fail(
                "AG0201",
                span,
                f"{axes_text(t.dims, t.shape)} cannot be repeated to "
                f"{axes_text(dims, shape)}",
            )
        return t
    return _repeat(e, t, shape, dims, span)


def _repeat(e: Elaborator, t: Tile, shape: Shape, dims: Dims, span: Span) -> Tile:
    if len(t.shape) > len(shape):
        raise e.fail(
            "AG0201",
            span,
            f"{axes_text(t.dims, t.shape)} cannot be repeated to "
            f"{axes_text(dims, shape)}, which has fewer axes",
        )
    axes = placement(e, t, dims, shape, span)
    result = Tile(t.dtype, shape, dims, span, name=t.name)
    e.emit(Broadcast(result, t, axes, span=span))
    return result
