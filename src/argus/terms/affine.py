"""What isl says of a set, as integers: what a variable equals in it, its extent.

What isl takes too many steps for is not known: None.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING

import islpy as isl

from argus.terms.integers import Atom, Integer, Monomial, Variable
from argus.terms.isl_sets import PARAMETER, factors_of, parameters
from argus.terms.sets import IndexSet
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World

_DIVISION = isl.dim_type.div
_MOST_POINTS = 1 << 12
"""Points of a box around points that are counted one by one."""


def equal_to(
    world: World, where: IndexSet, variable: Variable, bound: frozenset[Variable]
) -> Integer | None:
    """What a variable equals in a whole set, as an integer without bound variables.

    Only equations are looked at, not pairs of inequalities: there are no quotients in
    it beside those that the set has as opaque atoms.
    """
    if isinstance(where.isl, bool):
        return None
    name = world.space.name((variable,))
    with where.asking:
        for piece in where.isl.detect_equalities().get_basic_sets():
            names = parameters(piece.to_set())
            found = None
            if name in names:
                found = _solved(world, piece, names, names.index(name), bound)
            if found is None:
                return None
            there = world.compare(Integer.atom(variable), "==", found)
            return found if where.within(there) else None
    return None


def places(
    world: World, where: IndexSet, variable: Variable, bound: frozenset[Variable]
) -> list[Integer]:
    """What a variable equals in parts of a set, each without bound variables."""
    if isinstance(where.isl, bool):
        return []
    name, found = world.space.name((variable,)), list[Integer]()
    with where.asking:
        for piece in where.isl.detect_equalities().get_basic_sets():
            names = parameters(piece.to_set())
            if name in names:
                one = _solved(world, piece, names, names.index(name), bound)
                if one is not None and one not in found:
                    found.append(one)
    return found


def _solved(
    world: World,
    piece: isl.BasicSet,
    names: Sequence[str],
    at: int,
    bound: frozenset[Variable],
) -> Integer | None:
    """The first equation of a piece that a parameter has coefficient 1 or -1 in."""
    for constraint in piece.get_constraints():
        if not constraint.is_equality():
            continue
        factor = constraint.get_coefficient_val(PARAMETER, at)
        if not (factor.is_one() or factor.is_negone()):
            continue
        if constraint.is_div_constraint() or constraint.involves_dims(
            _DIVISION, 0, constraint.dim(_DIVISION)
        ):
            continue
        total = Integer.of(constraint.get_constant_val().to_python())
        for place, count in factors_of(constraint):
            if place != at:
                total = total + Integer({world.space.monomial(names[place]): count})
        if total.variables() & bound:
            continue
        return -total if factor.is_one() else total
    return None


def determined(world: World, where: IndexSet, variable: Variable) -> Integer | None:
    """What a variable equals in a whole set, as one expression, or None.

    Others may occur in it, and quotients by numbers.
    """
    # A set without what depends on the variable is larger, so that what determines the
    # variable there determines it here.
    names = [world.space.name(m) for m in _dependent(where, variable)]
    around = where.without(names) if names else where
    with suppress(Unknown), world.space.solving:
        extent = _range(world, around, variable)
        if extent is not None and isl.Map.from_range(extent[0]).is_single_valued():
            most, value = extent[0].dim_max(0), Integer.atom(variable)
            for found in _expressions(world, most):
                # One piece may say it in fewer variables than hold in all of them.
                if around.within(world.compare(value, "==", found)):
                    return found
    return None


def fixed(world: World, where: IndexSet, atom: Atom) -> int | None:
    """The number that an atom plainly is in a whole set, or None."""
    if isinstance(where.isl, bool):
        return None
    with where.asking:
        at = where.isl.find_dim_by_name(PARAMETER, world.space.name((atom,)))
        if at < 0:
            return None
        value = where.isl.plain_get_val_if_fixed(PARAMETER, at)
        return int(value.to_python()) if value.is_int() else None


def extent(
    world: World, where: IndexSet, variable: Variable
) -> tuple[Integer, Integer] | None:
    """(least, largest) value of a variable in a set that has all between, or None."""
    least = largest = None
    with suppress(Unknown), world.space.solving:
        found = _range(world, where, variable)
        if found is None:
            return None
        values, _ = found
        least = _single(world, values.dim_min(0))
        largest = _single(world, values.dim_max(0))
    if least is None or largest is None:
        return None
    value = Integer.atom(variable)
    inside = world.compare(value, ">=", least) & world.compare(value, "<=", largest)
    at_all = where.without([world.space.name((variable,))])
    return (least, largest) if (at_all & inside).same(where) else None


def same_count(
    world: World, where: IndexSet, variables: Sequence[Variable]
) -> tuple[int, IndexSet] | None:
    """How many points a set has, and for which others, if it is the same for all.

    Of the corner of a window there are 3 x 2 elements in an image, in whatever order
    they are counted. None where it is not, or where they are too far apart to count.
    """
    if isinstance(where.isl, bool) or any(_dependent(where, v) for v in variables):
        return None
    own = {world.space.name((v,)) for v in variables}
    with suppress(Unknown):
        with where.asking:
            names = parameters(where.isl)
        points = where.without([n for n in names if n not in own])
        others = where.without([*own])
        if isinstance(points.isl, bool) or not (points & others).same(where):
            return None
        with points.asking:
            found = points.isl.drop_unused_params()
            count = len(parameters(found))
            found = found.move_dims(isl.dim_type.set, 0, PARAMETER, 0, count)
            if count != len(own) or not found.is_bounded():
                return None
            ends = [(found.dim_min_val(i), found.dim_max_val(i)) for i in range(count)]
            sizes = [b.to_python() - a.to_python() + 1 for a, b in ends]
            if prod(sizes) <= _MOST_POINTS:
                return found.count_val().to_python(), others
    return None


def divisors(where: IndexSet) -> list[int]:
    """What isl divides by, in quotients of a set that it has by itself."""
    if isinstance(where.isl, bool):
        return []
    found: dict[int, None] = {}
    with suppress(Unknown), where.asking:
        for piece in where.isl.compute_divs().get_basic_sets():
            for i in range(piece.dim(_DIVISION)):
                found[piece.get_div(i).get_denominator_val().to_python()] = None
    return [n for n in found if n > 1]


def least_of(world: World, where: IndexSet, variable: Variable) -> Integer | None:
    """The least value of a variable in a set, as one expression, or None."""
    with suppress(Unknown), world.space.solving:
        found = _range(world, where, variable)
        return None if found is None else _single(world, found[0].dim_min(0))
    return None


def least_around(world: World, where: IndexSet, variable: Variable) -> Integer | None:
    """The least value of a variable that is bounded beside what depends on it, or None.

    Of ``P[b] <= k < P[b + 1] and Kept[k] > 0`` it is P[b], kept or not. None where
    nothing depends on it.
    """
    names = [world.space.name(m) for m in _dependent(where, variable)]
    return least_of(world, where.without(names), variable) if names else None


def ends_of(world: World, where: IndexSet, variable: Variable) -> list[Integer]:
    """What a variable may be below in a set: its bound, and what the set says."""
    found = [] if variable.upper is None else [variable.upper]
    names = [world.space.name(m) for m in _dependent(where, variable)]
    with suppress(Unknown), world.space.solving:
        extent = _range(world, where.without(names) if names else where, variable)
        if extent is not None:
            found += [n + 1 for n in _expressions(world, extent[0].dim_max(0))]
    return found


def stride_of(
    world: World, where: IndexSet, variable: Variable
) -> tuple[int, int] | None:
    """(n, r) where a variable is r modulo n > 1 in a whole set, or None."""
    if isinstance(where.isl, bool):
        return None
    with where.asking:
        at = where.isl.find_dim_by_name(PARAMETER, world.space.name((variable,)))
        if at < 0:
            return None
        values = where.isl.move_dims(isl.dim_type.set, 0, PARAMETER, at, 1)
        info = values.get_stride_info(0)
        stride, offset = info.get_stride().to_python(), info.get_offset()
        if stride < 2 or not offset.is_cst():
            return None
        return stride, offset.get_constant_val().to_python() % stride


def factors(
    world: World, where: IndexSet, left: Variable, right: Variable
) -> list[int]:
    """The whole numbers f > 1, in order, for which f * left + right is compared."""
    if isinstance(where.isl, bool):
        return []
    pair = [world.space.name((v,)) for v in (left, right)]
    found: set[int] = set()
    with where.asking:
        for piece in where.isl.get_basic_sets():
            names = parameters(piece.to_set())
            if not all(name in names for name in pair):
                continue
            at = [names.index(name) for name in pair]
            for constraint in piece.get_constraints():
                one, other = (
                    constraint.get_coefficient_val(PARAMETER, i).to_python() for i in at
                )
                if other and one * other > 0 and one % other == 0 and one != other:
                    found.add(one // other)
    return sorted(found)


def _dependent(where: IndexSet, variable: Variable) -> list[Monomial]:
    """Monomials of a set that depend on a variable and are not it."""
    return [
        monomial
        for monomial in where.monomials
        if monomial != (variable,) and any(variable in a.variables for a in monomial)
    ]


def _range(
    world: World, where: IndexSet, variable: Variable
) -> tuple[isl.Set, str] | None:
    """The values of a variable: a set of one dimension, and the parameter it was."""
    if isinstance(where.isl, bool):
        return None
    if _dependent(where, variable):
        return None
    name = world.space.name((variable,))
    at = where.isl.find_dim_by_name(PARAMETER, name)
    if at < 0:
        return None
    values = where.isl.move_dims(isl.dim_type.set, 0, PARAMETER, at, 1)
    bounded = values.dim_has_upper_bound(isl.dim_type.set, 0)
    bounded = bounded and values.dim_has_lower_bound(isl.dim_type.set, 0)
    return (values, name) if bounded else None


def _expressions(world: World, piecewise: isl.PwAff) -> list[Integer]:
    """The different expressions that a piecewise one has, those that are integers."""
    found: dict[Integer, None] = {}
    for _, expression in piecewise.get_pieces():
        one = _integer(world, expression)
        if one is not None:
            found[one] = None
    return list(found)


def _single(world: World, piecewise: isl.PwAff) -> Integer | None:
    """The one expression that a piecewise one has in all pieces, or None."""
    found: Integer | None = None
    for _, expression in piecewise.get_pieces():
        one = _integer(world, expression)
        if one is None or (found is not None and one != found):
            return None
        found = one
    return found


def _integer(world: World, expression: isl.Aff) -> Integer | None:
    """An affine expression of isl as an integer, or None where it is a fraction."""
    numerator, denominator = _fraction(world, expression)
    if denominator == 1:
        return numerator
    return None


def _fraction(world: World, expression: isl.Aff) -> tuple[Integer, int]:
    """(numerator, denominator) of an affine expression of isl."""
    denominator = expression.get_denominator_val()
    scaled = expression.scale_val(denominator)
    total = Integer.of(scaled.get_constant_val().to_python())
    for place, count in factors_of(scaled):
        name = scaled.get_dim_name(PARAMETER, place)
        assert name is not None
        total = total + Integer({world.space.monomial(name): count})
    for place in range(scaled.dim(_DIVISION)):
        count = scaled.get_coefficient_val(_DIVISION, place).to_python()
        if count:
            inner, below = _fraction(world, scaled.get_div(place))
            total = total + world.quotient(inner, below) * count
    return total, denominator.to_python()
