"""Questions about global views that decide which instruction can serve them."""

from dataclasses import dataclass
from typing import assert_never

from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    axis,
    binary,
    evaluate,
    substitute,
    symbols,
)
from argus.ir.memory import GlobalView


@dataclass(frozen=True, slots=True)
class BoxAxis:
    """How a coordinate of a tile runs, from ``start``: as a box of the tensor does.

    Element i along the tile's ``axis`` is ``i // inner % extent`` elements of the box
    behind its first, which lie ``step`` apart. A fixed coordinate has no axis.
    """

    start: Expr
    axis: int | None = None
    extent: int = 1
    inner: int = 1
    step: int = 1


def box_axes(view: GlobalView) -> list[BoxAxis] | None:
    """How each coordinate runs, or None where a tile is no box of the tensor.

    Coordinates that run along one axis of the tile are its digits, the last one
    fastest, and those along the first axis come first.
    """
    found: list[BoxAxis] = []
    inner = [1] * len(view.shape)
    for coord in reversed(view.coords):
        one = _box_axis(coord, view.shape, inner)
        if one is None:
            return None
        found.append(one)
        if one.axis is not None:
            inner[one.axis] *= one.extent
    return found[::-1] if inner == [*view.shape] else None


def _box_axis(coord: Expr, shape: tuple[int, ...], inner: list[int]) -> BoxAxis | None:
    """Of a coordinate, with so many elements of each axis in later ones."""
    start, moving = _parts(coord)
    names = {s.name for s in symbols(moving)}
    if not is_uniform(start):
        return None
    if not names:
        return BoxAxis(binary("+", start, moving))
    along = [i for i in range(len(shape)) if axis(i).name in names]
    if len(names) > 1 or len(along) != 1:
        return None
    (i,) = along
    if moving == axis(i):
        whole = BoxAxis(start, i, shape[i])
        return whole if inner[i] == 1 else None
    at = [int(evaluate(moving, {axis(i).name: n})) for n in range(shape[i])]
    first, extent = min(at), len(set(at))
    step = (max(at) - first) // (extent - 1) if extent > 1 else 1
    wanted = (first + n // inner[i] % extent * step for n in range(shape[i]))
    if any(n != w for n, w in zip(at, wanted, strict=True)):
        return None
    return BoxAxis(binary("+", start, first), i, extent, inner[i], step)


def _parts(coord: Expr) -> tuple[Expr, Expr]:
    """A sum as what is the same for all of a tile, and the rest."""
    match coord:
        case Binary(op="+" | "-", left=a, right=b):
            (x, u), (y, v) = _parts(a), _parts(b)
            return binary(coord.op, x, y), binary(coord.op, u, v)
        case Const() | Sym() | Binary() | Select():
            moves = any(s.kind == "axis" for s in symbols(coord))
            return (Const(0), coord) if moves else (coord, Const(0))
        case _:
            assert_never(coord)


def contiguous_axis(view: GlobalView) -> int | None:
    """The tile axis along which neighbouring elements are neighbours in memory."""
    last = view.coords[-1]
    for i in range(len(view.shape)):
        elsewhere = any(uses_axis(c, i) for c in view.coords[:-1])
        if not elsewhere and axis_start(last, i) is not None:
            return i
    return None


def uses_axis(coord: Expr, i: int) -> bool:
    """True when ``coord`` depends on tile axis ``i``."""
    return any(s.name == f"%{i}" for s in symbols(coord))


def is_uniform(coord: Expr) -> bool:
    """True when ``coord`` depends on no tile axis and no gathered index."""
    return all(s.kind not in ("axis", "gather") for s in symbols(coord))


def axis_start(coord: Expr, i: int) -> Expr | None:
    """The uniform ``start`` when ``coord`` is ``start + axis(i)``, else None."""
    if _coefficient(coord, f"%{i}") != 1:
        return None
    start = substitute(coord, {f"%{i}": Const(0)})
    return start if is_uniform(start) else None


def _coefficient(e: Expr, name: str) -> int | None:
    """Coefficient of a symbol in a sum, or None when it occurs in another way."""
    match e:
        case Sym(name=n):
            return int(n == name)
        case Const():
            return 0
        case Binary(op="+" | "-", left=a, right=b):
            x, y = _coefficient(a, name), _coefficient(b, name)
            if x is None or y is None:
                return None
            return x + y if e.op == "+" else x - y
        case Binary() | Select():
            return None if any(s.name == name for s in symbols(e)) else 0
        case _:
            assert_never(e)
