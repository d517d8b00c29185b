"""Extremes of what all have in common, with that beside them.

Of an m that does not depend on k ``max(X[k] - m over k)`` is ``max(X[k] over k) - m``:
the largest distance from the least, or the exponent of the largest of a softmax. Where
there is no point, or m is infinite, nothing is said.
"""

from __future__ import annotations

from argus.terms import (
    ZERO,
    IndexSet,
    Leaf,
    Max,
    Product,
    Term,
    World,
    leaf_term,
)
from argus.terms.maxima import rebound_maximum
from argus.terms.powers import exponential, raised
from argus.terms.some_points import has_points
from argus.verify.equality.mentioned import leaves

__all__ = ["with_shifts_outside"]


def with_shifts_outside(world: World, here: IndexSet, term: Term) -> Term:
    """The same term wherever a set holds, with such extremes in its products."""
    made = ZERO
    for part, coefficient in term.parts.items():
        product = Term({Product({}): coefficient})
        for leaf, power in part.factors:
            product = product * raised(_shifted(world, here, leaf), power)
        if part.exponent is not None:
            exponent = with_shifts_outside(world, here, part.exponent)
            product = product * exponential(exponent)
        made = made + product
    return made


def _shifted(world: World, here: IndexSet, leaf: Leaf) -> Term:
    """A leaf with what all numbers of an extreme have in common beside it."""
    if not isinstance(leaf, Max):
        return leaf_term(leaf)
    first = leaf.generators[0].body
    common = Term(
        {
            part: coefficient
            for part, coefficient in first.parts.items()
            if all(
                g.body.parts.get(part) == coefficient
                and Term({part: 1}).free_variables().isdisjoint(g.variables)
                for g in leaf.generators
            )
        }
    )
    if not common.parts or common.special is not None or common == first:
        return leaf_term(leaf)
    inner = [x for x in leaves(common) if isinstance(x, Max)]
    if not all(has_points(world, here, x) for x in (leaf, *inner)):
        return leaf_term(leaf)
    sources = [(g.variables, g.domain, g.body - common) for g in leaf.generators]
    return common + rebound_maximum(world, sources)
