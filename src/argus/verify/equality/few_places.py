"""The place of the largest of a few numbers, by what is compared.

The first place of the largest of x0, x1, x2 is

    (x1 > x0) (1 - (x2 > x1)) + 2 (x2 > x0) (x2 > x1)

as a kernel chooses it that compares elements one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import IndexSet, Integer, Leaf, Term, Whole, World, leaf_term
from argus.terms.affine import least_of
from argus.terms.extreme_places import points_of
from argus.terms.leafwise import with_leaves
from argus.terms.maxima import opened
from argus.terms.term import whole
from argus.verify.equality.rows import source

__all__ = ["with_few_places"]

_MOST = 4
"""Numbers of which the place is written out."""


def with_few_places(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with such places as comparisons."""
    return with_leaves(term, lambda leaf: _in_leaf(world, here, leaf))


def _in_leaf(world: World, here: IndexSet, leaf: Leaf) -> Term:
    generator = points_of(leaf.atom) if isinstance(leaf, Whole) else None
    if generator is None:
        return leaf_term(leaf)
    (((at,), domain, body),) = opened(world, [source(generator)])
    first = least_of(world, domain, at)
    if first is None or at in first.variables():
        return leaf_term(leaf)
    numbers: list[Term] = []
    for count in range(_MOST + 1):
        env = {at: first + count}
        there = world.substitute(domain, env)
        if not world.is_subset(here, there):
            break
        numbers.append(world.substitute(body, env))
    value = Integer.atom(at) - first
    inside = world.compare(value, ">=", 0) & world.compare(value, "<", len(numbers))
    if not 1 <= len(numbers) <= _MOST or not world.is_subset(here & domain, inside):
        return leaf_term(leaf)
    return whole(first + _place(world, numbers))


def _place(world: World, numbers: Sequence[Term]) -> Integer:
    """The first place of the largest."""
    place = Integer.of(0)
    for at, number in enumerate(numbers):
        chosen = Integer.of(at)
        for other, beside in enumerate(numbers):
            if other < at:
                chosen = chosen * world.truth_of("gt", number - beside)
            elif other > at:
                chosen = chosen * (1 - world.truth_of("gt", beside - number))
        place = place + chosen
    return place
