"""Which carried values something depends on: in leaves, indices and sets."""

from __future__ import annotations

from argus.terms import (
    Applied,
    Atom,
    Carried,
    IndexSet,
    Integer,
    Leaf,
    Term,
    Truncated,
    Truth,
    Value,
)

__all__ = ["CARRIED", "carried_in"]

CARRIED = "carried "
"""What the name of a carried integer tile's function begins with."""

_NONE: frozenset[str] = frozenset()


def carried_in(x: Value | Term | Integer | IndexSet) -> frozenset[str]:
    """Names of the carried values that a value, term, number or set depends on."""
    match x:
        case Value():
            cases = (y for case in x.cases for y in case)
            return carried_in(x.where).union(*map(carried_in, cases))
        case Term():
            leaves = (leaf for part in x.parts for leaf, _ in part.factors)
            exponents = (p.exponent for p in x.parts if p.exponent is not None)
            return _NONE.union(*map(_in_leaf, leaves), *map(carried_in, exponents))
        case Integer():
            return _NONE.union(*map(_in_atom, x.atoms()))
        case IndexSet():
            atoms = (atom for monomial in x.monomials for atom in monomial)
            return _NONE.union(*map(_in_atom, atoms))


def _in_leaf(leaf: Leaf) -> frozenset[str]:
    own = frozenset({leaf.name}) if isinstance(leaf, Carried) else _NONE
    parts = (*leaf.terms, *leaf.integers, *(over.domain for over in leaf.overs))
    return own.union(*map(carried_in, parts))


def _in_atom(atom: Atom) -> frozenset[str]:
    found = _NONE
    if isinstance(atom, Applied) and atom.function.startswith(CARRIED):
        found = frozenset({atom.function.removeprefix(CARRIED)})
    if isinstance(atom, Truth | Truncated):
        assert isinstance(atom.term, Term)
        found = carried_in(atom.term)
    return found.union(*map(carried_in, atom.arguments))
