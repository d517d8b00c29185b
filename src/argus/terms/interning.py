"""One object for all equal sets, so that terms over equal sets are equal objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import islpy as isl

from argus.terms import facts, substitution
from argus.terms.integers import Integer, Monomial, Opaque
from argus.terms.isl_sets import PARAMETER
from argus.terms.sets import IndexSet, plain

if TYPE_CHECKING:
    from argus.terms.world import World

_Mentioned: TypeAlias = frozenset[Monomial]


class Interned:
    """The canonical sets of a world, by what they mention together with their facts."""

    def __init__(self) -> None:
        self.sets: dict[_Mentioned, list[tuple[IndexSet, IndexSet]]] = {}
        """(what is said, the set with its facts): one of each form that was met."""
        self.found: dict[IndexSet, IndexSet] = {}
        self.count = 2

    def equal_one(self, closed: IndexSet) -> IndexSet | None:
        """What is said of a set that is equal together with its facts."""
        for said, other in self.sets.get(frozenset(closed.monomials), ()):
            if other.same(closed):
                return said
        return None

    def add(self, said: IndexSet, closed: IndexSet) -> None:
        """A set in a form that equals none before it."""
        if said.number is None:
            said.number = self.count
            self.count += 1
        self.sets.setdefault(frozenset(closed.monomials), []).append((said, closed))


def canonical(world: World, where: IndexSet) -> IndexSet:
    """One object for all sets that are equal where their facts hold.

    Facts are those of what the set mentions. A set that is said to be canonical stays
    it when a world learns more: a requirement only makes more sets equal.
    """
    if isinstance(where.isl, bool):
        return where
    interned = world.interned
    found = interned.found.get(where)
    if found is None:
        found = interned.found[where] = _found(world, where)
        interned.found[found] = found
    return found


def _found(world: World, where: IndexSet) -> IndexSet:
    known = world.facts(where.monomials)
    closed = where & known
    if isinstance(closed.isl, bool):
        return closed
    interned = world.interned
    found = interned.equal_one(closed)
    if found is None:
        found = _new(world, where, closed, known)
        interned.add(found, closed)
    return found


def _new(world: World, where: IndexSet, closed: IndexSet, known: IndexSet) -> IndexSet:
    """What is said of a set of which this form was not met before."""
    if facts.is_refuted(world, closed):
        return IndexSet.nothing
    hull = closed.hull()
    if hull is not closed and (hull & known).within(closed):
        where = closed = hull
    said = where.gist(known)
    simpler = _without_extremes(world, said)
    if simpler is said:
        return _known_alone(world, said, closed)
    simpler = simpler.gist(world.facts(simpler.monomials))
    if _complexity(simpler) > _complexity(said):
        return said
    return _known_alone(world, simpler, closed)


def _known_alone(world: World, said: IndexSet, closed: IndexSet) -> IndexSet:
    """What is said of a set that is known already beside the facts of itself alone.

    ``closed`` is the set on the way to it: it may mention more, of which facts said all
    that it said.
    """
    again = world.close(said)
    if isinstance(again.isl, bool):
        return again
    if again.monomials == closed.monomials and again.same(closed):
        return said
    interned = world.interned
    found = interned.equal_one(again)
    if found is None:
        found = said
        interned.add(found, again)
    return found


def _complexity(where: IndexSet) -> tuple[int, int]:
    """How many quotients the parts of a set have, and how many parts there are."""
    if isinstance(where.isl, bool):
        return 0, 0
    with where.asking:
        parts = where.isl.get_basic_sets()
        return max(p.dim(isl.dim_type.div) for p in parts), len(parts)


def _without_extremes(world: World, said: IndexSet) -> IndexSet:
    """The same set without minima and maxima, where both arguments say it all.

    ``k < min(a, b)`` is ``k < a and k < b``: a set to which every larger number belongs
    in the place of the minimum, too, says it of both, since the minimum is one of them
    and no larger than either. Alike maxima, with smaller numbers.
    """
    for monomial in said.monomials if not isinstance(said.isl, bool) else ():
        if len(monomial) == 1 and facts.is_extreme(monomial[0]):
            atom = monomial[0]
            sign = 1 if isinstance(atom, Opaque) and atom.op == "min" else -1
            with said.asking:
                closed = _is_closed_under(plain(said), world.space.name(monomial), sign)
            if closed:
                left, right = atom.arguments
                said = _put(world, said, monomial, left) & _put(
                    world, said, monomial, right
                )
    return said


def _put(world: World, where: IndexSet, monomial: Monomial, value: Integer) -> IndexSet:
    return substitution.in_set_by(
        world, where, lambda one: value if one == monomial else Integer({one: 1})
    )


def _is_closed_under(where: isl.Set, name: str, sign: int) -> bool:
    """Whether larger numbers (of sign -1: smaller ones) of a parameter are in it, too.

    Looks at the sign of the parameter in every constraint.
    """
    # isl tells what quotients are of where it has computed them.
    known = where.compute_divs()
    at = known.find_dim_by_name(PARAMETER, name)
    for piece in known.get_basic_sets():
        if any(
            not piece.get_div(place).get_coefficient_val(PARAMETER, at).is_zero()
            for place in range(piece.dim(isl.dim_type.div))
        ):
            return False
        for constraint in piece.get_constraints():
            factor = constraint.get_coefficient_val(PARAMETER, at)
            if factor.is_zero():
                continue
            if constraint.is_equality() or factor.sgn() != sign:
                return False
    return True
