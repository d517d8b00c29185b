"""Do whole numbers fit their types? Terms take them for unbounded integers.

Indices are bounded by what a launch requires of sizes (`argus.codegen.overflow`). Where
that refuses sizes which are small, equality "for all sizes" would say little: it is not
claimed. What is multiplied with entries of a table is bounded by what those may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from argus.codegen.overflow import WHY
from argus.diagnostics import Span
from argus.equivalence.programs import Programs
from argus.equivalence.sizes import (
    environment,
    free_sizes,
    shapes_of,
    with_others_small,
)
from argus.ir.expr import Binary, Expr, holds, subexpressions, symbols
from argus.ir.program import LaunchRequirement, Program
from argus.ir.walk import expressions, lets, walk
from argus.terms import Integer, Unknown
from argus.verify.denotation import Denotation
from argus.verify.numbers.in_floats import inexact_decision
from argus.verify.numbers.products import unbounded_product
from argus.verify.numbers.residues import without_residues
from argus.verify.numbers.wholes import Overflow, overflow

__all__ = [
    "Inexact",
    "RefusedSize",
    "inexact_number",
    "refused_size",
    "require_exact",
    "require_fitting",
]

_LARGE = 1 << 20
"""A size that is not small, alone: beside it all others are as small as they can be."""
_ELEMENTS = 1 << 28
"""Elements of a tensor that is not large."""
_TOGETHER = 1 << 16
"""A size of each of two dimensions that are not small together."""
_ALONE = 1 << 10
"""Of sizes that are larger one may be enough, beside small others."""
_SIZES = {"dim", "stride", "param"}
"""Kinds of symbols that a launch chooses."""


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
    if not bounds:
        return None
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
    named: dict[str, set[str]] = {}

    def kinds(e: Expr) -> set[str]:
        """Of what symbols it is made, through names of scalars."""
        return {k for s in symbols(e) for k in named.get(s.name, {s.kind})}

    for name, value in lets(program.body).items():
        named[name] = kinds(value)
    found: set[int] = set()
    for op in walk(program.body):
        parts = (part for e in expressions(op) for part in subexpressions(e))
        products = (x for x in parts if isinstance(x, Binary) and x.op == "*")
        if any(
            _is_flat(kinds(x.left), kinds(x.right))
            for x in products
            if not _divided_before(x)
        ):
            found.add(op.span.line)
    return found


def _divided_before(e: Binary) -> bool:
    """Whether it is ``x // n * n``, which is no larger than x."""
    return isinstance(e.left, Binary) and e.left.op == "//" and e.left.right == e.right


def _is_flat(left: set[str], right: set[str]) -> bool:
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
        # What is large for entries alone says nothing of sizes, and at the least ones
        # it may be padding that is too large.
        sized = 1 < max(self.sizes.values(), default=0) <= _ELEMENTS
        twice = {name: 2 * n if n > 1 else n for name, n in self.sizes.items()}
        large = [name for name, n in twice.items() if n > _ALONE]
        alone = [{name: twice[name]} for name in large if len(large) > 1]
        other = [{name: _TOGETHER} for name in names]
        self.samples = (self.sizes, *(alone or [twice])) if sized else tuple(other)
        """Sizes at which a run should look; where none is known, one is large."""
        dtype = found.dtype
        type_ = "32 bits" if dtype.name == "i32" else dtype
        held = f"{dtype} may not hold" if dtype.is_float else f"does not fit {type_}"
        self.decides = dtype.is_float
        """Whether it is one of a float, by which the program decides."""
        self.held = 1 << dtype.precision if dtype.is_float else 0
        """Up to here a float holds all whole numbers; 0 of another type."""
        said = f"{held} {number}" if dtype.is_float else f"{number} {held}"
        if found.most is not None:
            said = f"what may be {found.most} {held}"
        reason = said + (f" at {at}" if at else "")
        super().__init__(reason, found.span)


def inexact_number(program: Program, found: Denotation) -> Inexact | None:
    """A whole number of a tile that may wrap, or be rounded and decide.

    ``program``: the tile program whose terms are ``found``.
    """
    looked_at = without_residues(found, program)
    made = (
        overflow(looked_at)
        or unbounded_product(looked_at, program)
        or inexact_decision(program, found)
    )
    return None if made is None else Inexact(made)


def require_exact(program: Program, found: Denotation) -> None:
    """Raises Unknown where there is an `inexact_number`."""
    made = inexact_number(program, found)
    if made is not None:
        raise made
