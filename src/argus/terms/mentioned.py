"""What stands anywhere in a term: in sums, indices, and data that sets compare."""

from __future__ import annotations

from typing import cast

from argus.terms.integers import Atom, Integer, Truncated, Truth
from argus.terms.leaves import Carried, Element, Leaf, Scalar
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.value import Value
from argus.terms.world import World

Input = Element | Carried | Scalar
_NONE: frozenset[Leaf] = frozenset()


def inputs(world: World, x: Value | Term | Integer | IndexSet) -> frozenset[Leaf]:
    """Elements, scalars, and what is carried, anywhere in something.

    Bound variables in their indices have the names that they are bound by.
    """
    match x:
        case Term():
            return _in_term(world, x)
        case Integer():
            return _in_integer(world, x)
        case IndexSet():
            return _in_set(world, x)
        case Value():
            found = _in_set(world, x.where)
            for where, y in x.cases:
                found |= _in_set(world, where) | inputs(world, y)
            return found


def _in_term(world: World, term: Term) -> frozenset[Leaf]:
    key = ("inputs", term)
    known = world.memory.get(key)
    if known is not None:
        return cast(frozenset[Leaf], known)
    found = _NONE
    for part in term.parts:
        for leaf, _ in part.factors:
            found |= inputs_of_leaf(world, leaf)
        if part.exponent is not None:
            found |= _in_term(world, part.exponent)
    world.memory[key] = found
    return found


def inputs_of_leaf(world: World, leaf: Leaf) -> frozenset[Leaf]:
    """Those of a leaf, itself if it is one."""
    own: frozenset[Leaf] = frozenset({leaf}) if isinstance(leaf, Input) else _NONE
    return own.union(
        *(_in_integer(world, x) for x in leaf.integers),
        *(_in_set(world, x.domain) for x in leaf.overs),
        *(_in_term(world, x) for x in leaf.terms),
    )


def _in_set(world: World, where: IndexSet) -> frozenset[Leaf]:
    found = _NONE
    for monomial in where.monomials:
        for atom in monomial:
            found |= _in_atom(world, atom)
    return found


def _in_integer(world: World, value: Integer) -> frozenset[Leaf]:
    return _NONE.union(*(_in_atom(world, atom) for atom in value.atoms()))


def _in_atom(world: World, atom: Atom) -> frozenset[Leaf]:
    if isinstance(atom, Truth | Truncated):
        assert isinstance(atom.term, Term)
        return _in_term(world, atom.term)
    return _NONE.union(*(_in_integer(world, a) for a in atom.arguments))
