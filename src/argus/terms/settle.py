"""Opaque integers that are simpler where a set holds.

The number of blocks `(T + 127) // 128` is 1 where 0 < T <= 128, and `min(a, b)` is `a`
where a <= b. So positions that differ elsewhere only become equal.
"""

from __future__ import annotations

from argus.terms.integers import Atom, Integer, Opaque
from argus.terms.positions import positions
from argus.terms.replace import replace
from argus.terms.sampling import value_of_atom
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.world import World


def settled(world: World, term: Term, where: IndexSet) -> Term:
    """A term whose opaque integers have the simplest form that they have in a set."""
    atoms = _opaque(term)
    if not atoms:
        return term
    point: dict[Atom, int] = {}
    for variable, number in (world.sample(where) or {}).items():
        point[variable] = number
    known: dict[Atom, Integer] = {}
    for atom in atoms:
        value = _value(world, where, atom, point)
        if value is not None:
            known[atom] = value
    if not known:
        return term
    return replace(world, term, lambda leaf: None, atoms=known).term


def _opaque(term: Term) -> list[Opaque]:
    """Quotients, minima and maxima in indices, of free variables only."""
    found: dict[Opaque, None] = {}
    for _, index in positions(term, frozenset()):
        for atom in index.atoms():
            if isinstance(atom, Opaque) and not any(
                v.name.startswith("$") for v in atom.variables
            ):
                found.setdefault(atom)
    return list(found)


def _value(
    world: World, where: IndexSet, atom: Opaque, point: dict[Atom, int]
) -> Integer | None:
    """What an atom equals in the whole set: a number, or one of two arguments."""
    sampled = value_of_atom(atom, point)
    candidates = [] if sampled is None else [Integer.of(sampled)]
    if atom.op in ("min", "max"):
        candidates += atom.args
    for candidate in candidates:
        same = world.compare(Integer.atom(atom), "==", candidate)
        if world.is_subset(where, same):
            return candidate
    return None
