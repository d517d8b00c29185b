"""What is compared or cut of data, in the sets of sums and maxima, where a set holds.

``k != int(argmax X[m, j] over m < M, j < N)`` says the same as without ``m < M`` where
that holds. A tile that is loaded with padding has such a condition in its data, and a
reference has none.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.terms.integers import Atom, Entry, Integer, Monomial, Truncated, Truth
from argus.terms.leaves import Constant, Element, Max, Scalar
from argus.terms.sets import IndexSet
from argus.terms.some_points import has_points
from argus.terms.substitution import in_set_by
from argus.terms.term import Term
from argus.terms.world import World

Cut = Callable[[Term, IndexSet], Term]
"""A term as it is where a set holds."""


def is_data(atom: Atom) -> bool:
    """Whether an atom is made of data that has sums or maxima."""
    return isinstance(atom, Truth | Truncated) and atom.height > 0


def without_data(world: World, where: IndexSet) -> IndexSet:
    """What a set says of all but such data."""
    return _without(world, where, is_data)


def without_tables(world: World, where: IndexSet) -> IndexSet:
    """What a set says of positions and sizes alone, of no data and no entry."""
    return _without(
        world, where, lambda atom: isinstance(atom, Truth | Truncated | Entry)
    )


def _without(world: World, where: IndexSet, asked: Callable[[Atom], bool]) -> IndexSet:
    """What a set says without monomials that have some atoms."""
    names = [world.space.name(m) for m in where.monomials if any(map(asked, m))]
    return where.without(names) if names else where


def with_data_cut(
    world: World, domain: IndexSet, where: IndexSet, cut: Cut
) -> IndexSet:
    """The same set, wherever another one holds, with its data as it is there."""
    mentioned = [a for m in domain.monomials for a in m if is_data(a)]
    if not mentioned:
        return domain
    there = without_data(world, where)
    if there.is_universe:
        return domain
    known = {atom: _cut(world, atom, there, cut) for atom in mentioned}

    def change(monomial: Monomial) -> Integer:
        found = Integer.of(1)
        for atom in monomial:
            found = found * known.get(atom, Integer.atom(atom))
        return found

    return in_set_by(world, domain, change)


def _cut(world: World, atom: Atom, there: IndexSet, cut: Cut) -> Integer:
    assert isinstance(atom, Truth | Truncated)
    assert isinstance(atom.term, Term)
    term = cut(atom.term, there)
    if term.infinite and isinstance(atom, Truth):
        return _of_infinity(world, atom, there, cut)
    if term == atom.term or term.special is not None:
        return Integer.atom(atom)
    if isinstance(atom, Truth):
        return world.truth_of(atom.op, term)
    return world.truncation_of(term)


def _of_infinity(world: World, atom: Truth, there: IndexSet, cut: Cut) -> Integer:
    """What is asked of a sum of which something is infinite there, if that says it.

    It does where nothing else is infinite with the other sign: elements are finite, and
    so are extremes of some number.
    """
    assert isinstance(atom.term, Term)
    signs: set[int] = set()
    for part, coefficient in atom.term.parts.items():
        one = cut(Term({part: coefficient}), there)
        if one.infinite:
            signs.add(one.infinite)
        elif not _is_finite(world, one, there):
            return Integer.atom(atom)
    if len(signs) != 1:
        return Integer.atom(atom)
    return Integer.of(int(atom.op == "gt" and signs == {1}))


def _is_finite(world: World, term: Term, there: IndexSet) -> bool:
    """Whether a term is made of elements, and of extremes of some number."""
    if term.special is not None:
        return False
    return all(
        part.exponent is None
        and all(
            power == 1
            and (
                isinstance(leaf, Element | Scalar | Constant)
                or (isinstance(leaf, Max) and has_points(world, there, leaf))
            )
            for leaf, power in part.factors
        )
        for part in term.parts
    )
