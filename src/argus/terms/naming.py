"""Bound variables under the names that follow from how deep they stand.

A sum or maximum calls its variables by its height, which is more than that of every sum
and maximum in its term and in the data that its set compares: so no variable is bound
twice on a way from the root, and equal families have equal names. While the one around
it is made anew, its variables may have the names that this one would have: then this
one stands higher, and takes none that it mentions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.terms.integers import Integer, Variable
from argus.terms.leaves import Generator, Sum, bound, height_over
from argus.terms.sets import IndexSet
from argus.terms.term import ZERO, Term, leaf_term
from argus.terms.world import World


@dataclass(frozen=True)
class Bound:
    """A term over the points of a canonical set, with its variables' names.

    They are those of a ``height``.
    """

    variables: tuple[Variable, ...]
    domain: IndexSet
    body: Term
    height: int


def named(
    world: World, variables: Sequence[Variable], domain: IndexSet, body: Term
) -> Bound:
    """A term over the points of a set, its variables under their canonical names.

    The set becomes canonical under these names only: a variable that has bounds of its
    own is in them by its facts, which a canonical set does not repeat.
    """
    current, higher = tuple(variables), 0
    while True:
        height = height_over(domain, body) + higher
        names = bound(height, len(current))
        if names == current:
            said = world.canonical(domain)
            if said.height == domain.height:
                return Bound(names, said, body, height)
            domain = said
            continue
        others = frozenset(names).difference(current)
        if not others.isdisjoint(domain.variables() | body.free_variables()):
            higher += 1
            continue
        env = {v: Integer.atom(n) for v, n in zip(current, names, strict=True)}
        domain = world.substitute(domain, env)
        body = world.substitute(body, env)
        current = names


def sum_of(
    world: World, variables: Sequence[Variable], domain: IndexSet, body: Term
) -> Term:
    """The leaf that is the sum of one product over a set; 0 of an empty one."""
    found = named(world, variables, domain, body)
    if found.domain.is_nothing:
        return ZERO
    return leaf_term(Sum(len(found.variables), found.domain, found.body, found.height))


def generator_of(
    world: World, variables: Sequence[Variable], domain: IndexSet, body: Term
) -> Generator:
    """A term at the points of a set."""
    found = named(world, variables, domain, body)
    return Generator(len(found.variables), found.domain, found.body, found.height)
