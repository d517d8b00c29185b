"""Terms with variables replaced, brought into normal form again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from argus.terms.arithmetic import called
from argus.terms.folds import refolded
from argus.terms.integers import Integer, Variable
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Element,
    Fold,
    Generated,
    Generator,
    Leaf,
    Max,
    Sum,
    Whole,
)
from argus.terms.maxima import Source, maximum_of_generators, maximum_over
from argus.terms.naming import generator_of, sum_of
from argus.terms.opening import closing
from argus.terms.powers import exponential, raised
from argus.terms.sums import renamed, sum_over
from argus.terms.term import ZERO, Term, leaf_term, number, whole

if TYPE_CHECKING:
    from argus.terms.world import World

Environment = Mapping[Variable, Integer]


def substituted(world: World, term: Term, env: Environment) -> Term:
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


@closing
def _substituted(world: World, term: Term, env: Environment) -> Term:
    total = ZERO
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        for leaf, power in part.factors:
            made = made * raised(_in_leaf(world, leaf, env), power)
        if part.exponent is not None:
            made = made * exponential(substituted(world, part.exponent, env))
        total = total + made
    return total


def _in_leaf(world: World, leaf: Leaf, env: Environment) -> Term:
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
            args = [substituted(world, a, env) for a in leaf.args]
            return called(world, leaf.function, args)
        case Base():
            return substituted(world, leaf.term, env)
        case Sum():
            return _in_sum(world, leaf, env)
        case Max():
            return _in_maximum(world, leaf, env)
        case Fold():
            return refolded(world, leaf, _opened(world, leaf, env))
        case _:
            raise TypeError(f"variables in {type(leaf).__name__}")


def _in_sum(world: World, leaf: Sum, env: Environment) -> Term:
    """A sum keeps its variables where others are only renamed."""
    if is_renaming(env) and not _binds(leaf.variables, env):
        domain = world.substitute(leaf.domain, env)
        body = substituted(world, leaf.body, env)
        if body.height == leaf.body.height and not domain.is_universe:
            return sum_of(world, leaf.variables, domain, body)
    opened, fresh = renamed(world, leaf.variables)
    both = {**env, **opened}
    domain = world.substitute(leaf.domain, both)
    return sum_over(world, fresh, domain, world.substitute(leaf.body, both))


def _in_maximum(world: World, leaf: Max, env: Environment) -> Term:
    if is_renaming(env):
        generators: list[Generator] = []
        for old in leaf.generators:
            if _binds(old.variables, env):
                break
            domain = world.substitute(old.domain, env)
            body = substituted(world, old.body, env)
            if body.height != old.body.height:
                break
            made = generator_of(world, old.variables, domain, body)
            if not made.domain.is_nothing:
                generators.append(made)
        else:
            return maximum_of_generators(world, generators)
    return maximum_over(world, _opened(world, leaf, env))


def _opened(world: World, leaf: Generated, env: Environment) -> list[Source]:
    """Generators with bound variables that nothing else has, and others replaced."""
    sources: list[Source] = []
    for old in leaf.generators:
        names, fresh = renamed(world, old.variables)
        both = {**env, **names}
        domain = world.substitute(old.domain, both)
        sources.append((fresh, domain, world.substitute(old.body, both)))
    return sources


def _binds(names: Sequence[Variable], env: Environment) -> bool:
    """Whether variables become one that is bound: it would be another one there."""
    return any(name in value.variables() for value in env.values() for name in names)


def is_renaming(env: Environment) -> bool:
    """Whether variables become other variables, no two the same."""
    targets = [e.single for e in env.values()]
    return all(isinstance(t, Variable) for t in targets) and len(set(targets)) == len(
        targets
    )
