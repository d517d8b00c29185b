"""What is asked of isl's own sets, in a limited number of steps.

    with space.asking:
        rest = one.subtract(other)

What isl gives up on is Unknown (`Exhausted`). A question may take it minutes, in which
no clock of ours is looked at, so that each one is asked like this: what is not,
`tests/terms/test_isl_limits.py` finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from types import TracebackType

import islpy as isl

from argus.terms.integers import Comparison
from argus.terms.unknown import Exhausted

__all__ = [
    "PARAMETER",
    "STEPS",
    "STEPS_OF_DIFFERENCES",
    "STEPS_OF_SOLUTIONS",
    "Asking",
    "conjoined",
    "factors_of",
    "hull",
    "isl_number",
    "line",
    "linear",
    "parameters",
    "simplest",
]

PARAMETER = isl.dim_type.param
STEPS = 4_000_000
"""Steps that isl may take for one question: allocations of memory, as it counts them.

They do not depend on the machine, and so neither does what is answered. Equal sets of a
library kernel take two millions, in half a second.
"""
STEPS_OF_DIFFERENCES = 1_000_000
"""The same where conditions are solved for each piece: a step takes longer."""
STEPS_OF_SOLUTIONS = 50_000
"""The same for expressions of a variable, whose steps take longest: a second in all."""


class Asking:
    """A limit of steps in a context of isl: ``with`` it, a question is asked.

    Raises Exhausted where isl gives up. Inside of another, it counts from 0: the limit
    is of each question, and that there are not too many the clock says.
    """

    def __init__(self, context: isl.Context, steps: int) -> None:
        self._context, self._steps = context, steps
        self._around: list[int] = []
        """Limits that count again when a question is answered."""

    def __enter__(self) -> None:
        around = self._context.get_max_operations()
        self._around.append(around)
        if around != self._steps:
            self._context.set_max_operations(self._steps)
        self._context.reset_operations()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        around = self._around.pop()
        if around != self._steps:
            self._context.set_max_operations(around)
        self._context.reset_operations()
        if isinstance(error, isl.Error):
            reason = _reason(error, self._steps)
            raise Exhausted(f"isl gives up on a set: {reason}") from error


def _reason(error: isl.Error, steps: int) -> str:
    """Why isl gives up, without the place in its sources."""
    text = str(error)
    if "maximal number of operations exceeded" in text:
        return f"it takes more than {steps} steps"
    return text.partition(" failed: ")[2].partition(" in /")[0] or text


def simplest(value: isl.Set) -> isl.Set | bool:
    """A set without parameters that do not matter; True and False if it is plain."""
    if value.is_empty():
        return False
    value = value.drop_unused_params()
    return True if not value.dim(PARAMETER) and value.plain_is_universe() else value


def hull(value: isl.Set) -> isl.Set:
    """The conditions of pieces that hold in all pieces, for whole numbers."""
    pieces = [isl.Set.from_basic_set(piece) for piece in value.get_basic_sets()]
    found = isl.Set.from_basic_set(value.simple_hull())  # those for fractions, too
    asked: list[isl.Constraint] = []
    for piece in value.get_basic_sets():
        for constraint in piece.get_constraints():
            if any(constraint.is_equal(one) for one in asked):
                continue
            asked.append(constraint)
            half = isl.Set.from_basic_set(isl.BasicSet.from_constraint(constraint))
            if not found.is_subset(half) and all(p.is_subset(half) for p in pieces):
                found = found.intersect(half)
    return found


def conjoined(left: isl.BasicSet, right: isl.BasicSet) -> isl.BasicSet:
    """The conditions of both."""
    left = left.align_params(right.get_space())
    return left.intersect(right.align_params(left.get_space()))


def parameters(value: isl.Set | isl.BasicSet) -> tuple[str, ...]:
    """The names of the parameters of an isl set, in order."""
    names = [value.get_dim_name(PARAMETER, i) for i in range(value.dim(PARAMETER))]
    return tuple([name for name in names if name is not None])


def factors_of(value: isl.Constraint | isl.Aff) -> Iterator[tuple[int, int]]:
    """The place and the factor of each parameter that a condition has."""
    for place in range(value.dim(PARAMETER)):
        factor = value.get_coefficient_val(PARAMETER, place)
        if not factor.is_zero():
            yield place, factor.to_python()


def line(context: isl.Context, names: Sequence[str]) -> isl.LocalSpace:
    """The space of sets of these parameters, in order of their names."""
    space = isl.Space.params_alloc(context, len(names))
    for at, name in enumerate(names):
        space = space.set_dim_name(PARAMETER, at, name)
    return isl.LocalSpace.from_space(space)


def linear(
    space: isl.LocalSpace, factors: Sequence[int], constant: int, op: Comparison
) -> isl.Set:
    """Where the sum of a constant and of factors times parameters is ``op`` 0.

    In the form in which isl reads it: factors have no divisor in common.
    """
    if op == "!=":
        below = linear(space, factors, constant, "<")
        return below.union(linear(space, factors, constant, ">"))
    sign = -1 if op in ("<", "<=") else 1
    constant = sign * constant - (op in ("<", ">"))
    common = gcd(*factors)
    if op == "==":
        if constant % common:
            return isl.Set.empty(space.get_space())
        made = isl.Constraint.alloc_equality(space)
    else:
        made = isl.Constraint.alloc_inequality(space)
    made = made.set_constant_val(isl_number(space, constant // common))
    for at, factor in enumerate(factors):
        number = isl_number(space, sign * factor // common)
        made = made.set_coefficient_val(PARAMETER, at, number)
    return isl.Set.from_basic_set(isl.BasicSet.from_constraint(made))


def isl_number(beside: isl.Set | isl.LocalSpace, number: int) -> isl.Val:
    """A number of isl, of any length: one of a set that is beside it."""
    return isl.Val.read_from_str(beside.get_ctx(), str(number))
