"""Which elements of an output are written, and what the others hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.terms import (
    IndexSet,
    Integer,
    Unknown,
    Untraced,
    Value,
    Variable,
    World,
    element,
)
from argus.terms.integers import Atom, Monomial, Opaque
from argus.terms.some_points import some_points
from argus.verify.denotation import Store
from argus.verify.equality.permuted import relabelled
from argus.verify.equality.result import Array

__all__ = [
    "PointsAt", "digits", "initial", "points_at", "positions", "untraced_part",
    "unwritten",
]  # fmt: skip


def positions(
    world: World, dims: Sequence[str], sizes: Sequence[Integer]
) -> tuple[list[Integer], IndexSet]:
    """A variable for each dimension of an output, and the set of its positions."""
    found = [
        world.fresh(dim.lower(), 0, size) for dim, size in zip(dims, sizes, strict=True)
    ]
    return found, world.inside(found, sizes)


def unwritten(
    world: World, stores: Sequence[Store], at: Sequence[Integer], inside: IndexSet
) -> IndexSet:
    """Positions that no store writes. Raises Unknown where sets cannot say it.

    Where entries of a table say which are written, it is said of data: that so many
    points of the store write a position, which a term counts, and that it is none.
    """
    left = inside
    for store in stores:
        left = left - _written(world, store, at)
        if world.is_empty(left):
            return IndexSet.nothing
    return left


def _written(world: World, store: Store, at: Sequence[Integer]) -> IndexSet:
    try:
        return image(world, store, at)
    except Unknown:
        return _determined(world, store, at)


def _determined(world: World, store: Store, at: Sequence[Integer]) -> IndexSet:
    """The same where data decide it: of the one point that can write a position."""
    try:
        return digits(world, store, at)[0]
    except Unknown:
        made = relabelled(world, store) if world.distinct else None
        if made is not None:
            return _written(world, made, at)
        return _counted(world, store, at)


def _counted(world: World, store: Store, at: Sequence[Integer]) -> IndexSet:
    """Where at least one point of a store writes a position."""
    where = store.where
    for coord, position in zip(store.coords, at, strict=True):
        where = where & world.compare(coord, "==", position)
    return some_points(world, [(store.variables, where)])


def image(world: World, store: Store, at: Sequence[Integer]) -> IndexSet:
    """Positions that a store writes. Raises Unknown.

    Variables of the store that a position determines are replaced by it first, so that
    data are named by positions, too.
    """
    points = points_at(world, store, at)
    return world.project(points.where, points.variables)


@dataclass(frozen=True)
class PointsAt:
    """Points of a store that write a position: ``variables`` that it leaves open.

    ``replaced``: what the others are, one after the other.
    """

    where: IndexSet
    variables: tuple[Variable, ...]
    replaced: tuple[Mapping[Variable, Integer], ...]


def points_at(world: World, store: Store, at: Sequence[Integer]) -> PointsAt:
    """The points of a store that write a position."""
    where, left = store.where, list(store.variables)
    coords, at = _multiplied(store.coords, at)
    replaced: list[Mapping[Variable, Integer]] = []
    for number, position in enumerate(at):
        solved = solved_for(coords[number], position, left)
        if solved is None:
            continue
        variable, value = solved
        env = {variable: value}
        # The bounds of a variable that is replaced are conditions on what it becomes.
        if variable.lower is not None:
            where = where & world.compare(Integer.atom(variable), ">=", variable.lower)
        if variable.upper is not None:
            where = where & world.compare(Integer.atom(variable), "<", variable.upper)
        where = world.substitute(where, env)
        coords = [world.substitute(c, env) for c in coords]
        left.remove(variable)
        replaced.append(env)
    for coord, position in zip(coords, at, strict=True):
        where = where & world.compare(coord, "==", position)
    return PointsAt(where, tuple(left), tuple(replaced))


def _multiplied(
    coords: Sequence[Integer], at: Sequence[Integer]
) -> tuple[list[Integer], list[Integer]]:
    """Coordinates and what they are, without quotients that others say.

    Where ``m // W`` is h and ``m - W (m // W)`` is w, m is ``W h + w``.
    """
    made, wanted = list(coords), list(at)
    for _ in coords:
        for number, coord in enumerate(made):
            atom = coord.single
            if not isinstance(atom, Opaque) or atom.op != "div":
                continue
            for other, beside in enumerate(made):
                parts = _factored(beside, atom) if other != number else None
                if parts is not None and parts[0].terms:
                    made[other] = parts[1]
                    wanted[other] = wanted[other] - parts[0] * wanted[number]
    return made, wanted


def digits(
    world: World, store: Store, at: Sequence[Integer]
) -> tuple[IndexSet, dict[Variable, Integer]]:
    """The variables of a store at the point that writes a position, and where it does.

    Raises Unknown where the coordinates do not determine them.
    """
    env: dict[Variable, Integer] = {}
    left, store_variables = set(store.variables), set(store.variables)
    for coord, position in zip(store.coords, at, strict=True):
        rest, value = coord, position
        while rest.variables() & left:
            variable, factor, others = _highest(world, store, rest, left)
            left.discard(variable)
            rest = others
            if not rest.variables() & store_variables:
                # Nothing else of the coordinate varies.
                env[variable] = world.quotient(value - rest, factor)
                break
            env[variable] = world.quotient(value, factor)
            value = world.remainder(value, factor)
    made = world.substitute(store.where, env)
    for coord, position in zip(store.coords, at, strict=True):
        made = made & world.compare(world.substitute(coord, env), "==", position)
    still = sorted(left & made.variables(), key=lambda v: v.key)
    return world.project(made, still), env


def _highest(
    world: World, store: Store, coord: Integer, among: set[Variable]
) -> tuple[Variable, Integer, Integer]:
    """The highest digit of a coordinate, its factor, and the rest, which is below it.

    Factors are numbers or products of sizes. Raises Unknown where there is no such
    digit: the coordinate may be reached on several ways.
    """
    found: list[tuple[tuple[bool, int, str], Variable, Integer, Integer]] = []
    for variable in coord.variables() & among:
        parts = _factored(coord, variable)
        if parts is None:
            raise Unknown(f"a coordinate {coord}, which is not linear in {variable}")
        number = parts[0].constant
        rank = (number is not None, -(number or 0), str(variable.key))
        found.append((rank, variable, *parts))
    varying = set(store.variables)
    for _, variable, factor, rest in sorted(found, key=lambda x: x[0]):
        if factor.variables() & varying:
            continue
        if factor.constant is None:
            if not world.is_subset(store.where, world.compare(factor, ">=", 1)):
                continue
        elif factor.constant <= 0:
            continue
        if not rest.variables() & varying:
            return variable, factor, rest
        below = world.compare(rest, ">=", 0) & world.compare(rest, "<", factor)
        if world.is_subset(store.where, below):
            return variable, factor, rest
    raise Unknown(f"whether {coord} is reached on one way only")


def _factored(coord: Integer, variable: Atom) -> tuple[Integer, Integer] | None:
    """A factor and a rest without an atom: the coordinate is ``f * v + rest``."""
    factor, rest = dict[Monomial, int](), dict[Monomial, int]()
    for monomial, coefficient in coord.terms.items():
        if variable in monomial:
            left = list(monomial)
            left.remove(variable)
            factor[tuple(left)] = coefficient
        else:
            rest[monomial] = coefficient
    made, others = Integer(factor), Integer(rest)
    if variable in made.variables() or variable in others.variables():
        return None
    return made, others


def untraced_part(world: World, array: Array) -> Untraced | None:
    """Why it is not known what a specification says of a whole output, if so."""
    dims = [f"at{i}" for i, _ in enumerate(array.sizes)]
    try:
        array.at(positions(world, dims, array.sizes)[0])
    except Untraced as why:
        return why
    except Unknown:
        return None  # there was no time
    return None


def solved_for(
    coord: Integer, position: Integer, among: Sequence[Variable]
) -> tuple[Variable, Integer] | None:
    """A variable of a coordinate, and its value where the coordinate is a position."""
    for variable in reversed(among):
        factor = coord.coefficient(variable)
        if factor not in (1, -1):
            continue
        rest = coord - Integer.atom(variable) * factor
        if variable not in rest.variables():
            return variable, (position - rest) * factor
    return None


def initial(world: World, store: Store, at: Sequence[Integer]) -> Value:
    """What an output held before the launch."""
    tensor = store.tensor
    if tensor.dtype.is_float:
        return Value.real(element(tensor.name, tuple(at)))
    return Value.whole(world.entry(tensor.name, tuple(at)))
