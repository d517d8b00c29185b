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

from argus.terms.ends import ends
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
from argus.terms.sets import IndexSet
from argus.terms.term import Product, Term
from argus.terms.world import World

__all__ = ["LARGEST_SCALAR", "Between", "Polynomial", "between", "integer_of"]

Polynomial = Mapping[Monomial, Fraction]
"""Of sizes, with coefficients that are at least 0."""
Side = Polynomial | None
Between = tuple[Side, Side]
"""How far below 0 a number may lie, and how far above; None: nothing is known."""
Entries = Mapping[str, tuple[int, int]]

LARGEST_SCALAR = 1 << 29
"""Whole scalar arguments are no larger."""
_CUT = 1 << 30
"""Floats of which nothing is known are no larger where they are cut."""
_PARAMETER = isl.dim_type.param
_OPEN: Between = (None, None)
_NONE: Polynomial = {}
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
        found: Between = (_NONE, _NONE)
        for part, coefficient in term.parts.items():
            one = self._product(where, part)
            found = _added(found, _scaled(one, Fraction(coefficient)))
        return found

    def integer(self, where: IndexSet, value: Integer) -> Between:
        found: Between = (_NONE, _NONE)
        for monomial, coefficient in value.terms.items():
            one: Between = (_NONE, _number(1))
            for atom in monomial:
                one = _times(one, self._atom(where, atom))
            found = _added(found, _scaled(one, Fraction(coefficient)))
        return found

    def _product(self, where: IndexSet, part: Product) -> Between:
        found: Between = (_NONE, _number(1))
        if part.exponent is not None:
            return _OPEN
        for leaf, power in part.factors:
            if not isinstance(power, int) or power < 0:
                return _OPEN
            one = self._leaf(where, leaf)
            for _ in range(power):
                found = _times(found, one)
        return found

    def _leaf(self, where: IndexSet, leaf: Leaf) -> Between:
        match leaf:
            case Whole():
                return self._atom(where, leaf.atom)
            case Sum():
                inside = where & leaf.domain
                points = self._points(inside, leaf.variables)
                body = self.term(inside, leaf.body)
                return _times((_NONE, points), body)
            case Max():
                found: Between = (_NONE, _NONE)
                for one in leaf.generators:
                    body = self.term(where & one.domain, one.body)
                    found = _either(found, body)
                return found
            case Fold(function="argmax"):
                found = (_NONE, _NONE)
                for one in leaf.generators:
                    if len(one.variables) != 1:
                        return _OPEN
                    place = self._variable(where & one.domain, one.variables[0])
                    found = _either(found, place)
                return found
            case Fold(function="prod"):
                for one in leaf.generators:
                    sides = self.term(where & one.domain, one.body)
                    if any(side is None or _beyond_one(side) for side in sides):
                        return _OPEN
                return _number(1), _number(1)
            case _:
                return _OPEN

    def _points(self, where: IndexSet, variables: tuple[Variable, ...]) -> Side:
        """How many points a set has at most, for each value of all other variables."""
        found: Polynomial = _number(1)
        for variable in variables:
            counts: list[Polynomial] = []
            for own in (frozenset(variables), None):
                lows, highs = _range(self.world, where, (variable,), own)
                for high, low in choices(highs, lows):
                    count = self._in_sizes(where, _less(high, low))
                    counts += [] if count is None else [count]
            if not counts:
                return None
            found = _multiplied(found, min(counts, key=_degree))
        return found

    def _in_sizes(self, where: IndexSet, polynomial: Polynomial) -> Side:
        """What is not less, in sizes alone."""
        found: Side = _NONE
        for monomial, c in _positive(polynomial).items():
            one: Polynomial = _number(1)
            for atom in monomial:
                if not isinstance(atom, Variable) or atom.lower is None:
                    return None
                most = self._variable(where, atom)[1]
                if most is None:
                    return None
                one = _multiplied(one, most)
            found = _plus(found, _multiplied(one, _number(c)))
        return found

    def _variable(self, where: IndexSet, variable: Variable) -> Between:
        if variable.lower is not None and variable.upper is None:
            return _NONE, {(variable,): Fraction(1)}  # a size
        return self._by_sets(where, variable)

    def _by_sets(self, where: IndexSet, atom: Atom) -> Between:
        """Bounds that a set and its facts say of an atom."""
        lows, highs = _range(self.world, where, (atom,))
        below = [_positive({m: -c for m, c in low.items()}) for low in lows]
        above = [_positive(high) for high in highs]
        return min(below, key=_degree, default=None), min(
            above, key=_degree, default=None
        )

    def _atom(self, where: IndexSet, atom: Atom) -> Between:
        match atom:
            case Variable(lower=None, upper=None) if not atom.name.startswith("$"):
                return _met(
                    self._by_sets(where, atom),
                    (_number(LARGEST_SCALAR), _number(LARGEST_SCALAR)),
                )
            case Variable():
                return self._variable(where, atom)
            case Entry():
                low, high = self.entries.get(atom.tensor, (None, None))
                typed = (
                    None if low is None else _number(-low),
                    None if high is None else _number(high),
                )
                return _met(self._by_sets(where, atom), typed)
            case Truth():
                return _NONE, _number(1)
            case Truncated():
                assert isinstance(atom.term, Term)
                low, high = ends(atom.term)
                cut = (
                    None if low is None else _number(-floor(low)),
                    None if high is None else _number(ceil(high)),
                )
                whole = self.term(where, atom.term)
                return _met(_met(cut, whole), (_number(_CUT), _number(_CUT)))
            case Opaque():
                return _met(self._by_sets(where, atom), self._opaque(where, atom))
            case Applied():
                return self._applied(where, atom)
            case _:
                return _OPEN

    def _opaque(self, where: IndexSet, atom: Opaque) -> Between:
        left, right = (self.integer(where, a) for a in atom.args)
        divisor = atom.args[1].constant
        match atom.op:
            case "min":
                return _union(left[0], right[0]), _tighter(left[1], right[1])
            case "max":
                return _tighter(left[0], right[0]), _union(left[1], right[1])
            case "mod":
                if divisor is not None and divisor > 0:
                    return _NONE, _number(divisor - 1)
                return right
            case "div":
                if divisor is not None and divisor > 0:
                    low, high = _scaled(left, Fraction(1, divisor))
                    return _rounded_down(low), high
                both = _union(*left)
                return _rounded_down(both), _rounded_down(both)

    def _applied(self, where: IndexSet, atom: Applied) -> Between:
        if atom.function not in ("and", "or", "xor") or len(atom.args) != 2:
            return _OPEN
        left, right = (self.integer(where, a) for a in atom.args)
        natural = [x[1] for x in (left, right) if x[0] is not None and not x[0]]
        if atom.function == "and" and natural:
            return _NONE, _tighter(natural[0], natural[-1])
        if len(natural) == 2:
            return _added(left, right)
        return _OPEN


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
    hull = kept.isl.simple_hull().remove_divs()
    name = world.space.name(monomial)
    for one, is_equality in _constraints(hull):
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


def _number(value: int | Fraction) -> Polynomial:
    return {(): Fraction(value)} if value > 0 else _NONE


def _beyond_one(side: Polynomial) -> bool:
    return any(m != () or c > 1 for m, c in side.items())


def _positive(polynomial: Polynomial) -> Polynomial:
    """What is not less: without what is taken away."""
    return {m: c for m, c in polynomial.items() if c > 0}


def _less(high: Polynomial, low: Polynomial) -> Polynomial:
    """How many whole numbers lie between two bounds."""
    found = dict(high)
    for monomial, c in low.items():
        found[monomial] = found.get(monomial, Fraction(0)) - c
    found[()] = found.get((), Fraction(0)) + 1
    return found


def _degree(polynomial: Polynomial) -> tuple[int, Fraction]:
    """By which bounds are compared: at large sizes, the less one is less."""
    most = max((len(m) for m in polynomial), default=0)
    return most, sum((c for m, c in polynomial.items() if len(m) == most), Fraction(0))


def _multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    found: dict[Monomial, Fraction] = {}
    for (a, c), (b, d) in choices(left.items(), right.items()):
        both = tuple(sorted(a + b, key=lambda atom: atom.key))
        found[both] = found.get(both, Fraction(0)) + c * d
    return found


def _union(left: Side, right: Side) -> Side:
    """What is not less than either."""
    if left is None or right is None:
        return None
    zero = Fraction(0)
    return {m: max(left.get(m, zero), right.get(m, zero)) for m in {**left, **right}}


def _tighter(left: Side, right: Side) -> Side:
    """One of two bounds of the same number."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right, key=_degree)


def _either(one: Between, other: Between) -> Between:
    return _union(one[0], other[0]), _union(one[1], other[1])


def _met(one: Between, other: Between) -> Between:
    return _tighter(one[0], other[0]), _tighter(one[1], other[1])


def _plus(left: Side, right: Side) -> Side:
    if left is None or right is None:
        return None
    found = dict(left)
    for monomial, c in right.items():
        found[monomial] = found.get(monomial, Fraction(0)) + c
    return found


def _added(one: Between, other: Between) -> Between:
    return _plus(one[0], other[0]), _plus(one[1], other[1])


def _scaled(one: Between, factor: Fraction) -> Between:
    by = _number(abs(factor))
    low, high = (_by(side, by) for side in one)
    return (low, high) if factor >= 0 else (high, low)


def _by(left: Side, right: Side) -> Side:
    """A product; of nothing with what is not known it is nothing."""
    if left is None or right is None:
        return _NONE if left == _NONE or right == _NONE else None
    return _multiplied(left, right)


def _times(one: Between, other: Between) -> Between:
    (a, b), (c, d) = one, other
    return _union(_by(a, d), _by(b, c)), _union(_by(a, c), _by(b, d))


def _rounded_down(low: Side) -> Side:
    return _plus(low, _number(1)) if low else low
