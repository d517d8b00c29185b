"""Tiles that loops move by whole tiles: an element has one place in all of them.

    for n in ag.range(0, N, BN):
        total += ag.load(X[i, n:], (BN,))
    for n in ag.range(0, N, BN):
        X[i, n:] = ag.load(X[i, n:], (BN,)) / total

Element X[i, k] is at k % BN of its tile, in whichever iteration of either loop. So
where one thread alone accesses each place of a tile, it alone accesses the element, and
in the order of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.ir import ops as o
from argus.ir.expr import Const, Expr, Sym, axis, binary, substitute, symbols
from argus.verify.decide import equal
from argus.verify.verdict import Verdict

if TYPE_CHECKING:
    from argus.verify.order.in_place import GlobalAccess

__all__ = ["FIXED", "closed", "steady"]

FIXED = frozenset({"dim", "stride", "param", "block", "rank"})
"""Kinds of symbols that have one value in a block."""

Form = tuple[object, ...]


def steady(access: GlobalAccess) -> Form | None:
    """What is the same of two accesses of which each element has the same place.

    They are of the same elements, too, all iterations together. None: of this one not
    each element is known to have one place.
    """
    view = access.view
    if view is None or view.gathers:
        return None
    limits = [e for x in view.limits for e in (x.value, x.extent)]
    every = [closed(e, access.lets) for e in (*view.coords, *limits)]
    moving = [
        loop
        for loop in access.loops
        if any(s.name == loop.var.name for e in every for s in symbols(e))
    ]
    ranges: list[tuple[Expr, ...]] = []
    for number, loop in enumerate(moving):
        ends = tuple(closed(e, access.lets) for e in (loop.start, loop.stop, loop.step))
        if not _moves_by_tiles(loop, ends[2], every[: len(view.coords)], view.shape):
            return None
        name = {loop.var.name: Sym(f"moved {number}", "block")}
        every = [substitute(e, name) for e in every]
        ranges.append(ends)
    said = (*every, *(e for ends in ranges for e in ends))
    if not {s.kind for e in said for s in symbols(e)} <= {*FIXED, "axis"}:
        return None
    return view.shape, tuple(every), tuple(ranges)


def closed(e: Expr, lets: dict[str, Expr]) -> Expr:
    """An expression with named scalars replaced by what they are."""
    while True:
        made = substitute(e, lets)
        if made == e:
            return e
        e = made


def _moves_by_tiles(
    loop: o.For, step: Expr, coords: Sequence[Expr], shape: Sequence[int]
) -> bool:
    """Whether a loop moves one coordinate by multiples of the tile along its axis."""
    name = loop.var.name
    moved = [c for c in coords if any(s.name == name for s in symbols(c))]
    if len(moved) != 1:
        return False
    (coord,) = moved
    along = [n for n in range(len(shape)) if axis(n).name in _names(coord)]
    if len(along) != 1:
        return False
    (number,) = along
    size = shape[number]
    steps = step.value if isinstance(step, Const) else None
    for factor in dict.fromkeys((1, size)):
        whole = factor % size == 0
        if not whole and not (isinstance(steps, int) and factor * steps % size == 0):
            continue
        rest = substitute(coord, {name: Const(0), axis(number).name: Const(0)})
        made = binary("+", binary("*", loop.var, factor), axis(number))
        if _same(coord, binary("+", rest, made)):
            return True
    return False


def _names(e: Expr) -> set[str]:
    return {s.name for s in symbols(e)}


def _same(left: Expr, right: Expr) -> bool:
    return left == right or equal(left, right).verdict is Verdict.PROVED
