"""Do whole numbers fit their types? Terms take them for unbounded integers.

Indices are bounded by what a launch requires of sizes (`argus.codegen.overflow`). Where
that refuses sizes which are small, equality "for all sizes" would say little: it is not
claimed. What is multiplied with entries of a table is not bounded by sizes at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import assert_never

from argus.codegen.overflow import WHY
from argus.diagnostics import Span
from argus.equivalence.programs import Programs
from argus.equivalence.sizes import (
    environment,
    free_sizes,
    shapes_of,
    with_others_small,
)
from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, holds, subexpressions, symbols
from argus.ir.program import LaunchRequirement, Program
from argus.ir.walk import expressions, used, walk
from argus.terms import Integer, Unknown
from argus.verify.denotation import Denotation
from argus.verify.numbers.in_floats import inexact_decision
from argus.verify.numbers.wholes import Overflow, overflow
from argus.verify.tile_bounds import definitions_of, fits

__all__ = [
    "Inexact",
    "RefusedSize",
    "inexact_number",
    "refused_size",
    "require_exact",
    "require_fitting",
    "table_products",
]

_LARGE = 1 << 20
"""A size that is not small, alone: beside it all others are as small as they can be."""
_ELEMENTS = 1 << 28
"""Elements of a tensor that is not large."""
_TOGETHER = 1 << 16
"""A size of each of two dimensions that are not small together."""
_SIZES = {"dim", "stride", "param"}
"""Kinds of symbols that a launch chooses."""
_CONSTANT = 1 << 31
"""A constant with which entries of 32 bits have a product of 64 bits."""
_WIDE = ("i32", "i64")
_PRODUCTS = ("mul", "fma", "power", "shl")


@dataclass(frozen=True)
class RefusedSize:
    """``sizes`` that a launch refuses since ``cond`` does not hold there."""

    sizes: Mapping[str, int]
    cond: Expr
    span: Span


def refused_size(programs: Programs) -> tuple[str, RefusedSize] | None:
    """The least size that a launch refuses, though all tensors are small; or None.

    With the dimension that is large, one at a time: the others are as small as they can
    be.
    """
    for dim in free_sizes(programs.tile) if programs.index_bounds else ():
        low, high = 0, 1
        found = None
        while high <= _LARGE and found is None:
            low, high = high, 2 * high
            found = _refused_and_small(programs, {dim: high})
        while found is not None and low + 1 < high:
            middle = (low + high) // 2
            less = _refused_and_small(programs, {dim: middle})
            low, high = (low, middle) if less is not None else (middle, high)
            found = less or found
        if found is not None:
            return dim, found
    return None


def _refused_and_small(
    programs: Programs, large: Mapping[str, int]
) -> RefusedSize | None:
    found = _refused(programs.tile, programs.index_bounds, large)
    if found is None:
        return None
    elements = (prod(s) for s in shapes_of(programs.tile, found.sizes).values())
    return found if max(elements, default=0) <= _ELEMENTS else None


def require_fitting(programs: Programs) -> None:
    """Raises Unknown where whole numbers may not fit their types."""
    program, bounds = programs.tile, programs.index_bounds
    for op in table_products(program):
        reason = "a product with entries of a table may not fit 32 bits"
        raise Unknown(reason, op.span)
    lines = _flat_lines(program)
    flat = [b for b in bounds if b.span.line in lines]
    free = free_sizes(program)
    for dim in free:
        _require(program, bounds, {dim: _LARGE})
    for two in combinations(free, 2):
        _require(program, flat, dict.fromkeys(two, _TOGETHER))


def _require(
    program: Program, bounds: Sequence[LaunchRequirement], large: Mapping[str, int]
) -> None:
    """Raises Unknown where a launch refuses these sizes beside small ones."""
    found = _refused(program, bounds, large)
    if found is not None:
        said = " and ".join(f"{dim} = {found.sizes[dim]}" for dim in large)
        raise Unknown(f"a launch refuses {said}, since {WHY}", found.span)


def _refused(
    program: Program, bounds: Sequence[LaunchRequirement], large: Mapping[str, int]
) -> RefusedSize | None:
    """What refuses sizes that are large, beside others as small as they can be.

    None also where the kernel's own requirements keep them small.
    """
    sizes = with_others_small(program, large, 1)
    if sizes is None or any(sizes[dim] < n // 2 for dim, n in large.items()):
        return None
    env = environment(program, sizes, {})
    for bound in bounds:
        try:
            if not holds(bound.cond, env):
                return RefusedSize(sizes, bound.cond, bound.span)
        except KeyError:
            continue  # it is about a scalar argument
    return None


def _flat_lines(program: Program) -> set[int]:
    """Lines at which an index is multiplied with a size: an index of elements.

    Tensors of two dimensions may have more than 2**31 elements; how many tiles there
    are, which is a product of sizes alone, is limited by what a grid may have.
    """
    return {
        op.span.line
        for op in walk(program.body)
        for e in expressions(op)
        for part in subexpressions(e)
        if isinstance(part, Binary) and part.op == "*" and _is_flat(part)
    }


def _is_flat(e: Binary) -> bool:
    left, right = ({s.kind for s in symbols(x)} for x in (e.left, e.right))
    return ("dim" in left and bool(right - _SIZES)) or (
        "dim" in right and bool(left - _SIZES)
    )


class Inexact(Unknown):
    """A whole number that its type does not hold at ``sizes``, if they are known."""

    def __init__(self, found: Overflow) -> None:
        known = found.sample or {}
        self.sizes = {v.name: n for v, n in known.items() if v.upper is None}
        at = ", ".join(f"{name} = {n}" for name, n in self.sizes.items())
        number = found.number
        free = found.where.variables() | (
            number.variables()
            if isinstance(number, Integer)
            else number.free_variables()
        )
        names = sorted(v.name for v in free if v.upper is None and v.lower is not None)
        self.samples = (
            (self.sizes,) if self.sizes else tuple({n: _TOGETHER} for n in names)
        )
        """Sizes at which a run should look; where none is known, one is large."""
        dtype = found.dtype
        type_ = "32 bits" if dtype.name == "i32" else dtype
        held = f"{dtype} may not hold" if dtype.is_float else f"does not fit {type_}"
        self.decides = dtype.is_float
        """Whether it is one of a float, by which the program decides."""
        said = f"{held} {number}" if dtype.is_float else f"{number} {held}"
        if found.most is not None:
            said = f"what may be {found.most} {held}"
        reason = said + (f" at {at}" if at else "")
        super().__init__(reason, found.span)


def inexact_number(program: Program, found: Denotation) -> Inexact | None:
    """A whole number of a tile that may wrap, or be rounded and decide.

    ``program``: the tile program whose terms are ``found``.
    """
    made = overflow(found) or inexact_decision(program, found)
    return None if made is None else Inexact(made)


def require_exact(program: Program, found: Denotation) -> None:
    """Raises Unknown where there is an `inexact_number`."""
    made = inexact_number(program, found)
    if made is not None:
        raise made


def table_products(program: Program) -> list[o.Elementwise]:
    """Products with entries of a table, element by element, that no size bounds.

    Those of 64 bits with a constant are left out: they are taken to fit.
    """
    definitions = definitions_of(program)
    data: set[o.Tile] = set()
    before = -1
    while len(data) > before:
        before = len(data)
        for op in walk(program.body):
            _follow(op, data)
    return [
        op
        for op in walk(program.body)
        if isinstance(op, o.Elementwise)
        and op.fn in _PRODUCTS
        and op.result in data
        and not any(_is_unit(a) for a in op.args)
        and not _fits(op)
        and not fits(definitions, op)
    ]


def _follow(op: o.AnyOp, data: set[o.Tile]) -> None:
    """Add the tiles of whole numbers that an operation makes of entries of tables."""
    match op:
        case o.LoadGlobal() | o.LoadShared():
            if op.result.dtype.name in _WIDE:
                data.add(op.result)
        case o.RegisterOp():
            if op.result.dtype.name in _WIDE and not data.isdisjoint(used(op)):
                data.add(op.result)
        case o.For():
            for carry in op.tiles:
                if carry.init in data or carry.yielded in data:
                    data.update((carry.arg, carry.result))
        case o.If():
            for merge in op.tiles:
                if merge.then in data or merge.other in data:
                    data.add(merge.result)
        case (
            o.Roles() | o.Binding() | o.Dot() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            pass  # it makes no tile of whole numbers of tiles
        case _:
            assert_never(op)


def _fits(op: o.Elementwise) -> bool:
    """Whether a product is taken to fit: one of 64 bits with a constant.

    References compute in 64 bits, too, so that what wraps there is the same number.
    """
    return op.result.dtype.name == "i64" and any(
        isinstance(a, Const) and abs(a.value) <= _CONSTANT for a in op.args
    )


def _is_unit(arg: o.Tile | Expr) -> bool:
    return isinstance(arg, Const) and arg.value in (-1, 0, 1)
