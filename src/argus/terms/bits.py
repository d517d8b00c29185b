"""Functions of the bits of whole numbers: numbers where they are, else opaque atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.terms.integers import Applied, Integer
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.world import World

_WIDTHS = (8, 16, 31)
"""Bits that numbers which are not below 0 may have."""


def of_bits(world: World, name: str, left: Integer, right: Integer) -> Integer:
    """Functions of the bits of two's complement: numbers, else an opaque function.

    The last k bits of a number are its remainder by 2^k.
    """
    a, b = left.constant, right.constant
    for x, mask in ((left, b), (right, a)):
        if name == "and" and mask is not None and mask >= 0 and mask & (mask + 1) == 0:
            return x - (mask + 1) * world.quotient(x, Integer.of(mask + 1))
    if a is not None and b is not None:
        return Integer.of(a & b if name == "and" else a | b if name == "or" else a ^ b)
    if left == right:
        return Integer.of(0) if name == "xor" else left
    first, second = sorted((left, right), key=lambda i: i.key)
    return Integer.atom(Applied(name, (first, second)))


def encoded(world: World, name: str, value: Integer) -> Integer:
    """A number that the last four bits of another stand for."""
    return Integer.atom(Applied(name, (of_bits(world, "and", value, Integer.of(15)),)))


def range_of_bits(world: World, value: Integer, args: Sequence[Integer]) -> IndexSet:
    """That a function of bits has no more of them than what it is a function of."""
    for width in _WIDTHS:
        outside = [
            bound
            for x in args
            for bound in (world.compare(x, "<", 0), world.compare(x, ">=", 2**width))
        ]
        if all(map(world.is_empty, outside)):
            found = world.compare(value, ">=", 0)
            return found & world.compare(value, "<", 2**width)
    return IndexSet.universe
