"""Which carried values a term depends on: in its leaves, indices and sets."""

from __future__ import annotations

from argus.terms import (
    Applied,
    Atom,
    Base,
    Call,
    Carried,
    Constant,
    Element,
    Entry,
    Generated,
    IndexSet,
    Infinity,
    Integer,
    Leaf,
    Opaque,
    Scalar,
    Sum,
    Term,
    Truncated,
    Truth,
    Undefined,
    Value,
    Variable,
    Whole,
)

__all__ = ["CARRIED", "carried_in", "carried_in_set", "carried_in_term"]

CARRIED = "carried "
"""What the name of a carried integer tile's function begins with."""

_NONE: frozenset[str] = frozenset()


def carried_in(value: Value) -> frozenset[str]:
    """Names of the carried values that a value depends on."""
    found = carried_in_set(value.where)
    for where, x in value.cases:
        found |= carried_in_set(where)
        found |= carried_in_term(x) if isinstance(x, Term) else _in_integer(x)
    return found


def carried_in_set(where: IndexSet) -> frozenset[str]:
    """Names of the carried values that a set depends on."""
    found = _NONE
    for monomial in where.monomials:
        for atom in monomial:
            found |= _in_atom(atom)
    return found


def carried_in_term(term: Term) -> frozenset[str]:
    """Names of the carried values that a term depends on."""
    found = _NONE
    for part in term.parts:
        for leaf, _ in part.factors:
            found |= _in_leaf(leaf)
        if part.exponent is not None:
            found |= carried_in_term(part.exponent)
    return found


def _in_leaf(leaf: Leaf) -> frozenset[str]:
    found = _NONE
    for term in leaf.terms:
        found |= carried_in_term(term)
    match leaf:
        case Carried():
            return found | {leaf.name}
        case Sum():
            return found | carried_in_set(leaf.domain)
        case Generated():
            for generator in leaf.generators:
                found |= carried_in_set(generator.domain)
            return found
        case Whole():
            return found | _in_atom(leaf.atom)
        case Element():
            for index in leaf.indices:
                found |= _in_integer(index)
            return found
        case Base() | Call():
            return found
        case Scalar() | Constant() | Infinity() | Undefined():
            return found
        case _:
            raise TypeError(f"a leaf that is not known here: {leaf}")


def _in_integer(value: Integer) -> frozenset[str]:
    found = _NONE
    for atom in value.atoms():
        found |= _in_atom(atom)
    return found


def _in_atom(atom: Atom) -> frozenset[str]:
    found = _NONE
    match atom:
        case Applied() if atom.function.startswith(CARRIED):
            found = frozenset({atom.function.removeprefix(CARRIED)})
        case Truth() | Truncated():
            if not isinstance(atom.term, Term):
                raise TypeError(f"data that is no term: {atom.term}")
            found = carried_in_term(atom.term)
        case Variable() | Opaque() | Entry() | Applied():
            pass  # their arguments follow
        case _:
            raise TypeError(f"an atom that is not known here: {atom}")
    for argument in atom.arguments:
        found |= _in_integer(argument)
    return found
