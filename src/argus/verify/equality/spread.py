"""How far numbers are spread: ``n * (sum of x^2) - (sum of x)^2`` is never below 0.

That is Cauchy's inequality for n numbers, and n^2 times their variance. A kernel that
computes the variance so cuts it at 0, since rounding may make it negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from argus.terms import (
    ONE,
    IndexSet,
    Product,
    Sum,
    Term,
    Unknown,
    Variable,
    World,
    leaf_term,
)
from argus.terms.maxima import Source, opened
from argus.terms.restrict import restrict
from argus.terms.sums import sum_over, tidy

__all__ = ["without_spread"]

_MOST = 4
"""Sums whose total is squared, at most."""
_VARIABLES = 3
"""Variables of a sum that are put together in all ways."""


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
    total, body = leaf_term(first), first.body
    for one in others:
        both = term.parts.get(Product({first: 1, one: 1}), 0)
        sign = -1 if both > 0 else 1
        total = total + leaf_term(one).scaled(sign)
        body = body + one.body.scaled(sign)
    weight = next(iter(squares.values()))
    source = first.variables, first.domain, body
    for count, every in _grouped(world, source):
        spread = count * every - total * total
        left = term - restrict(world, spread, here).scaled(weight)
        left = tidy(world, restrict(world, left, here))
        if len(left.parts) < len(term.parts):
            return left
    return None


def _grouped(world: World, source: Source) -> Iterator[tuple[Term, Term]]:
    """How many numbers a sum adds up, and the sum of their squares.

    Each number may itself be a sum, over the last variables or the first: of a product
    of matrices that is normalised by rows.
    """
    for inner in _parts(source[0]):
        ((names, domain, body),) = opened(world, [source])
        hidden = [name for name, is_inner in zip(names, inner, strict=True) if is_inner]
        shown = [name for name in names if name not in hidden]
        try:
            outer = world.project(domain, hidden) if hidden else domain
        except Unknown:
            continue
        each = sum_over(world, hidden, domain, body) if hidden else body
        count = sum_over(world, shown, outer, ONE)
        yield count, sum_over(world, shown, outer, each * each)


def _parts(names: Sequence[Variable]) -> Iterator[tuple[bool, ...]]:
    """Which variables belong to a number: none, or some but not all."""
    for inner in product((False, True), repeat=min(len(names), _VARIABLES)):
        if not all(inner):
            yield (*inner, *[False] * (len(names) - len(inner)))
