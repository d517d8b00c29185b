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
    e: Elaborator,
    a: Dims,
    b: Dims,
    span: Span,
    code: str = "AG0218",
    *,
    place: bool = False,
) -> Dims:
    """Names of axes that meet by position; an unnamed axis takes the other's name.

    ``place``: the first are those of a slice that the second is stored to.
    """
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None and x != y:
            raise e.fail(
                code,
                span,
                f"dimension `{x}` meets dimension `{y}`",
                notes=(f"left: {_names(a)}; right: {_names(b)}",),
                help=_other_names(a, b, place),
            )
    united = tuple(x or y for x, y in zip(a, b, strict=True))
    named = [d for d in united if d is not None]
    for name in named:
        if named.count(name) > 1:
            raise e.fail("AG0207", span, f"dimension `{name}` appears twice")
    return united


def _names(dims: Dims) -> str:
    return "(" + ", ".join(d or "_" for d in dims) + ")"


def _other_names(a: Dims, b: Dims, place: bool) -> str:
    """What to write where names of axes that meet by position differ."""
    if len(a) >= 2 and (*a[:-2], a[-1], a[-2]) == b:
        return "transpose one of them: write `.T` behind it"
    if None not in a and sorted(map(str, a)) == sorted(map(str, b)):
        return f'bring the right one into order: `ag.permute(right, "{_text(a)}")`'
    if len(a) == len(b) == 1 and not place:
        return (
            "for each with each, repeat one of them over a tile that has both: "
            "`ag.broadcast(left, like)`; if both mean the same, write "
            f'`.rename("{_text(a)}")` behind the right one'
        )
    return (
        "elements meet by position; if both mean the same, write "
        f'`.rename("{_text(a)}")` behind the right one'
    )


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
                help=_other_sizes(size, shape[axis]),
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
    at = small.dims.index(name)
    fitting = [
        dim
        for dim, size in zip(dims, shape, strict=True)
        if size == small.shape[at] and dim is not None and dim not in small.dims
    ]
    names = list(small.dims)
    names[at] = fitting[-1] if fitting else (dims[-1] or "N")
    renamed = f'`.rename("{_text(tuple(names))}")`'
    if name is None:
        message = f"it is not known along which dimension {left} meets {right}"
        help = f"name its axes, for instance {renamed} behind it"
    elif None in dims:
        message = f"{right} has no dimension `{name}`"
        help = 'name its axes: `.rename("...")` behind it, or `dims=` where it is made'
    else:
        message = f"{right} has no dimension `{name}`"
        help = f"if it runs along `{names[at]}`, write {renamed} behind {left}"
        if not fitting:
            help = (
                f"no other dimension has {small.shape[at]} elements: reduce `{name}` "
                f'away, as in `ag.sum(x, "{name}")`, or load the other with it'
            )
    return e.fail("AG0201", span, message, help=help)


def _other_sizes(one: int, other: int) -> str:
    """What to write where sizes of a dimension differ."""
    if 1 in (one, other):
        return (
            "a size of 1 is not repeated: leave that axis out (index it by a number, "
            "or reduce it), and the tile is repeated along it by name"
        )
    part = f"0:{min(one, other)}"
    return f"load both with one size, or take a part of the larger: `x[:, {part}]`"


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
                    help=next(
                        _other_sizes(x, y)
                        for x, y in zip(shape, t.shape, strict=True)
                        if x != y
                    ),
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
