"""What a term is at a point: numbers for sizes and positions, made-up data for inputs.

    evaluate(term, {n: 3, k: 1}, RandomData(seed=0))

Numbers are exact (fractions) as far as the functions of a term allow, else floats. It
is for refuting: two terms that differ at a point are not equal. Nothing is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import islpy as isl

from argus.terms.input_values import InputValues, Number
from argus.terms.integers import (
    Applied,
    Atom,
    Entry,
    Integer,
    Opaque,
    Truncated,
    Truth,
    Variable,
)
from argus.terms.isl_sets import PARAMETER, isl_number, parameters
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Constant,
    Element,
    Fold,
    Generated,
    Infinity,
    Leaf,
    Max,
    Scalar,
    Sum,
    Whole,
)
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.unknown import Unknown
from argus.terms.value import Value

Point: TypeAlias = Mapping[Variable, int]

_BUDGET = 200_000
"""Leaves that one evaluation looks at before it gives up."""
_BOX = 1_000_000
"""Points of the box around a set whose points are counted out."""
_CONSTANTS = {"ln2": math.log(2), "pi": math.pi}
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "log": math.log,
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "atan": math.atan,
    "fmod": math.fmod,
    "floor": math.floor,
    "ceil": math.ceil,
}


def evaluate(term: Term | Integer, point: Point, data: InputValues) -> Number:
    """A term at a point.

    Raises Unknown where it has no value there, or none that is found in time, and
    KeyError for a variable that the point does not have.
    """
    evaluation = Evaluation(point, data)
    if isinstance(term, Integer):
        return evaluation.integer(term)
    return evaluation.term(term)


def evaluate_value(value: Value, point: Point, data: InputValues) -> Number | None:
    """A value by cases at a point; a truth is 0 or 1. None where no case holds."""
    evaluation = Evaluation(point, data)
    if value.kind == "truth":
        return int(evaluation.holds(value.where))
    for where, x in value.cases:
        if evaluation.holds(where):
            return evaluation.term(x) if isinstance(x, Term) else evaluation.integer(x)
    return None


def holds_at(where: IndexSet, point: Point, data: InputValues) -> bool:
    """Whether a point is in a set."""
    return Evaluation(point, data).holds(where)


class Evaluation:
    """One evaluation: its point, its data, and how much of its budget is left."""

    def __init__(self, point: Point, data: InputValues) -> None:
        self.point = dict(point)
        self.data = data
        self.left = [_BUDGET]
        self.known: dict[tuple[Leaf, tuple[int, ...]], Number] = {}
        """What ranges over sets is, by the numbers of what it depends on."""

    def at(self, point: Point) -> Evaluation:
        """The same evaluation with bound variables at a point."""
        inner = Evaluation({**self.point, **point}, self.data)
        inner.left, inner.known = self.left, self.known
        return inner

    def term(self, term: Term) -> Number:
        """A term."""
        total: Number = 0
        for part, coefficient in term.parts.items():
            made: Number = coefficient
            for leaf, power in part.factors:
                made = made * _power(self._leaf(leaf), power)
            if part.exponent is not None:
                made = made * _exp(self.term(part.exponent))
            total = total + made
        return total

    def integer(self, value: Integer) -> int:
        """An integer."""
        total = 0
        for monomial, coefficient in value.terms.items():
            total += coefficient * math.prod(self.atom(a) for a in monomial)
        return total

    def atom(self, atom: Atom) -> int:
        """An atom."""
        match atom:
            case Variable():
                return self.point[atom]
            case Opaque():
                left, right = (self.integer(a) for a in atom.args)
                if atom.op in ("div", "mod"):
                    if right == 0:
                        raise Unknown("a division by 0")
                    return left // right if atom.op == "div" else left % right
                return min(left, right) if atom.op == "min" else max(left, right)
            case Entry():
                return self.data.whole(atom.tensor, self._integers(atom.indices))
            case Applied():
                return _applied(self.data, atom.function, self._integers(atom.args))
            case Truth(term=Term() as term):
                value = self.term(term)
                return int(value > 0 if atom.op == "gt" else value == 0)
            case Truncated(term=Term() as term):
                return int(self.term(term))
            case _:
                raise TypeError(f"the value of {type(atom).__name__}")

    def _integers(self, values: Sequence[Integer]) -> tuple[int, ...]:
        return tuple(self.integer(v) for v in values)

    def _leaf(self, leaf: Leaf) -> Number:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise Unknown("an evaluation of too many elements")
        match leaf:
            case Element():
                return self.data.real(leaf.tensor, self._integers(leaf.indices))
            case Carried():
                indices = self._integers(leaf.indices)
                return self.data.real(f"carried {leaf.name}", indices)
            case Scalar():
                return self.data.real(leaf.name, ())
            case Whole():
                return self.atom(leaf.atom)
            case Constant():
                return _CONSTANTS[leaf.name]
            case Infinity():
                return -math.inf
            case Base():
                return self.term(leaf.term)
            case Call():
                return self._call(leaf)
            case Sum() | Max() | Fold():
                free = sorted(leaf.free, key=lambda v: v.key)
                key = leaf, tuple(self.point[v] for v in free)
                if key not in self.known:
                    self.known[key] = self._ranging(leaf)
                return self.known[key]
            case _:
                raise Unknown(f"the value of {leaf}")

    def _ranging(self, leaf: Sum | Max | Fold) -> Number:
        match leaf:
            case Sum():
                return self._sum(leaf)
            case Max():
                return max((x for _, x in self._generated(leaf)), default=-math.inf)
            case Fold(function="prod"):
                return math.prod(x for _, x in self._generated(leaf))
            case Fold(function="argmax"):
                return self._first_largest(leaf)
            case _:
                raise Unknown(f"the value of {leaf}")

    def _call(self, leaf: Call) -> Number:
        args = [self.term(a) for a in leaf.args]
        if leaf.function == "abs":
            return abs(args[0])
        if leaf.function == "round":
            return round(args[0])
        if leaf.function == "pow":
            return args[0] ** int(args[1])
        function = _FUNCTIONS.get(leaf.function)
        if function is None:
            raise Unknown(f"the value of the function {leaf.function}")
        try:
            return function(*args)
        except ValueError as error:
            raise Unknown(f"{leaf.function} of {args}") from error

    def _sum(self, leaf: Sum) -> Number:
        total: Number = 0
        for point in self.points(leaf.domain, leaf.variables):
            total = total + self.at(point).term(leaf.body)
        return total

    def _generated(self, leaf: Generated) -> Iterator[tuple[tuple[int, ...], Number]]:
        """Positions and numbers of generators."""
        for generator in leaf.generators:
            for point in self.points(generator.domain, generator.variables):
                at = tuple(point[v] for v in generator.variables)
                yield at, self.at(point).term(generator.body)

    def _first_largest(self, leaf: Fold) -> int:
        best: tuple[Number, int] | None = None
        for (place,), number in self._generated(leaf):
            if best is None or (number, -place) > best:
                best = number, -place
        if best is None:
            raise Unknown("the place of the largest of no numbers")
        return -best[1]

    # -- sets

    def holds(self, where: IndexSet) -> bool:
        """Whether the point is in a set."""
        return any(True for _ in self.points(where, ()))

    def points(
        self, domain: IndexSet, variables: Sequence[Variable]
    ) -> Iterator[Point]:
        """The values of bound variables at which a set holds."""
        if domain.isl is False:
            return
        if domain.isl is True:
            if variables:
                raise Unknown("a sum over infinitely many points")
            yield {}
            return
        space = domain.space
        assert space is not None
        names = [space.name((v,)) for v in variables]
        with space.asking:
            fixed, opaque = self._fix(domain, frozenset(variables))
            if not variables:
                found = [] if fixed.is_empty() else [()]
            else:
                found = _points(fixed, names, opaque)
        for numbers in found:
            point = dict(zip(variables, numbers, strict=True))
            if not variables or not opaque or self.at(point).holds(domain):
                yield point

    def _fix(
        self, domain: IndexSet, bound: frozenset[Variable]
    ) -> tuple[isl.Set, list[str]]:
        """The set at what is known, and parameters that bound variables decide."""
        value, space = domain.isl, domain.space
        assert space is not None and not isinstance(value, bool)
        opaque: list[str] = []
        for at, name in enumerate(parameters(value)):
            monomial = space.monomial(name)
            if any(a.variables & bound for a in monomial):
                if not any(monomial == (v,) for v in bound):
                    opaque.append(name)
                if all(isinstance(a, Truth) for a in monomial):
                    value = _bit(value, at)
                continue
            number = math.prod(self.atom(a) for a in monomial)
            fixed = isl_number(value, number)
            value = value.fix_val(PARAMETER, at, fixed)
        return value, opaque


def _bit(value: isl.Set, at: int) -> isl.Set:
    """A set in which a parameter is 0 or 1: sets do not say what is a fact."""
    zero, one = (isl.Val.int_from_si(value.get_ctx(), n) for n in (0, 1))
    value = value.lower_bound_val(PARAMETER, at, zero)
    return value.upper_bound_val(PARAMETER, at, one)


def _points(
    value: isl.Set, names: Sequence[str], opaque: Sequence[str]
) -> list[tuple[int, ...]]:
    """The values of some parameters in a set, whatever others are."""
    for at in reversed(range(value.dim(PARAMETER))):
        name = value.get_dim_name(PARAMETER, at)
        if name in opaque or name not in names:
            value = value.project_out(PARAMETER, at, 1)
    order = parameters(value)
    if any(name not in order for name in names):
        raise Unknown("a sum over infinitely many points")
    count = value.dim(PARAMETER)
    moved = isl.Map.from_range(value).move_dims(
        isl.dim_type.in_, 0, PARAMETER, 0, count
    )
    found: list[tuple[int, ...]] = []
    domain = moved.domain()
    if not domain.is_bounded():
        raise Unknown("a sum over infinitely many points")
    if _box(domain) > _BOX:
        raise Unknown("a sum over too many points")

    def keep(point: isl.Point) -> None:
        numbers = {
            name: point.get_coordinate_val(isl.dim_type.set, k).to_python()
            for k, name in enumerate(order)
        }
        found.append(tuple(int(numbers[name]) for name in names))

    domain.foreach_point(keep)
    return found


def _box(domain: isl.Set) -> int:
    """How many points the smallest box around a bounded set has."""
    if domain.is_empty():
        return 0
    dims = range(domain.dim(isl.dim_type.set))
    ends = ((domain.dim_min_val(k), domain.dim_max_val(k)) for k in dims)
    return math.prod(high.to_python() - low.to_python() + 1 for low, high in ends)


def _applied(data: InputValues, function: str, args: tuple[int, ...]) -> int:
    """A function of bits, or whatever the data says."""
    if function in ("and", "or", "xor") and len(args) == 2:
        left, right = args
        if function == "and":
            return left & right
        return left | right if function == "or" else left ^ right
    if function == "twice_e2m1":
        found = (0, 1, 2, 3, 4, 6, 8, 12)[args[0] & 7]
        return -found if args[0] & 8 else found
    if function in ("popcount32", "popcount64"):
        return (args[0] & (1 << int(function[-2:])) - 1).bit_count()
    return data.whole(function, args)


def _power(value: Number, power: int | Fraction) -> Number:
    if power == 1:
        return value
    if value == 0 and power < 0:
        raise Unknown("a division by 0")
    if isinstance(power, int):
        return Fraction(value) ** power if isinstance(value, int) else value**power
    if value < 0:
        raise Unknown("a root of a negative number")
    return float(value) ** float(power)


def _exp(value: Number) -> Number:
    if value == 0:
        return 1
    try:
        return math.exp(value)
    except OverflowError as error:
        raise Unknown("an exponential that is too large for a float") from error
