"""Sums, and single points of them that stand beside.

A kernel that takes its first or last step outside of a loop adds a point to a sum: of
``f(0) + sum of f(k) over 0 < k < n`` the first part belongs to the sum where 0 is none
of its points already, and of ``(sum of f(k) over 0 <= k < n) - f(0)`` it is left out.
"""

from __future__ import annotations

from argus.terms import (
    Element,
    IndexSet,
    Integer,
    Leaf,
    Product,
    Sum,
    Term,
    Variable,
    World,
)
from argus.terms.naming import sum_of
from argus.terms.sums import tidy

__all__ = ["absorbed"]


def absorbed(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with points as parts of sums."""
    for _ in range(len(term.parts)):
        made = _step(world, here, term)
        if made is None:
            return term
        term = tidy(world, made)
    return term


def _step(world: World, here: IndexSet, term: Term) -> Term | None:
    """The term with one point less; None where no point is one of a sum's."""
    for part, weight in term.parts.items():
        for leaf, power in part.factors:
            if not isinstance(leaf, Sum) or power != 1 or len(leaf.variables) != 1:
                continue
            others = {f: y for f, y in part.factors if f is not leaf}
            rest = Product(others, part.exponent)
            for point, coefficient in term.parts.items():
                if point is part or coefficient not in (weight, -weight):
                    continue
                domain = _with(world, here, leaf, rest, point, coefficient == weight)
                if domain is None:
                    continue
                left = {p: c for p, c in term.parts.items() if p not in (part, point)}
                whole = Term({rest: weight}) * sum_of(
                    world, leaf.variables, domain, leaf.body
                )
                return Term(left) + whole
    return None


def _with(
    world: World, here: IndexSet, leaf: Sum, rest: Product, point: Product, add: bool
) -> IndexSet | None:
    """The domain of a sum with or without a point; None where it cannot have that."""
    (variable,) = leaf.variables
    for index in _places(leaf, variable, point):
        value = world.substitute(leaf.body, {variable: index}) * Term({rest: 1})
        if value != Term({point: 1}):
            continue
        inside = world.substitute(leaf.domain, {variable: index})
        at = world.compare(Integer.atom(variable), "==", index)
        if add and world.is_empty(here & inside):
            return leaf.domain | at
        if not add and world.is_subset(here, inside):
            return leaf.domain - at
    return None


def _places(leaf: Sum, variable: Variable, point: Product) -> list[Integer]:
    """What a variable may be in a product: where both read one tensor."""
    found: dict[Integer, None] = {}
    for mine in _elements(leaf.body):
        for theirs in _elements(Term({point: 1})):
            if mine.tensor != theirs.tensor:
                continue
            for a, b in zip(mine.indices, theirs.indices, strict=True):
                factor = a.coefficient(variable)
                if factor in (1, -1):
                    rest = a - Integer.atom(variable) * factor
                    found.setdefault((b - rest) * factor)
    return [x for x in found if variable not in x.variables()]


def _elements(term: Term) -> list[Element]:
    """Elements that a term has as factors."""
    leaves: list[Leaf] = [leaf for part in term.parts for leaf, _ in part.factors]
    return [leaf for leaf in leaves if isinstance(leaf, Element)]
