"""What is asked of isl's own sets, in a limited number of steps.

    with space.asking:
        rest = one.subtract(other)

What isl gives up on is Unknown (`Exhausted`). A question may take it minutes, in which
no clock of ours is looked at, so that each one is asked like this: what is not,
`tests/terms/test_isl_limits.py` finds.
"""

from __future__ import annotations

from types import TracebackType

import islpy as isl

from argus.terms.unknown import Exhausted

__all__ = [
    "PARAMETER",
    "STEPS",
    "STEPS_OF_DIFFERENCES",
    "STEPS_OF_SOLUTIONS",
    "Asking",
    "conjoined",
    "hull",
    "isl_number",
    "parameters",
    "simplest",
]

PARAMETER = isl.dim_type.param
STEPS = 20_000_000
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
        self._around.append(self._context.get_max_operations())
        self._context.set_max_operations(self._steps)
        self._context.reset_operations()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._context.set_max_operations(self._around.pop())
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
    for piece in value.get_basic_sets():
        for constraint in piece.get_constraints():
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


def isl_number(beside: isl.Set, number: int) -> isl.Val:
    """A number of isl, of any length: one of a set that is beside it."""
    return isl.Val.read_from_str(beside.get_ctx(), str(number))
