"""How large a whole number of data may become: polynomials of sizes around it.

    between(world, where, term, entries)      # e.g. from -16256 K to 16384 K

A sum over K products of entries of 8 bits is at most 2**14 K. Bounds are of intervals
(Moore, Interval Analysis, 1966): of an entry by its type and by what is assumed of it,
of a sum by the number of points that its set has at most, which isl's projections give.
Every size is at least 0, so that a polynomial is bounded by its positive coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product as choices
from math import ceil, floor, lcm
from typing import TypeAlias, cast

import islpy as isl

from argus.terms.bits import COUNTS
from argus.terms.bounds import (
    NOTHING,
    Between,
    Polynomial,
    Side,
    added,
    beyond_one,
    degree,
    either,
    less,
    met,
    multiplied,
    number,
    plus,
    positive,
    rounded_down,
    scaled,
    tighter,
    times,
    union,
)
from argus.terms.ends import ends, is_whole
from argus.terms.integers import (
    Applied,
    Atom,
    Entry,
    Integer,
    Monomial,
    Opaque,
    Truncated,
    Truth,
    Variable,
)
from argus.terms.leaves import Fold, Leaf, Max, Sum, Whole
from argus.terms.remainders import remainders
from argus.terms.sets import IndexSet
from argus.terms.term import Product, Term
from argus.terms.world import World

__all__ = ["LARGEST_SCALAR", "Between", "Polynomial", "between", "integer_of"]

Entries = Mapping[str, tuple[int, int]]

LARGEST_SCALAR = 1 << 29
"""Whole scalar arguments are no larger."""
_CUT = 1 << 30
"""Floats of which nothing is known are no larger where they are cut."""
_PARAMETER = isl.dim_type.param
_OPEN: Between = (None, None)
_Ranges: TypeAlias = tuple[list[Polynomial], list[Polynomial]]
_BOUNDS = 4
"""Bounds of a variable that are tried with each other."""


def between(
    world: World, where: IndexSet, value: Term | Integer, entries: Entries
) -> Between:
    """Bounds of a number at the points of a set.

    ``entries``: the least and the greatest of each table of whole numbers.
    """
    reader = _Reader(world, entries)
    if isinstance(value, Integer):
        return reader.integer(where, value)
    return reader.term(where, value)


def integer_of(polynomial: Polynomial) -> tuple[Integer, int]:
    """A polynomial times a number, as an integer, and the number."""
    below = lcm(*(Fraction(c).denominator for c in polynomial.values()))
    return Integer({m: int(c * below) for m, c in polynomial.items()}), below


class _Reader:
    def __init__(self, world: World, entries: Entries) -> None:
        self.world, self.entries = world, entries

    def term(self, where: IndexSet, term: Term) -> Between:
        if term.special is not None:
            return _OPEN
        found: Between = (NOTHING, NOTHING)
        for part, coefficient in term.parts.items():
            one = self._product(where, part)
            found = added(found, scaled(one, Fraction(coefficient)))
        return found

    def integer(self, where: IndexSet, value: Integer) -> Between:
        found: Between = (NOTHING, NOTHING)
        left, value = remainders(value)
        if left:
            # With the constant, which the bounds of each alone would lose.
            low = high = value.terms.get((), 0)
            for coefficient, count in left:
                low += min(0, coefficient * (count - 1))
                high += max(0, coefficient * (count - 1))
            found = number(-low), number(high)
            value = value - value.terms.get((), 0)
        for monomial, coefficient in value.terms.items():
            one: Between = (NOTHING, number(1))
            for atom in monomial:
                one = times(one, self._atom(where, atom))
            found = added(found, scaled(one, Fraction(coefficient)))
        return found

    def _product(self, where: IndexSet, part: Product) -> Between:
        found: Between = (NOTHING, number(1))
        if part.exponent is not None:
            return _OPEN
        for leaf, power in part.factors:
            if isinstance(leaf, Sum) and not leaf.variables and power > 0:
                where = where & leaf.domain  # elsewhere the product is 0
        for leaf, power in part.factors:
            if not isinstance(power, int) or power < 0:
                return _OPEN
            one = self._leaf(where, leaf)
            for _ in range(power):
                found = times(found, one)
        return found

    def _leaf(self, where: IndexSet, leaf: Leaf) -> Between:
        match leaf:
            case Whole():
                return self._atom(where, leaf.atom)
            case Sum():
                inside = where & leaf.domain
                if self.world.is_empty(inside):
                    return NOTHING, NOTHING
                points = self._points(inside, leaf.variables)
                body = self.term(inside, leaf.body)
                return times((NOTHING, points), body)
            case Max():
                found: Between = (NOTHING, NOTHING)
                for one in leaf.generators:
                    body = self.term(where & one.domain, one.body)
                    found = either(found, body)
                return found
            case Fold(function="argmax"):
                found = (NOTHING, NOTHING)
                for one in leaf.generators:
                    if len(one.variables) != 1:
                        return _OPEN
                    place = self._variable(where & one.domain, one.variables[0])
                    found = either(found, place)
                return found
            case Fold(function="prod"):
                for one in leaf.generators:
                    sides = self.term(where & one.domain, one.body)
                    if any(side is None or beyond_one(side) for side in sides):
                        return _OPEN
                return number(1), number(1)
            case _:
                return _OPEN

    def _points(self, where: IndexSet, variables: tuple[Variable, ...]) -> Side:
        """How many points a set has at most, for each value of all other variables."""
        found: Polynomial = number(1)
        for variable in variables:
            counts: list[Polynomial] = []
            for own in (frozenset(variables), None):
                lows, highs = _range(self.world, where, (variable,), own)
                for high, low in choices(highs, lows):
                    count = self._in_sizes(where, less(high, low))
                    counts += [] if count is None else [count]
            if not counts:
                return None
            found = multiplied(found, min(counts, key=degree))
        return found

    def _in_sizes(self, where: IndexSet, polynomial: Polynomial) -> Side:
        """What is not less, in sizes alone."""
        found: Side = NOTHING
        for monomial, c in positive(polynomial).items():
            one: Polynomial = number(1)
            for atom in monomial:
                if not isinstance(atom, Variable) or atom.lower is None:
                    return None
                most = self._variable(where, atom)[1]
                if most is None:
                    return None
                one = multiplied(one, most)
            found = plus(found, multiplied(one, number(c)))
        return found

    def _variable(self, where: IndexSet, variable: Variable) -> Between:
        if variable.lower is not None and variable.upper is None:
            return NOTHING, {(variable,): Fraction(1)}  # a size
        return self._by_sets(where, variable)

    def _by_sets(self, where: IndexSet, atom: Atom) -> Between:
        """Bounds that a set and its facts say of an atom."""
        lows, highs = _range(self.world, where, (atom,))
        below = [positive({m: -c for m, c in low.items()}) for low in lows]
        above = [positive(high) for high in highs]
        return min(below, key=degree, default=None), min(
            above, key=degree, default=None
        )

    def _atom(self, where: IndexSet, atom: Atom) -> Between:
        match atom:
            case Variable(lower=None, upper=None) if not atom.name.startswith("$"):
                return met(
                    self._by_sets(where, atom),
                    (number(LARGEST_SCALAR), number(LARGEST_SCALAR)),
                )
            case Variable():
                return self._variable(where, atom)
            case Entry():
                low, high = self.entries.get(atom.tensor, (None, None))
                typed = (
                    None if low is None else number(-low),
                    None if high is None else number(high),
                )
                return met(self._by_sets(where, atom), typed)
            case Truth():
                return NOTHING, number(1)
            case Truncated():
                assert isinstance(atom.term, Term)
                low, high = ends(atom.term)
                cut = (
                    None if low is None else number(-floor(low)),
                    None if high is None else number(ceil(high)),
                )
                whole = met(cut, self.term(where, atom.term))
                if is_whole(atom.term) and _adds_up(atom.term):
                    return whole  # a sum of whole numbers, which nobody has cut
                return met(whole, (number(_CUT), number(_CUT)))
            case Opaque():
                return met(self._by_sets(where, atom), self._opaque(where, atom))
            case Applied():
                return self._applied(where, atom)
            case _:
                return _OPEN

    def _opaque(self, where: IndexSet, atom: Opaque) -> Between:
        left, right = (self.integer(where, a) for a in atom.args)
        divisor = atom.args[1].constant
        match atom.op:
            case "min":
                return union(left[0], right[0]), tighter(left[1], right[1])
            case "max":
                return tighter(left[0], right[0]), union(left[1], right[1])
            case "mod":
                if divisor is not None and divisor > 0:
                    return NOTHING, number(divisor - 1)
                return right
            case "div":
                if divisor is not None and divisor > 0:
                    return rounded_down(scaled(left, Fraction(1, divisor)))
                both = union(*left)
                return rounded_down((both, both))

    def _applied(self, where: IndexSet, atom: Applied) -> Between:
        if atom.function in COUNTS:
            return NOTHING, number(COUNTS[atom.function])
        if atom.function not in ("and", "or", "xor") or len(atom.args) != 2:
            return _OPEN
        left, right = (self.integer(where, a) for a in atom.args)
        natural = [x[1] for x in (left, right) if x[0] is not None and not x[0]]
        if atom.function == "and" and natural:
            return NOTHING, tighter(natural[0], natural[-1])
        if len(natural) == 2:
            return added(left, right)
        return _OPEN


def _adds_up(term: Term) -> bool:
    """Whether a sum is in a term."""
    leaves = [leaf for part in term.parts for leaf, _ in part.factors]
    return any(
        isinstance(leaf, Sum) or any(_adds_up(x) for x in leaf.terms) for leaf in leaves
    )


# ------------------------------------------------------------------ what isl says of it


def _range(
    world: World,
    where: IndexSet,
    monomial: Monomial,
    own: frozenset[Variable] | None = None,
) -> _Ranges:
    """Lower and upper bounds of a monomial in a set, in sizes; signs may be any.

    With ``own`` in all but these variables.
    """
    key = ("range", where, monomial, own)
    if key not in world.memory:
        world.memory[key] = _read_range(world, where, monomial, own)
    return cast(_Ranges, world.memory[key])


def _read_range(
    world: World,
    where: IndexSet,
    monomial: Monomial,
    own: frozenset[Variable] | None,
) -> _Ranges:
    lows: list[Polynomial] = []
    highs: list[Polynomial] = []
    closed = world.close(where & world.facts([monomial]))
    others = [m for m in closed.monomials if m != monomial]
    if own is None:
        gone = [m for m in others if not _is_size(m)]
    else:
        gone = [m for m in others if any(a.variables & own for a in m)]
    kept = closed.without([world.space.name(m) for m in gone])
    if isinstance(kept.isl, bool):
        return lows, highs
    with kept.asking:
        conditions = list(_constraints(kept.isl.simple_hull().remove_divs()))
    name = world.space.name(monomial)
    for one, is_equality in conditions:
        factor = one.pop(name, 0)
        if not factor:
            continue
        bound = {
            () if n is None else world.space.monomial(n): Fraction(-c, factor)
            for n, c in one.items()
        }
        if factor < 0 or is_equality:
            highs.append(bound)
        if factor > 0 or is_equality:
            lows.append(bound)
    return lows[:_BOUNDS], highs[:_BOUNDS]


def _constraints(
    hull: isl.BasicSet,
) -> Iterator[tuple[dict[str | None, int], bool]]:
    """Coefficients of parameters, and of 1 (None), and whether it is an equation."""
    for constraint in hull.get_constraints():
        found: dict[str | None, int] = {None: constraint.get_constant_val().to_python()}
        for i in range(hull.dim(_PARAMETER)):
            factor = constraint.get_coefficient_val(_PARAMETER, i).to_python()
            if factor:
                found[hull.get_dim_name(_PARAMETER, i)] = factor
        yield found, constraint.is_equality()


def _is_size(monomial: Monomial) -> bool:
    return all(
        isinstance(a, Variable) and a.lower is not None and a.upper is None
        for a in monomial
    )


# --------------------------------------------------------------------- their arithmetic
