"""Nested tuples of ints: shapes, strides and profiles of layouts.

    (2, (3, 4))     has rank 2, depth 2, size 24 and leaves 2, 3, 4

Everything here is about the nesting; what a shape and a stride mean together is in
`layout.py`. Nothing here evaluates symbolic operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

__all__ = [
    "IntTuple",
    "congruent",
    "depth",
    "flatten",
    "prefix_products",
    "product",
    "unflatten",
]

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
"""An int, or a tuple of nested tuples of ints."""


def flatten(value: IntTuple) -> tuple[int, ...]:
    """Leaves, left to right: (2, (3, 4)) -> (2, 3, 4); an int is its own leaf."""
    if isinstance(value, int):
        return (value,)
    return tuple(leaf for part in value for leaf in flatten(part))


def unflatten(leaves: Iterable[int], profile: IntTuple) -> IntTuple:
    """Nest `leaves` as `profile` is nested; raises ValueError if the counts differ."""
    source = iter(leaves)

    def take(part: IntTuple) -> IntTuple:
        if isinstance(part, int):
            leaf = next(source, None)
            if leaf is None:
                raise ValueError(f"too few leaves for the profile {profile}")
            return leaf
        return tuple(take(child) for child in part)

    nested = take(profile)
    if next(source, None) is not None:
        raise ValueError(f"too many leaves for the profile {profile}")
    return nested


def product(value: IntTuple) -> int:
    """Product of the leaves; 1 for the empty tuple."""
    result = 1
    for leaf in flatten(value):
        result *= leaf
    return result


def depth(value: IntTuple) -> int:
    """Levels of nesting: 0 for an int, 1 for a tuple of ints."""
    if isinstance(value, int):
        return 0
    return 1 + max((depth(part) for part in value), default=0)


def congruent(left: IntTuple, right: IntTuple) -> bool:
    """Whether both are nested alike, whatever the leaves."""
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and isinstance(right, int)
    return len(left) == len(right) and all(map(congruent, left, right))


def prefix_products(shape: IntTuple) -> IntTuple:
    """Product of all leaves before each leaf: (2, (3, 4)) -> (1, (2, 6)).

    These are the strides of the compact layout of `shape` whose first leaf varies
    fastest.
    """

    def running() -> Iterator[int]:
        weight = 1
        for leaf in flatten(shape):
            yield weight
            weight *= leaf

    return unflatten(running(), shape)
