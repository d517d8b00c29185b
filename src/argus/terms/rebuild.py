"""Terms made anew from their leaves: variables replaced, leaves replaced by values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from argus.terms.integers import Integer, Variable
from argus.terms.leaves import Base, Call, Carried, Element, Leaf, Whole
from argus.terms.powers import exponential, raised
from argus.terms.term import Term, leaf_term, number, whole
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World


def substituted(world: World, term: Term, env: Mapping[Variable, Integer]) -> Term:
    """A term with variables replaced."""
    free = term.free_variables()
    changed = {v: e for v, e in env.items() if v in free}
    if not changed:
        return term
    key = ("term", term, tuple(changed.items()))
    found = world.memory.get(key)
    if found is None:
        found = world.memory[key] = _substituted(world, term, changed)
    assert isinstance(found, Term)
    return found


def _substituted(world: World, term: Term, env: Mapping[Variable, Integer]) -> Term:
    total = number(0)
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        for leaf, power in part.factors:
            made = made * raised(_in_leaf(world, leaf, env), power)
        if part.exponent is not None:
            made = made * exponential(substituted(world, part.exponent, env))
        total = total + made
    return total


def _in_leaf(world: World, leaf: Leaf, env: Mapping[Variable, Integer]) -> Term:
    if not any(v in env for v in leaf.free):
        return leaf_term(leaf)
    match leaf:
        case Element():
            indices = [world.substitute(i, env) for i in leaf.indices]
            return leaf_term(Element(leaf.tensor, indices))
        case Carried():
            indices = [world.substitute(i, env) for i in leaf.indices]
            return leaf_term(Carried(leaf.name, indices))
        case Whole():
            return whole(world.atom_value(leaf.atom, env))
        case Call():
            return leaf_term(
                Call(leaf.function, [substituted(world, a, env) for a in leaf.args])
            )
        case Base():
            return substituted(world, leaf.term, env)
        case _:
            raise Unknown(f"variables in {leaf}")
