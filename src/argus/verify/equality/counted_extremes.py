"""Extremes of numbers that data choose among: which there are is a matter of counts.

``max(1 where X[k] > 0 else 0 over k)`` is 1 where the count of such k is above 0, and
0 elsewhere, as ``any`` says it.
"""

from __future__ import annotations

from argus.terms import (
    ONE,
    Generator,
    IndexSet,
    Leaf,
    Max,
    Term,
    Truth,
    Value,
    World,
    apply,
    leaf_term,
)
from argus.terms.leafwise import with_leaves
from argus.terms.maxima import opened
from argus.terms.restrict import cut_in_set
from argus.terms.some_points import has_points
from argus.terms.sums import sum_over

__all__ = ["by_counts", "count_to_split"]


def by_counts(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with such extremes as the numbers they are.

    Those of which the set says which points there are.
    """

    def known(leaf: Leaf) -> Term:
        found = _decided(world, here, leaf)
        return found if isinstance(found, Term) else leaf_term(leaf)

    return with_leaves(term, known)


def count_to_split(world: World, here: IndexSet, term: Term) -> IndexSet | None:
    """A condition on a count that decides an extreme, and that a set leaves open."""
    leaves = (leaf for part in term.parts for leaf, _ in part.factors)
    found = (_decided(world, here, leaf) for leaf in leaves)
    return next((x for x in found if isinstance(x, IndexSet)), None)


def _decided(world: World, here: IndexSet, leaf: Leaf) -> Term | IndexSet | None:
    """The number that a leaf is; a condition that decides it; None for another leaf."""
    if not isinstance(leaf, Max) or not _is_chosen(leaf):
        return None
    numbers = [(g.body.constant or 0, g) for g in leaf.generators]
    ordered = [g for _, g in sorted(numbers, key=lambda item: item[0], reverse=True)]
    for generator in ordered[:-1]:
        some = cut_in_set(world, _some(world, here, generator), here)
        if world.is_subset(here, some):
            return generator.body
        if not world.is_empty(here & some):
            return some
    return ordered[-1].body if has_points(world, here, leaf) else None


def _is_chosen(leaf: Max) -> bool:
    """Whether data choose among the numbers of which the largest is taken."""
    return len(leaf.generators) > 1 and all(
        g.variables
        and g.body.constant is not None
        and any(isinstance(a, Truth) for m in g.domain.monomials for a in m)
        for g in leaf.generators
    )


def _some(world: World, here: IndexSet, generator: Generator) -> IndexSet:
    """Where, in a set, a number has a point: where the count of these is above 0."""
    said = generator.domain.gist(world.close(here))
    source = generator.variables, said, ONE
    ((names, domain, one),) = opened(world, [source])
    count = Value.real(sum_over(world, names, domain, one))
    return apply(world, "gt", count, Value.whole(0)).where
