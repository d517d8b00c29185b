"""What is known of the place of a largest number: it is one of the points.

Of ``int(argmax X[m, j] over j < N)`` that it is from 0 to N - 1, where N is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from argus.terms.integers import Atom, Integer, Truncated
from argus.terms.leaves import Fold, Generator
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["beside", "points_of", "with_points"]


def points_of(atom: Atom | None) -> Generator | None:
    """The numbers of one variable of which an atom is the place of the largest."""
    if not isinstance(atom, Truncated) or not isinstance(atom.term, Term):
        return None
    fold = atom.term.single
    if not isinstance(fold, Fold) or fold.function != "argmax":
        return None
    if len(fold.generators) != 1 or len(fold.generators[0].variables) != 1:
        return None
    return fold.generators[0]


def beside(world: World, atom: Atom) -> Iterator[tuple[IndexSet, IndexSet]]:
    """That such an atom is one of the points, or that there is none."""
    points = points_of(atom)
    if points is None:
        return
    try:
        some = world.project(points.domain, points.variables)
    except Unknown:
        return
    place = {points.variables[0]: Integer.atom(atom)}
    yield world.substitute(points.domain, place), ~some


def with_points(world: World, closed: IndexSet) -> IndexSet:
    """A set with the facts of what says how many points there are to stand at.

    That N > 1 where a place is another one than that of the largest of N numbers.
    """
    points = [points_of(a) for m in closed.monomials for a in m]
    mentioned = dict.fromkeys(m for p in points if p for m in p.domain.monomials)
    new = [m for m in mentioned if m not in closed.monomials]
    return closed & world.facts(new) if new else closed
