"""Comparisons that decide others, mentioned or not: of sides, and of factors.

``|d| > 1`` is ``d > 1`` or ``-d > 1``, and ``x*s - x > 0`` says of x > 0 that s > 1.
What is asked of a side, or of a factor, may be decided by something else: d > 0 says
that ``-d > 1`` is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from argus.terms.integers import DataTerm, Integer, Truth
from argus.terms.leaves import Call, Element, Leaf, Scalar
from argus.terms.sets import IndexSet
from argus.terms.term import Product, Term, leaf_term

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["Factors", "factors", "of_factors"]

Factors = tuple[Term, Term]
"""A number, and what it is multiplied with."""
_FACTORS = 2
"""Factors of a term that are looked at, at most."""


def factors(truth: Truth) -> list[Factors]:
    """Pairs (f, q) such that a truth asks whether ``f*q`` is above 0.

    f is an element, a scalar or a value of a function: a finite number.
    """
    term = truth.term
    if truth.op != "gt" or not isinstance(term, Term) or term.special is not None:
        return []
    common: set[Leaf] | None = None
    for part in term.parts:
        own = {x for x, power in part.factors if power == 1}
        common = own if common is None else common & own
    found = [x for x in common or () if isinstance(x, Element | Scalar | Call)]
    if len(term.parts) == 1 and len(found) < 2:
        return []  # a number times one leaf
    some = islice(sorted(found, key=lambda x: x.key), _FACTORS)
    return [(leaf_term(leaf), _without(term, leaf)) for leaf in some]


def _without(term: Term, leaf: Leaf) -> Term:
    return Term({
        Product({x: y for x, y in part.factors if x != leaf}, part.exponent): c
        for part, c in term.parts.items()
    })  # fmt: skip


def of_factors(
    world: World,
    truth: Truth,
    above: Mapping[DataTerm, Integer],
    signs: Iterable[tuple[DataTerm, DataTerm, DataTerm, DataTerm]],
) -> IndexSet:
    """What the signs of factors say of that of a product.

    ``signs``: what is asked for f > 0, f < 0, q > 0 and q < 0, where ``f*q`` is what
    the truth asks about. ``above``: truths by what they ask.
    """
    found = IndexSet.universe
    whole = Integer.atom(truth)
    for four in signs:
        if any(x not in above for x in four):
            continue
        f, minus_f, q, minus_q = (above[x] for x in four)
        for one, other in ((f, q), (minus_f, minus_q)):
            # Where a factor has a sign, the product has that of the other one.
            found = found & world.compare(whole, ">=", one + other - 1)
            found = found & world.compare(whole + one, "<=", other + 1)
        found = found & world.compare(whole, "<=", f + minus_f)
    return found
