"""Opaque integers that are simpler where a set holds.

The number of blocks `(T + 127) // 128` is 1 where 0 < T <= 128, and `min(a, b)` is `a`
where a <= b. So positions that differ elsewhere only become equal.
"""

from __future__ import annotations

from argus.terms.integers import Atom, Entry, Integer, Opaque, Variable
from argus.terms.positions import positions
from argus.terms.replace import replace
from argus.terms.sampling import value_of_atom
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.value import Value
from argus.terms.world import World

_EXTREMES = ("min", "max")


def settled(
    world: World, term: Term, where: IndexSet, bound: frozenset[Variable]
) -> Term:
    """A term whose opaque integers have the simplest form that they have in a set.

    ``bound``: variables of the set that sums around the term bind. Of what stands in a
    sum, minima and maxima are looked at alone, and quotients of entries of tables:
    ``max(0, c[k])`` and ``c[k] // N`` where c[k] is an index.
    """
    atoms = _opaque(term, bound)
    if not atoms:
        return term
    point: dict[Atom, int] = {}
    if not bound:
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


def settled_set(world: World, where: IndexSet) -> IndexSet:
    """The same set with entries at the simplest places that they have in it.

    Where n > 0, ``I[max(n - 1, 0)]`` is the entry before.
    """
    atoms = [
        inner
        for monomial in where.monomials
        for atom in monomial
        if isinstance(atom, Entry)
        for index in atom.indices
        for inner in index.atoms()
        if isinstance(inner, Opaque) and inner.op in _EXTREMES
    ]
    known: dict[Atom, Integer] = {}
    for atom in dict.fromkeys(atoms):
        value = _value(world, where, atom, {})
        if value is not None:
            known[atom] = value
    if not known:
        return where
    return replace(world, Value.truth(where), lambda leaf: None, atoms=known).where


def _opaque(term: Term, bound: frozenset[Variable]) -> list[Opaque]:
    """Quotients, minima and maxima in indices, of free variables and given ones."""
    found: dict[Opaque, None] = {}
    for _, index in positions(term, frozenset()):
        for atom in index.atoms():
            if not isinstance(atom, Opaque) or (bound and not _is_looked_at(atom)):
                continue
            hidden = (v for v in atom.variables if v.name.startswith("$"))
            if all(v in bound for v in hidden):
                found.setdefault(atom)
    return list(found)


def _is_looked_at(atom: Opaque) -> bool:
    """Whether it is looked at in a sum, which has many points to be asked for."""
    if atom.op in _EXTREMES:
        return True
    of_entry = any(isinstance(a, Entry) for a in atom.args[0].all_atoms())
    return atom.op == "div" and atom.args[1].constant is None and of_entry


def _value(
    world: World, where: IndexSet, atom: Opaque, point: dict[Atom, int]
) -> Integer | None:
    """What an atom equals in the whole set: a number, or one of two arguments."""
    if atom.op == "div" and atom.args[1].constant is None:
        return _quotient(world, where, *atom.args)
    sampled = value_of_atom(atom, point)
    candidates = [] if sampled is None else [Integer.of(sampled)]
    if atom.op in _EXTREMES:
        candidates += atom.args
    for candidate in candidates:
        same = world.compare(Integer.atom(atom), "==", candidate)
        if world.is_subset(where, same):
            return candidate
    return None


def _quotient(
    world: World, where: IndexSet, dividend: Integer, divisor: Integer
) -> Integer | None:
    """What a quotient by a size is in the whole set, if that is a number.

    Of ``(3 n + x) // (2 n)`` with ``0 <= x < n`` it is 1.
    """
    if len(divisor.terms) != 1:
        return None
    ((monomial, number),) = divisor.terms.items()
    for times in dict.fromkeys((dividend.terms.get(monomial, 0) // number, 0)):
        rest = dividend - divisor * times
        inside = world.compare(rest, ">=", 0) & world.compare(rest, "<", divisor)
        if world.is_subset(where, inside):
            return Integer.of(times)
    return None
