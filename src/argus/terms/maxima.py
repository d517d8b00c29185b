"""Maxima over sets of points."""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms.leaves import Generator, Max
from argus.terms.sets import IndexSet
from argus.terms.term import MINUS_INFINITY, Term, leaf_term
from argus.terms.world import World


def maximum_of(world: World, terms: Sequence[Term]) -> Term:
    """The largest of several terms."""
    found: dict[str, Generator] = {}
    for term in terms:
        if term.undefined is not None:
            return term
        if term == MINUS_INFINITY:
            continue
        if term.infinite:
            return term
        leaf = term.single
        if isinstance(leaf, Max):
            found.update((g.key, g) for g in leaf.generators)
        else:
            generator = Generator(0, world.canonical(IndexSet.universe), term)
            found[generator.key] = generator
    if not found:
        return MINUS_INFINITY
    if len(found) == 1:
        (only,) = found.values()
        if not only.variables and only.domain.is_universe:
            return only.body
    return leaf_term(Max(list(found.values())))
