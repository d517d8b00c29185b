"""Sums over a few numbers, written out.

Of ``j * c`` with a size ``c`` nothing is known but facts; of ``2 * c`` everything. So
a sum over a variable of a few values that a product depends on is the sum of its parts.
Where terms differ else, all sums over a few numbers are: a window of an array that one
side adds up by positions and the other one element by element.
"""

from __future__ import annotations

from argus.terms.affine import least_of
from argus.terms.integers import Atom, Integer, Variable
from argus.terms.leaves import Sum
from argus.terms.positions import positions
from argus.terms.sums import renamed, sum_over, tidy
from argus.terms.term import ZERO, Product, Term
from argus.terms.world import World

__all__ = ["unrolled"]

_MOST = 16
"""Values that a variable has, at most."""


def unrolled(world: World, term: Term, *, every: bool = False) -> Term:
    """The same term without such sums in its products.

    ``every``: also of those that nothing hides, from wherever they begin.
    """
    found = term
    for _ in range(_MOST):
        total, changed = ZERO, False
        for part, coefficient in found.parts.items():
            made = _in_product(world, part, every)
            changed = changed or made is not None
            one = Term({part: 1}) if made is None else made
            total = total + one.scaled(coefficient)
        if not changed:
            return found
        found = tidy(world, total)
    return found


def _in_product(world: World, part: Product, every: bool) -> Term | None:
    """A product with one of its sums written out; None where there is none."""
    for leaf, power in part.factors:
        if isinstance(leaf, Sum) and power == 1:
            for variable in leaf.variables:
                first = _first(world, leaf, variable, every)
                if first is not None:
                    rest = {f: y for f, y in part.factors if f is not leaf}
                    outer = Term({Product(rest, part.exponent): 1})
                    return outer * _written_out(world, leaf, variable, first)
    return None


def _first(world: World, leaf: Sum, variable: Variable, every: bool) -> Integer | None:
    """Where a sum over a few values begins; None where it stays as it is."""
    zero = Integer.of(0)
    if _is_hidden(leaf, variable):
        return zero if _is_small(world, leaf, variable, zero) else None
    if not every:
        return None
    first = least_of(world, leaf.domain, variable)
    if first is None or first.variables() & set(leaf.variables):
        return None
    return first if _is_small(world, leaf, variable, first) else None


def _is_hidden(leaf: Sum, variable: Variable) -> bool:
    """Whether a product or an atom with a definition depends on a variable."""
    monomials = [*leaf.domain.monomials]
    for _, index in positions(leaf.body, frozenset()):
        monomials += index.terms
    return any(
        monomial != (variable,) and any(_depends(a, variable) for a in monomial)
        for monomial in monomials
    )


def _depends(atom: Atom, variable: Variable) -> bool:
    return variable in atom.variables


def _is_small(world: World, leaf: Sum, variable: Variable, first: Integer) -> bool:
    value = Integer.atom(variable) - first
    inside = world.compare(value, ">=", 0) & world.compare(value, "<", _MOST)
    return world.is_subset(leaf.domain, inside)


def _written_out(world: World, leaf: Sum, variable: Variable, first: Integer) -> Term:
    total = ZERO
    others = [v for v in leaf.variables if v != variable]
    for number in range(_MOST):
        names, fresh = renamed(world, others)
        env = {**names, variable: first + number}
        domain = world.substitute(leaf.domain, env)
        if not world.is_empty(domain):
            body = world.substitute(leaf.body, env)
            total = total + sum_over(world, fresh, domain, body)
    return total
