"""How many points a set has, where that is a number or a product of extents."""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import affine
from argus.terms.integers import Atom, Integer, Opaque, Variable, variable_of
from argus.terms.sets import IndexSet
from argus.terms.term import ONE, Term, whole
from argus.terms.world import World

__all__ = ["apart", "point_count", "unpacked"]


def point_count(
    world: World, names: Sequence[Variable], closed: IndexSet
) -> tuple[Term, IndexSet] | None:
    """How many points a set has, and where; None if that is neither of both."""
    found = _by_extents(world, names, closed)
    if found is None and (same := affine.same_count(world, closed, names)):
        found = whole(Integer.of(same[0])), same[1]
    return found


def _by_extents(
    world: World, names: Sequence[Variable], closed: IndexSet
) -> tuple[Term, IndexSet] | None:
    """The same, if it is a product of extents.

    None where an extent is rounded and depends on a position: a sum of such counts is
    often simpler than each, the rows of all lanes together, and is found as one sum.
    """
    total = ONE
    none = IndexSet.nothing
    for name in names:
        extent = _extent(world, names, closed, name)
        if extent is None:
            return None
        none = none | world.compare(extent, "==", 0)
        total = total * whole(extent)
        closed = closed.without([world.space.name((name,))])
    return total, closed | none


def apart(
    world: World, names: Sequence[Variable], domain: IndexSet, name: Variable
) -> tuple[Term, IndexSet] | None:
    """How many values a variable has beside each of the others, and the set of these.

    None where that is not one number for all of them, or it is rounded.
    """
    extent = _extent(world, names, domain, name)
    if extent is None:
        return None
    return whole(extent), domain.without([world.space.name((name,))])


def unpacked(
    world: World, name: Variable, closed: IndexSet
) -> tuple[int, Variable, IndexSet] | None:
    """A variable that is two, of which one has as many values beside each of the other.

    How many, the other, and its set. Variables that are only counted are packed into
    one (`binding.py`): where less is asked of them, they are apart again.
    """
    for size in affine.divisors(closed):
        left, right = world.opened("q"), world.opened("r")
        there = world.substitute(closed, {name: left * size + right})
        there = there & world.compare(right, ">=", -(size // 2))
        there = there & world.compare(right, "<", -(size // 2) + size)
        same = affine.same_count(world, world.close(there), [variable_of(right)])
        if same is not None:
            return same[0], variable_of(left), same[1]
    return None


def _extent(
    world: World, names: Sequence[Variable], domain: IndexSet, name: Variable
) -> Integer | None:
    """How many values a variable has; None where others or rounding decide it."""
    found = affine.extent(world, domain, name)
    if found is None or (found[1] - found[0]).variables() & frozenset(names):
        return None
    if any(_rounds_positions(atom) for end in found for atom in end.atoms()):
        return None
    least, largest = found
    return largest - least + 1


def _rounds_positions(atom: Atom) -> bool:
    """Whether an atom is a quotient or the like of what has an upper bound."""
    return isinstance(atom, Opaque) and any(v.upper is not None for v in atom.variables)
