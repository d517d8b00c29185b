"""Sizes that are products of others, of which a quotient takes a factor away.

Of ``P == (H - 2) * (W - 2)`` a position below P has a row ``p // (W - 2)`` below H - 2.
isl sees a size and some products, so that the factor is found by division here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from argus.terms.affine import equal_to
from argus.terms.integers import Integer, Variable, without_factors

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["divided", "factors", "factors_beside"]

_STEPS = 8
"""Terms that a factor has at most."""


def factors_beside(world: World, divisor: Integer) -> list[tuple[Integer, Integer]]:
    """Pairs (b, n) of integers such that a launch guarantees ``n == b * divisor``."""
    key = ("factors", divisor)
    if key not in world.memory:
        world.memory[key] = [
            (factor, Integer.atom(variable))
            for requirement in tuple(world.requirements)
            for monomial in requirement.where.monomials
            if len(monomial) == 1 and isinstance(variable := monomial[0], Variable)
            if (whole := equal_to(world, requirement.where, variable, frozenset()))
            if (factor := divided(whole, divisor)) is not None
        ]
    return cast(list[tuple[Integer, Integer]], world.memory[key])


def divided(value: Integer, divisor: Integer) -> Integer | None:
    """A polynomial divided by another; None where it leaves something."""
    lead = max(divisor.terms, key=lambda m: (len(m), [a.key for a in m]))
    by, found = divisor.terms[lead], Integer.of(0)
    for _ in range(_STEPS):
        if not value.terms:
            return found if found.terms else None
        step = None
        for monomial, coefficient in value.terms.items():
            rest = without_factors(monomial, lead)
            if rest is not None and coefficient % by == 0:
                step = Integer({rest: coefficient // by})
                break
        if step is None:
            return None
        found, value = found + step, value - step * divisor
    return None


def factors(value: Integer) -> list[Integer]:
    """Polynomials whose product an integer is: what stands beside an atom divides it.

    Of ``(b - a) * (d - c)`` multiplied out, ``-(d - c)`` stands beside a.
    """
    for atom in dict.fromkeys(a for m in value.terms for a in m):
        beside = {
            rest: c
            for m, c in value.terms.items()
            if (rest := without_factors(m, (atom,))) is not None
        }
        if len(beside) < 2:
            continue
        other = divided(value, Integer(beside))
        if other is not None and other.constant is None:
            return [Integer(beside), *factors(other)]
    return [value]
