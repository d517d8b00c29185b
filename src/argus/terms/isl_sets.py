"""What is asked of isl's own sets. Whatever isl gives up on is Unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import islpy as isl

from argus.terms.unknown import Unknown

__all__ = ["PARAMETER", "conjoined", "guarded", "hull", "parameters", "simplest"]

PARAMETER = isl.dim_type.param
_Answer = TypeVar("_Answer")


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


def guarded(question: Callable[[], _Answer]) -> _Answer:
    """An answer of isl; Unknown where it gives up."""
    try:
        return question()
    except isl.Error as error:
        raise Unknown(f"isl gives up on a set: {error}") from error
