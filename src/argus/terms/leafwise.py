"""Terms with other ones in place of the leaves of their products."""

from __future__ import annotations

from collections.abc import Callable

from argus.terms.leaves import Leaf
from argus.terms.powers import raised
from argus.terms.term import ZERO, Product, Term

__all__ = ["with_leaves"]


def with_leaves(term: Term, by: Callable[[Leaf], Term]) -> Term:
    """The same term with another one for each leaf; exponents stay as they are."""
    made = ZERO
    for part, coefficient in term.parts.items():
        product = Term({Product({}, part.exponent): coefficient})
        for leaf, power in part.factors:
            product = product * raised(by(leaf), power)
        made = made + product
    return made
