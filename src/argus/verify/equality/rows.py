"""Rows of numbers of which the largest, or its place, is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import Generator, IndexSet, Integer, Max, Product, Variable, World
from argus.terms.maxima import Source, opened
from argus.terms.narrowing import fits
from argus.terms.unknown import Unknown

__all__ = ["has_points", "no_larger", "row", "source"]

_LARGE = 1 << 62
"""No place is so far from another number."""


def row(part: Product) -> Generator | None:
    """What a product is the largest of, if that is one row."""
    if part.exponent is not None or len(part.factors) != 1:
        return None
    ((leaf, power),) = part.factors
    if power != 1 or not isinstance(leaf, Max) or len(leaf.generators) != 1:
        return None
    (over,) = leaf.generators
    return over if len(over.variables) == 1 else None


def has_points(world: World, here: IndexSet, at: Variable, points: IndexSet) -> bool:
    """Whether a row has a point wherever a set holds."""
    try:
        return world.is_subset(here, world.project(points, (at,)))
    except Unknown:
        return False


def no_larger(
    world: World, where: IndexSet, others: Sequence[Generator], number: Integer
) -> bool:
    """Whether no other whole number is larger than one, wherever a set holds."""
    for _, domain, body in opened(world, [source(g) for g in others]):
        other = body.integer
        if other is None:
            return False
        # By what sizes may be: 2**31 - 1 stands for a place behind all others.
        if not fits(world, where & domain, number - other, (0, _LARGE)):
            return False
    return True


def source(generator: Generator) -> Source:
    """The variables, the set and the term of a generator."""
    return generator.variables, generator.domain, generator.body
