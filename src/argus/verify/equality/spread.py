"""How far numbers are spread: ``n * (sum of x^2) - (sum of x)^2`` is never below 0.

That is Cauchy's inequality for n numbers, and n^2 times their variance. A kernel that
computes the variance so cuts it at 0, since rounding may make it negative.
"""

from __future__ import annotations

from argus.terms import ONE, IndexSet, Product, Sum, Term, World, leaf_term
from argus.terms.maxima import opened
from argus.terms.restrict import restrict
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ZERO

__all__ = ["without_spread"]

_MOST = 4
"""Sums whose total is squared, at most."""


def without_spread(world: World, here: IndexSet, term: Term) -> Term | None:
    """A term less such a number, which is not negative; None where it has none.

    Where a set holds the term is at least 0 if what is left is.
    """
    squares = {
        leaf: -c
        for part, c in term.parts.items()
        if part.exponent is None and len(part.factors) == 1 and c < 0
        for leaf, power in part.factors
        if power == 2 and isinstance(leaf, Sum) and leaf.variables
    }
    if not 0 < len(squares) <= _MOST or len(set(squares.values())) != 1:
        return None
    first, *others = squares
    if any(
        one.domain != first.domain or one.variables != first.variables for one in others
    ):
        return None
    source = first.variables, first.domain, ONE
    total, body = leaf_term(first), first.body
    for one in others:
        both = term.parts.get(Product({first: 1, one: 1}), 0)
        sign = -1 if both > 0 else 1
        total = total + leaf_term(one).scaled(sign)
        body = body + one.body.scaled(sign)
    ((names, domain, _),) = opened(world, [source])
    count = restrict(world, sum_over(world, names, domain, ONE), here)
    source = first.variables, first.domain, body * body
    ((names, domain, square),) = opened(world, [source])
    every = restrict(world, sum_over(world, names, domain, square), here)
    spread = count * every - total * total
    weight = next(iter(squares.values()))
    left = tidy(world, restrict(world, term - spread.scaled(weight), here))
    return left if len(left.parts) < len(term.parts) or left == ZERO else None
