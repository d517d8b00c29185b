"""Numbers that requirements of a launch say to be above 0.

The root of such a scalar is taken by itself: ``sqrt(v / c)`` is ``sqrt(v) / sqrt(c)``.
"""

from __future__ import annotations

from argus.terms.comparisons import asked
from argus.terms.integers import Truth
from argus.terms.leaves import Leaf
from argus.terms.sets import intersection
from argus.terms.term import Product, Rational, Term, leaf_term
from argus.terms.world import World


def is_required_above_zero(world: World, term: Term) -> bool:
    """Whether requirements say of a number that it is above 0."""
    if term.special is not None:
        return False
    said = [
        requirement.where
        for requirement in world.requirements
        if any(isinstance(a, Truth) for m in requirement.where.monomials for a in m)
    ]
    if not said:
        return False
    above = world.truth_of("gt", asked(term, signed=True))
    return world.is_subset(intersection(said), world.told(above, True))


def required_factor(world: World, term: Term) -> Product:
    """What all products of a term have in common and is required to be above 0."""
    shared: dict[Leaf, Rational] = {}
    if term.special is not None or not term.parts or not world.requirements:
        return Product({})
    powers = [dict(part.factors) for part in term.parts]
    for leaf, power in powers[0].items():
        of = [p.get(leaf, 0) for p in powers]
        least = min(of) if power > 0 else max(of)
        if all(y * power > 0 for y in of) and is_required_above_zero(
            world, leaf_term(leaf)
        ):
            shared[leaf] = least
    return Product(shared)
