"""A point of a set, at which everything that the set mentions has its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import islpy as isl

from argus.terms.integers import Atom, Integer, Monomial, Opaque, Variable
from argus.terms.isl_sets import PARAMETER, isl_number, parameters
from argus.terms.sets import IndexSet, plain

if TYPE_CHECKING:
    from argus.terms.world import World

_TRIES = 12
"""How many points are looked at before a set counts as one without a known point."""


def sample(world: World, where: IndexSet) -> dict[Variable, int] | None:
    """A point of a set, or None where none was found.

    isl takes products and opaque atoms for parameters of their own. So variables are
    fixed one after the other, and atoms that follow from them get their value.
    """
    closed = world.close(where)
    if closed.is_nothing:
        return None
    if isinstance(closed.isl, bool):
        return {}
    atoms = dict.fromkeys(a for m in closed.monomials for a in m)
    free: dict[Variable, None] = {}
    for atom in atoms:
        for variable in sorted(atom.variables, key=lambda v: v.key):
            free.setdefault(variable)
    for attempt in range(_TRIES):
        with closed.asking:
            point = _attempt(world, plain(closed), list(free), attempt)
        if point is not None:
            return point
    return None


def least(
    world: World, where: IndexSet, variables: Sequence[Variable]
) -> dict[Variable, int] | None:
    """A point of a set at which one variable after the other is as small as it can be.

    Where what atoms are keeps such a point from being one, any point; None as of
    :func:`sample`.
    """
    held = where
    for variable in variables:
        closed = world.close(held)
        if isinstance(closed.isl, bool):
            break
        with closed.asking:
            low = _minimum(closed.isl, world.space.name((variable,)))
        if low is not None:
            held = held & world.compare(Integer.atom(variable), "==", low)
    return sample(world, held) or sample(world, where)


def _minimum(value: isl.Set, name: str) -> int | None:
    """The least value of a parameter, whatever the others are; None: there is none."""
    for other in parameters(value):
        if other != name:
            at = value.find_dim_by_name(PARAMETER, other)
            value = value.project_out(PARAMETER, at, 1)
    at = value.find_dim_by_name(PARAMETER, name)
    if at < 0 or value.is_empty():
        return None
    found = value.move_dims(isl.dim_type.set, 0, PARAMETER, at, 1).dim_min_val(0)
    return int(found.to_python()) if found.is_int() else None


def _attempt(
    world: World, value: isl.Set, variables: list[Variable], attempt: int
) -> dict[Variable, int] | None:
    point: dict[Variable, int] = {}
    values: dict[Atom, int] = {}
    shift = attempt % max(1, len(variables))
    order = variables[shift:] + variables[:shift]
    for variable in order:
        name = world.space.name((variable,))
        at = value.find_dim_by_name(PARAMETER, name)
        chosen = attempt
        if at >= 0:
            found = _choose(value, at, attempt)
            if found is None:
                return None
            chosen = found
        point[variable] = values[variable] = chosen
        value = _fix_known(world, value, values)
        if value.is_empty():
            return None
    return point


def _choose(value: isl.Set, at: int, attempt: int) -> int | None:
    """A value of a parameter: one of several, then whatever isl finds."""
    for wanted in (attempt + 1, 64 * attempt):
        chosen = isl_number(value, wanted)
        if attempt and not value.fix_val(PARAMETER, at, chosen).is_empty():
            return wanted
    found = value.sample_point()
    if found.is_void():
        return None
    return int(found.get_coordinate_val(PARAMETER, at).to_python())


def _fix_known(world: World, value: isl.Set, values: dict[Atom, int]) -> isl.Set:
    """Parameters whose value follows from variables that are fixed."""
    for at, name in enumerate(parameters(value)):
        monomial = world.space.monomial(name)
        number = value_of_monomial(monomial, values)
        if number is not None:
            value = value.fix_val(PARAMETER, at, isl_number(value, number))
    return value


def value_of_monomial(monomial: Monomial, values: dict[Atom, int]) -> int | None:
    """A product of atoms, where the value of each follows from known ones."""
    product = 1
    for atom in monomial:
        value = value_of_atom(atom, values)
        if value is None:
            return None
        product *= value
    return product


def value_of(value: Integer, values: dict[Atom, int]) -> int | None:
    """An integer, where the value of each atom follows from known ones."""
    total = 0
    for monomial, coefficient in value.terms.items():
        product = value_of_monomial(monomial, values)
        if product is None:
            return None
        total += coefficient * product
    return total


def value_of_atom(atom: Atom, values: dict[Atom, int]) -> int | None:
    """An atom, where its value follows from known ones."""
    if atom in values:
        return values[atom]
    match atom:
        case Opaque(op=op):
            left, right = (value_of(a, values) for a in atom.args)
            if left is None or right is None or (op in ("div", "mod") and right == 0):
                return None
            if op in ("div", "mod"):
                return left // right if op == "div" else left % right
            return min(left, right) if op == "min" else max(left, right)
        case _:
            return None
