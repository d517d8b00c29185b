"""Where whole numbers do not fit their type, at sizes that are not too large."""

from __future__ import annotations

from argus.terms import IndexSet, Integer, World
from argus.terms.magnitudes import LARGEST_SCALAR

__all__ = ["LARGEST_SIZE", "outside"]

LARGEST_SIZE = 1 << 30
"""Sizes are no larger."""


def outside(
    world: World,
    where: IndexSet,
    x: Integer,
    held: tuple[int, int],
    size: int = LARGEST_SIZE,
) -> IndexSet:
    """Where a number is less than the first of ``held``, or more than the second.

    ``size``: how large sizes are, at most, also those that only ``where`` speaks of:
    T == 16 * J bounds J. Scalars lie within 2**29.
    """
    found = world.compare(x, "<", held[0]) | world.compare(x, ">", held[1])
    free = world.close(where & found).variables() | x.variables()
    for variable in sorted(free, key=lambda v: v.key):
        value = Integer.atom(variable)
        if variable.upper is None and variable.lower is not None:
            found = found & world.compare(value, "<=", size)
        elif variable.upper is None:
            most = min(size, LARGEST_SCALAR)
            found = found & world.compare(value, "<=", most)
            found = found & world.compare(value, ">=", -most)
    return found
