"""Coordinates of a global view's elements as components: uniform base plus array.

Splits an expression over tile axes into what is uniform and what differs from element
to element. Coordinates that are no such sum (a map that divides by a run-time size) are
not split; an element outside such a map is its fill by definition, so no obligation
needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, symbols
from argus.ir.memory import GlobalView
from argus.verify.tags.loops import close
from argus.verify.tags.scope import PathScope
from argus.verify.tags.values import AbstractValue, Coord, Ints, Tag, Vague

__all__ = ["ViewCoordinates", "places", "split"]


@dataclass(frozen=True, eq=False)
class ViewCoordinates:
    """A view's elements: per tensor dimension, and per view axis; limits last.

    ``axes`` gives names of axes that are no dimension of the tensor (maps);
    ``indices`` has the elements of the index tiles that chose them, in order.
    """

    coords: tuple[Tag, ...]
    limits: tuple[tuple[Tag, Expr], ...]
    axes: dict[str, Tag]
    indices: tuple[AbstractValue, ...] = ()


def places(
    view: GlobalView,
    coordinate: Sequence[Ints],
    gathered: Mapping[str, Tag],
    scope: PathScope,
    env: Mapping[str, Expr],
) -> ViewCoordinates:
    """Where the elements at these tile coordinates are.

    ``gathered`` gives each gather symbol the integer that its index tile holds.
    """
    arrays = {f"%{i}": np.asarray(c, np.int64) for i, c in enumerate(coordinate)}
    shape = np.broadcast_shapes(*(c.shape for c in arrays.values())) if arrays else ()

    def part(e: Expr) -> Tag:
        if isinstance(e, Sym) and e.name in gathered:
            return gathered[e.name]
        if any(s.name in gathered for s in symbols(e)):
            return Vague("a coordinate computed from a gathered index")
        found = split(e, arrays, scope, env)
        if found is None:
            return Vague("a coordinate that is not affine in the tile")
        base, offs = found
        return Coord(base, np.broadcast_to(np.asarray(offs, np.int64), shape))

    coords = tuple(part(c) for c in view.coords)
    limits = tuple(
        (part(li.value), close(scope.world, li.extent, env)) for li in view.limits
    )
    axes: dict[str, Tag] = {}
    for axis, name in enumerate(view.dims):
        if name is None or name in view.tensor.dims:
            continue
        for li, (tag, _) in zip(view.limits, limits, strict=True):
            if {s.name for s in symbols(li.value) if s.kind == "axis"} == {f"%{axis}"}:
                axes[name] = tag
    return ViewCoordinates(coords, limits, axes)


def split(
    e: Expr, arrays: Mapping[str, Ints], scope: PathScope, env: Mapping[str, Expr]
) -> tuple[Expr, Ints | int] | None:
    """``e`` as base + offsets; None where it is no such sum."""
    if not any(s.name in arrays for s in symbols(e)):
        return close(scope.world, e, env), 0
    match e:
        case Sym(name=name):
            return Const(0), arrays[name]
        case Binary(op="+" | "-" as op, left=left, right=right):
            a, b = split(left, arrays, scope, env), split(right, arrays, scope, env)
            if a is None or b is None:
                return None
            offs = a[1] + b[1] if op == "+" else a[1] - b[1]
            return binary(op, a[0], b[0]), offs
        case Binary(op="*", left=left, right=Const(value=int(c))):
            a = split(left, arrays, scope, env)
            return None if a is None else (binary("*", a[0], c), a[1] * c)
        case Binary(op="*", left=Const(value=int(c)), right=right):
            a = split(right, arrays, scope, env)
            return None if a is None else (binary("*", a[0], c), a[1] * c)
        case Binary(op="//" | "%" as op, left=left, right=Const(value=int(c))):
            a = split(left, arrays, scope, env)
            if a is None:
                return None
            a = _without_constant(a[0], a[1], scope)
            if scope.difference(a[0] % c, Const(0)) != 0:
                return None
            if op == "%":
                return Const(0), a[1] % c
            return binary("//", a[0], c), a[1] // c
        case Const() | Binary() | Select():
            return None
        case _:
            assert_never(e)


def _without_constant(
    base: Expr, offs: Ints | int, scope: PathScope
) -> tuple[Expr, Ints | int]:
    """The same sum with the constant of the base among the offsets."""
    poly = scope.poly(base)
    constant = 0 if poly is None else poly.constant
    return binary("-", base, constant), offs + constant
