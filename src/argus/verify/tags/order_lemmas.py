"""Bijections from blocks and iterations to tiles, recognised by their form.

The lemmas (all variables are integers):

    strided    i in [0, G), j in [0, ceil((W - i) / G))  <->  i + j*G in [0, W)
               (a persistent loop: every G-th tile)
    digits     v in [0, A*X)  <->  (v // X, v % X) in [0, A) x [0, X)
    grouped    v in [0, R*C), per = C*G, g = v // per, rows = min(R - g*G, G):
               v  <->  (g*G + v % per % rows, v % per // rows) in [0, R) x [0, C)

Strided and digits are division with remainder. Grouped: group g holds the values of v
from g*per on, C*rows of them (C*G, or what is left of R*C), and inside the group
(in % rows, in // rows) is division with remainder by rows >= 1. The tests enumerate all
three on small grids.

A decomposition replaces subexpressions by fresh variables with known ranges. What is
not of these forms stays as it is, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    factors_of,
    select,
    subexpressions,
)
from argus.ir.program import CLUSTER_RANK
from argus.verify.tags.scope import Loop, PathScope

__all__ = ["Decomposed", "IndependentVariable", "decompose", "swapped"]


@dataclass(frozen=True)
class IndependentVariable:
    """An independent integer in [0, ``count``)."""

    sym: Sym
    count: Expr


@dataclass
class Decomposed:
    """Coordinates over independent variables that run over all their values."""

    coords: list[Expr]
    variables: list[IndependentVariable] = field(
        default_factory=list[IndependentVariable]
    )


def swapped(e: Expr, old: Expr, new: Expr) -> Expr:
    """``e`` with every occurrence of a subexpression replaced."""
    if e == old:
        return new
    match e:
        case Binary(op=op, left=a, right=b):
            left, right = swapped(a, old, new), swapped(b, old, new)
            return e if left is a and right is b else binary(op, left, right)
        case Select(cond=c, then=a, other=b):
            return select(swapped(c, old, new), swapped(a, old, new),
                          swapped(b, old, new))  # fmt: skip
        case Const() | Sym():
            return e
        case _:
            assert_never(e)


class _Names:
    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> Sym:
        self.count += 1
        return Sym(f"v.{self.count}", "loop")


def decompose(coords: list[Expr], scope: PathScope, grid: Expr) -> Decomposed | None:
    """The coordinates of a store over independent variables; None: not understood.

    ``grid`` is the number of clusters. Loops are those around the store.
    """
    world = scope.world
    names = _Names()
    found = Decomposed(list(coords))
    loops = list(scope.loops)
    work: tuple[Sym, Expr] = (world.index, grid)
    for loop in scope.loops:
        strided = _strided(loop, scope)
        if strided is not None:
            v = names.fresh()
            found.coords = [swapped(c, loop.value, v) for c in found.coords]
            work = (v, strided)
            loops.remove(loop)
            break
    for loop in loops:
        trips = loop.trips
        if any(world.depends(trips, s.sym) for s in scope.loops):
            return None
        found.variables.append(IndependentVariable(loop.sym, trips))
    if world.cluster > 1:
        found.variables.append(IndependentVariable(CLUSTER_RANK, Const(world.cluster)))
    _split(work[0], work[1], found, scope, names)
    used = {work[0].name} | {x.name for x in (world.index, world.count)}
    kept = {v.sym.name for v in found.variables}
    for c in found.coords:
        for s in world.all_symbols(c):
            if s.name in used - kept:
                return None
    return found


def _strided(loop: Loop, scope: PathScope) -> Expr | None:
    """The number of tiles of a persistent loop: its value is index + it * count."""
    world = scope.world
    form = binary("+", world.index, loop.sym * world.count)
    if scope.difference(loop.value, form) != 0:
        return None
    match loop.trips:
        case Binary(
            op="//",
            left=Binary(op="+", left=Binary(op="-", left=work, right=i), right=r),
            right=g,
        ) if i == world.index and g == world.count and r == binary("-", g, 1):
            return work
        case Binary(op="max", left=inner, right=Const(value=0)):
            return _strided(Loop(loop.sym, inner, loop.name, loop.value), scope)
        case Const() | Sym() | Binary() | Select():
            return None
        case _:
            assert_never(loop.trips)


def _split(
    v: Sym, count: Expr, found: Decomposed, scope: PathScope, names: _Names
) -> None:
    """Take a variable apart into digits, as the coordinates use it."""
    grouped = _grouped(v, count, found, scope, names)
    if grouped:
        return
    divisor = next(
        (d for c in found.coords for d in _divisors(c, v)),
        None,
    )
    if divisor is None:
        found.variables.append(IndependentVariable(v, count))
        return
    high = _cofactor(count, divisor, scope)
    if high is None:
        found.variables.append(IndependentVariable(v, count))
        return
    a, b = names.fresh(), names.fresh()
    for old, new in ((v // divisor, a), (v % divisor, b)):
        found.coords = [swapped(c, old, new) for c in found.coords]
    _split(a, high, found, scope, names)
    _split(b, divisor, found, scope, names)


def _divisors(e: Expr, v: Sym) -> Iterator[Expr]:
    for part in subexpressions(e):
        match part:
            case Binary(op="//" | "%", left=x, right=d) if x == v:
                yield d
            case Const() | Sym() | Binary() | Select():
                pass
            case _:
                assert_never(part)


def _cofactor(count: Expr, divisor: Expr, scope: PathScope) -> Expr | None:
    """Count // divisor, where count is a product with the divisor as a factor."""
    factors = factors_of(count)
    for i, f in enumerate(factors):
        if f == divisor or scope.difference(f, divisor) == 0:
            rest = factors[:i] + factors[i + 1 :]
            total: Expr = Const(1)
            for x in rest:
                total = binary("*", total, x)
            return total
    return None


def _grouped(
    v: Sym, count: Expr, found: Decomposed, scope: PathScope, names: _Names
) -> bool:
    """The grouped order, recognised by the form of both coordinates."""
    for c in found.coords:
        for at in subexpressions(c):
            match at:
                case Binary(
                    op="//",
                    left=Binary(op="%", left=x, right=per) as inside,
                    right=Binary(
                        op="min", left=least, right=Const(value=int(size))
                    ) as rows,
                ) if x == v:
                    pass
                case Const() | Sym() | Binary() | Select():
                    continue
                case _:
                    assert_never(at)
            columns = _cofactor(per, Const(size), scope) if size > 1 else per
            if columns is None:
                continue
            total = _cofactor(count, columns, scope)
            if total is None:
                continue
            first = binary("*", v // per, size)
            left = binary("-", total, first)
            if scope.difference(least, left) != 0:
                continue
            p, q = names.fresh(), names.fresh()
            row = binary("+", first, binary("%", inside, rows))
            found.coords = [swapped(swapped(e, row, p), at, q) for e in found.coords]
            found.variables += [
                IndependentVariable(p, total),
                IndependentVariable(q, columns),
            ]
            return True
    return False
