"""The box that one instance of a store writes, and mixed-radix coordinates of boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.ir.expr import Const, Expr, Sym, binary, substitute
from argus.verify.tags.order_lemmas import Decomposed, IndependentVariable
from argus.verify.tags.scope import PathScope
from argus.verify.tags.state import WalkState
from argus.verify.tags.values import Ints
from argus.verify.verdict import Verdict

__all__ = ["Axis", "Patch", "dense_box", "laid_together", "local_patch",
           "radix"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Patch:
    """Instances write boxes at ``coords``; ``low`` and ``shape`` are the box's."""

    coords: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    low: tuple[int, ...]
    shape: tuple[int, ...]
    variables: tuple[IndependentVariable, ...]
    scope: PathScope
    extra: tuple[Expr, ...] = ()
    """Expressions of the sums that are added, over the variables."""


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of a store: base and offsets, and how far it reaches.

    A dimension whose place an index table gives counts entries of the table: ``base``
    is the entry, and there are no offsets.
    """

    base: Expr
    offs: Ints | None
    extent: Expr


def local_patch(
    axes: list[Axis], found: Decomposed, scope: PathScope, atomic: bool
) -> Patch | None:
    """The dense box of a store's elements, each written by one thread."""
    plain = [a.offs for a in axes if a.offs is not None]
    box = dense_box(plain, atomic)
    if box is None:
        return None
    low, shape = list(box[0]), list(box[1])
    for i, a in enumerate(axes):
        if a.offs is None:
            low.insert(i, 0)
            shape.insert(i, 1)
    renamed = _canonical(found)
    return Patch(
        tuple(renamed.coords[: len(axes)]),
        tuple(a.extent for a in axes),
        tuple(low),
        tuple(shape),
        tuple(renamed.variables),
        scope,
        tuple(renamed.coords[len(axes) :]),
    )


def dense_box(
    offsets: list[Ints], once: bool
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Lowest corner and shape, where the offsets are all of a box.

    ``once``: no element may occur twice (replicated threads of an atomic).
    """
    if not offsets:
        return (), ()
    full = np.broadcast_arrays(*offsets)
    low = tuple(int(a.min()) for a in full)
    shape = tuple(int(a.max()) - lo + 1 for a, lo in zip(full, low, strict=True))
    if int(np.prod(shape)) > full[0].size:
        return None
    flat = np.zeros(full[0].size, np.int64)
    for a, lo, n in zip(full, low, shape, strict=True):
        flat = flat * n + (a.ravel() - lo)
    seen = np.bincount(flat, minlength=int(np.prod(shape)))
    if not seen.all() or (once and seen.max() > 1):
        return None
    return low, shape


def _canonical(found: Decomposed) -> Decomposed:
    """Loop variables by position, so that roles with equal loops compare equal."""
    renaming: dict[str, Expr] = {}
    variables: list[IndependentVariable] = []
    for i, v in enumerate(found.variables):
        sym = Sym(f"x.{i}", "loop") if "@" in v.sym.name else v.sym
        renaming[v.sym.name] = sym
        variables.append(IndependentVariable(sym, v.count))
    coords = [substitute(c, renaming) for c in found.coords]
    return Decomposed(coords, variables)


def laid_together(patches: list[Patch], state: WalkState) -> Patch | None:
    """Patches that differ by constants as one patch; None where they do not fit."""
    first = patches[0]
    boxes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for p in patches:
        if [v.count for v in p.variables] != [v.count for v in first.variables]:
            return None
        shift: list[int] = []
        for a, b in zip(p.coords, first.coords, strict=True):
            apart = state.world.poly(binary("-", a, b))
            if apart is None or not apart.is_constant():
                return None
            shift.append(apart.constant)
        low = tuple(x + s for x, s in zip(p.low, shift, strict=True))
        boxes.append((low, p.shape))
    if not first.coords:
        return first
    low = tuple(min(b[0][d] for b in boxes) for d in range(len(first.coords)))
    high = tuple(
        max(b[0][d] + b[1][d] for b in boxes) for d in range(len(first.coords))
    )
    shape = tuple(h - lo for h, lo in zip(high, low, strict=True))
    count = np.zeros(shape, np.int64)
    for start, size in boxes:
        index = tuple(
            slice(s - lo, s - lo + n) for s, lo, n in zip(start, low, size, strict=True)
        )
        count[index] += 1
    if (count != 1).any():
        return None
    return replace(first, low=low, shape=shape)


def radix(
    patch: Patch, scope: PathScope, state: WalkState
) -> list[IndependentVariable] | str:
    """Variables that no coordinate uses; a text where it is no mixed-radix number.

    Coordinate d must be low + sum of coefficients times variables, in which the
    smallest coefficient is the box's size and each next one is the one before times its
    variable's count; the last one reaches the extent.
    """
    left = list(patch.variables)
    for d, e in enumerate(patch.coords):
        names = state.world.names(e)
        mine = [v for v in left if v.sym.name in names]
        start = patch.low[d]
        size: Expr = Const(patch.shape[d])
        rest = _coefficients(e, mine, state)
        if rest is None:
            return "a coordinate that is not linear in blocks and iterations"
        constant, coefficients = rest
        if constant is None or scope.difference(constant, Const(-start)) != 0:
            return "tiles that do not begin at 0"
        while mine:
            step = next(
                (
                    v
                    for v in mine
                    if scope.equal(coefficients[v.sym.name], size).verdict
                    is Verdict.PROVED
                ),
                None,
            )
            if step is None:
                return "tiles that do not lie side by side"
            mine.remove(step)
            left.remove(step)
            size = binary("*", size, step.count)
        if not scope.holds(binary(">=", size, patch.extents[d])):
            return "tiles that may not reach the end"
    return [v for v in left if not _single(v, scope)]


def _single(v: IndependentVariable, scope: PathScope) -> bool:
    return scope.holds(binary("==", v.count, 1))


def _coefficients(
    e: Expr, variables: list[IndependentVariable], state: WalkState
) -> tuple[Expr | None, dict[str, Expr]] | None:
    """Constant term and the coefficient of each variable; descending ones turned."""
    world = state.world
    found: dict[str, Expr] = {}
    current = e
    for v in variables:
        one, zero = Const(1), Const(0)
        step = binary(
            "-",
            world.replace(current, {v.sym.name: one}),
            world.replace(current, {v.sym.name: zero}),
        )
        linear = binary(
            "+",
            world.replace(current, {v.sym.name: zero}),
            binary("*", step, v.sym),
        )
        if state.scope.difference(current, linear) != 0:
            return None
        if state.scope.holds(binary("<", step, 0)):
            # v counts down: n - 1 - v counts up.
            turned = binary("-", binary("-", v.count, 1), v.sym)
            current = world.replace(current, {v.sym.name: turned})
            step = binary("-", 0, step)
        found[v.sym.name] = step
    constant = world.replace(current, {v.sym.name: Const(0) for v in variables})
    return constant, found
