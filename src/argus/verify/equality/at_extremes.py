"""Elements at the place of the largest of them, as what is the largest.

``X[m, int(argmax X[m, j] over j)]`` is ``max(X[m, j] over j)``. A kernel carries the
largest number beside its place, and a reference reads what stands there.
"""

from __future__ import annotations

from argus.terms import (
    Element,
    Integer,
    Leaf,
    Term,
    Value,
    World,
    leaf_term,
    replace,
)
from argus.terms.extreme_places import points_of
from argus.terms.maxima import maximum_over
from argus.terms.sums import renamed

__all__ = ["as_extremes"]


def as_extremes(world: World, term: Term) -> Term:
    """The same term, with such elements as maxima and minima."""

    def value(leaf: Leaf) -> Value | None:
        if not isinstance(leaf, Element):
            return None
        found = (_largest(world, leaf, index) for index in leaf.indices)
        return next((Value.real(x) for x in found if x is not None), None)

    return replace(world, term, value).term


def _largest(world: World, leaf: Element, index: Integer) -> Term | None:
    """What an element is whose index is the place of the largest of such elements."""
    over = points_of(index.single)
    if over is None:
        return None
    env, fresh = renamed(world, over.variables)
    body = world.substitute(over.body, env)
    there = world.substitute(body, {fresh[0]: index})
    me = leaf_term(leaf)
    if there not in (me, -me):
        return None
    largest = maximum_over(world, [(fresh, world.substitute(over.domain, env), body)])
    return largest if there == me else -largest
