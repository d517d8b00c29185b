"""What is asked of isl's own sets, in a limited number of steps.

    with space.asking:
        rest = one.subtract(other)

What isl gives up on is Unknown. A question may take it minutes, in which no clock of
ours is looked at, so that each one is asked like this (`tests/terms/test_limits.py`
finds those that are not).
"""

from __future__ import annotations

from types import TracebackType

import islpy as isl

from argus.terms.unknown import Unknown

__all__ = ["PARAMETER", "Asking", "conjoined", "hull", "parameters", "simplest"]

PARAMETER = isl.dim_type.param
_STEPS = 1_000_000
"""Steps that isl may take for one question: allocations of memory, as it counts them.

They do not depend on the machine, and so neither does what is answered.
"""


class Asking:
    """The limit of isl in a context: ``with`` it, a question is asked.

    Raises Unknown where isl gives up. Inside of another, it counts from 0 again: the
    limit is of each question, and that there are not too many the clock says.
    """

    def __init__(self, context: isl.Context) -> None:
        self._context = context
        context.set_max_operations(_STEPS)

    def __enter__(self) -> None:
        self._context.reset_operations()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, isl.Error):
            raise Unknown(f"isl gives up on a set: {_reason(error)}") from error


def _reason(error: isl.Error) -> str:
    """Why isl gives up, without the place in its sources."""
    text = str(error)
    if "maximal number of operations exceeded" in text:
        return f"it takes more than {_STEPS} steps"
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
