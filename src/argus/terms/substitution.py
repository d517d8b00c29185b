"""Variables replaced by integers, in atoms, integers and sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import islpy as isl

from argus.terms import division
from argus.terms.integers import (
    Applied,
    Atom,
    DataTerm,
    Entry,
    Integer,
    Monomial,
    Opaque,
    Truncated,
    Truth,
    Variable,
)
from argus.terms.isl_sets import PARAMETER, parameters
from argus.terms.sets import IndexSet, is_native, plain
from argus.terms.space import Space

if TYPE_CHECKING:
    from argus.terms.world import World

Environment: TypeAlias = Mapping[Variable, Integer]


def in_atom(world: World, atom: Atom, env: Environment) -> Integer:
    """An atom with variables replaced."""
    if isinstance(atom, Variable):
        return env[atom] if atom in env else Integer.atom(atom)
    if not any(v in env for v in atom.variables):
        return Integer.atom(atom)
    match atom:
        case Opaque():
            left, right = (in_integer(world, a, env) for a in atom.args)
            return of_others(world, atom, left, right)
        case Entry():
            indices = tuple(in_integer(world, i, env) for i in atom.indices)
            return Integer.atom(Entry(atom.tensor, indices))
        case Applied():
            args = tuple(in_integer(world, a, env) for a in atom.args)
            return Integer.atom(Applied(atom.function, args))
        case Truth():
            return world.truth_of(atom.op, _in_data(world, atom.term, env))
        case Truncated():
            return world.truncation_of(_in_data(world, atom.term, env))
        case _:
            raise TypeError(f"variables in {type(atom).__name__}")


def of_others(world: World, atom: Opaque, left: Integer, right: Integer) -> Integer:
    """The quotient, remainder, minimum or maximum of integers that an atom is."""
    if atom.op == "div":
        return division.quotient(world, left, right)
    if atom.op == "mod":
        return division.remainder(world, left, right)
    return division.extreme(world, atom.op, left, right)


def _in_data(world: World, term: DataTerm, env: Environment) -> DataTerm:
    return world.substitute(term, env)


def in_integer(world: World, value: Integer, env: Environment) -> Integer:
    """An integer with variables replaced."""
    if not any(v in env for v in value.variables()):
        return value
    sums: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms.items():
        changed = in_monomial(world, monomial, env)
        parts = {monomial: 1} if changed is None else changed.terms
        for part, count in parts.items():
            sums[part] = sums.get(part, 0) + count * coefficient
    return Integer(sums)


def in_monomial(world: World, monomial: Monomial, env: Environment) -> Integer | None:
    """A product of atoms with variables replaced; None where it has none of them."""
    if not any(v in env for atom in monomial for v in atom.variables):
        return None
    found = Integer.of(1)
    for atom in monomial:
        found = found * in_atom(world, atom, env)
    return found


def in_set(world: World, where: IndexSet, env: Environment) -> IndexSet:
    """A set with variables replaced.

    A parameter that becomes another is renamed. One that becomes an expression gets a
    name of its own, is equated with the expression, and then projected out, which is
    exact: it equals something.
    """
    if isinstance(where.isl, bool):
        return where
    used = where.variables()
    changed = {v: e for v, e in env.items() if v in used}
    if not changed:
        return where
    key = ("set", where, tuple(changed.items()))
    found = world.memory.get(key)
    if found is None:
        found = world.memory[key] = in_set_by(
            world, where, lambda monomial: in_monomial(world, monomial, changed)
        )
    assert isinstance(found, IndexSet)
    return found


def in_set_by(
    world: World, where: IndexSet, change: Callable[[Monomial], Integer | None]
) -> IndexSet:
    """A set with each monomial that it mentions replaced; None: it stays."""
    if isinstance(where.isl, bool):
        return where
    space = world.space
    becomes: dict[Monomial, Integer] = {}
    for monomial in where.monomials:
        value = change(monomial)
        if value is not None and value.terms != {monomial: 1}:
            becomes[monomial] = value
    if not becomes:
        return where
    kept = {m for m in where.monomials if m not in becomes}
    equated: list[tuple[str, Integer]] = []
    renamed: dict[str, str] = {}
    taken = {space.name(m) for m in kept}
    for number, (monomial, value) in enumerate(becomes.items()):
        target = _parameter(space, value)
        if target is not None and target not in taken:
            taken.add(target)
            renamed[space.name(monomial)] = target
        else:
            renamed[space.name(monomial)] = f"t{number}"
            equated.append((f"t{number}", value))
    with space.asking:
        found = _rename(plain(where), renamed)
        for name, value in equated:
            found = found.intersect(space.condition(value, "==", less=name))
    result = IndexSet(found, space).without([name for name, _ in equated])
    return result.coalesced() if equated else result


def _rename(value: isl.Set, names: Mapping[str, str]) -> isl.Set:
    """Parameters under other names, all at once: names may be swapped."""
    for at, name in enumerate(parameters(value)):
        if name in names:
            value = value.set_dim_name(PARAMETER, at, f"r{names[name]}")
    for at, name in enumerate(parameters(value)):
        if name.startswith("r"):
            value = value.set_dim_name(PARAMETER, at, name[1:])
    return value


def _parameter(space: Space, value: Integer) -> str | None:
    """The parameter that stands for an integer, if one does."""
    if len(value.terms) != 1:
        return None
    ((monomial, coefficient),) = value.terms.items()
    if coefficient != 1 or not monomial or is_native(monomial):
        return None
    return space.name(monomial)
