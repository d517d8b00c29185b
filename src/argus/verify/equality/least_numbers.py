"""Extremes with a number that no other one of them is less than.

``min(J[k] where X[k] > 0, else 2**31 - 1)`` has a number in place of what is left out,
and a tile that is padded has it in other places, too. If there is any number at all,
the largest of some, none of which is less than c, is the larger one of c and of the
largest of the others: where c stands is no matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import (
    Generator,
    IndexSet,
    Leaf,
    Max,
    Term,
    World,
    leaf_term,
)
from argus.terms.leafwise import with_leaves
from argus.terms.maxima import maximum_over, opened
from argus.terms.some_points import has_points
from argus.verify.equality.dominated import never_negative
from argus.verify.equality.rows import source

__all__ = ["with_least_numbers"]


def with_least_numbers(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with such numbers of no point."""
    return with_leaves(term, lambda leaf: _in_leaf(world, here, leaf))


def _in_leaf(world: World, here: IndexSet, leaf: Leaf) -> Term:
    if not isinstance(leaf, Max) or len(leaf.generators) < 2:
        return leaf_term(leaf)
    for mine in leaf.generators:
        if mine.body.constant is None or not mine.variables:
            continue
        others = [g for g in leaf.generators if g is not mine]
        if _no_less(world, here, others, mine.body) and has_points(world, here, leaf):
            sources = opened(world, [source(g) for g in others])
            number = ((), IndexSet.universe, mine.body)
            return maximum_over(world, [*sources, number])
    return leaf_term(leaf)


def _no_less(
    world: World, here: IndexSet, others: Sequence[Generator], least: Term
) -> bool:
    """Whether no other number is less than one, wherever a set holds."""
    return all(
        never_negative(world, world.close(here & domain), body - least)
        for _, domain, body in opened(world, [source(g) for g in others])
    )
