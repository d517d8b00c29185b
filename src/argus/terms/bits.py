"""Functions of the bits of whole numbers: numbers where they are, else opaque atoms."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from argus.terms.integers import Applied, Integer
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.world import World

COUNTS = {"popcount32": 32, "popcount64": 64}
"""Functions that count bits, and of how many."""
_RUNS = 2
"""Runs of ones in a mask of which bits are told apart."""
_WIDTHS = (8, 16, 31, 32)
"""Bits that numbers which are not below 0 may have."""


def of_bits(world: World, name: str, left: Integer, right: Integer) -> Integer:
    """Functions of the bits of two's complement: numbers, else an opaque function."""
    a, b = left.constant, right.constant
    if a is not None and b is not None:
        return Integer.of(a & b if name == "and" else a | b if name == "or" else a ^ b)
    for x, mask in ((left, b), (right, a)):
        if mask is not None and len(_runs(mask)) <= _RUNS:
            both = _masked(world, x, mask)
            if name == "and":
                return both
            return x + mask - (both if name == "or" else 2 * both)
    if name != "and" and (_apart(world, left, right) or _apart(world, right, left)):
        return left + right
    if left == right:
        return Integer.of(0) if name == "xor" else left
    first, second = sorted((left, right), key=lambda i: i.key)
    return Integer.atom(Applied(name, (first, second)))


def _runs(mask: int) -> list[tuple[int, int]]:
    """First and end of each run of ones; of a number below 0, of its zeros."""
    bits, found, at = mask if mask >= 0 else ~mask, list[tuple[int, int]](), 0
    while bits >> at:
        if bits >> at & 1:
            first = at
            while bits >> at & 1:
                at += 1
            found.append((first, at))
        else:
            at += 1
    return found


def _masked(world: World, x: Integer, mask: int) -> Integer:
    """The bits of a number that are set in a mask.

    Those from place k on are its quotient by 2^k, so that those from k to n are
    2^k (x // 2^k) - 2^n (x // 2^n).
    """
    found = Integer.of(0)
    for first, end in _runs(mask):
        for place, sign in ((first, 1), (end, -1)):
            upper = world.quotient(x, Integer.of(2**place)) if place else x
            found = found + sign * 2**place * upper
    return found if mask >= 0 else x - found


def _apart(world: World, high: Integer, low: Integer) -> bool:
    """Whether one number is a multiple of a power of 2 that the other lies below."""
    factor = gcd(*high.terms.values())
    power = factor & -factor
    if power < 2:
        return False
    outside = world.compare(low, "<", 0) | world.compare(low, ">=", power)
    return world.is_empty(outside)


def encoded(world: World, name: str, value: Integer) -> Integer:
    """A number that the last four bits of another stand for."""
    return Integer.atom(Applied(name, (of_bits(world, "and", value, Integer.of(15)),)))


def counted(name: str, value: Integer) -> Integer:
    """How many bits of a number are set."""
    if value.constant is not None:
        return Integer.of((value.constant % 2 ** COUNTS[name]).bit_count())
    return Integer.atom(Applied(name, (value,)))


def range_of_bits(world: World, value: Integer, atom: Applied) -> IndexSet:
    """That a function of bits has no more of them than what it is a function of."""
    if atom.function in COUNTS:
        found = world.compare(value, ">=", 0)
        return found & world.compare(value, "<=", COUNTS[atom.function])
    if atom.function not in ("and", "or", "xor"):
        return IndexSet.universe
    args = atom.args
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
