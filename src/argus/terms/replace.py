"""Leaves of terms replaced by values: how what a loop carries gets its closed form.

Replacing goes everywhere: into sums, into the sets of sums and cases (where data is
compared), and into the indices of elements. A value by cases makes a term by cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.terms.apply import apply, lifted
from argus.terms.cast import to_integer, to_real
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
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Element,
    Leaf,
    Max,
    Scalar,
    Sum,
    Whole,
)
from argus.terms.maxima import Source, maximum_over
from argus.terms.powers import raised
from argus.terms.sets import IndexSet
from argus.terms.substitution import in_set_by
from argus.terms.sums import renamed, sum_over, tidy
from argus.terms.term import ZERO, Rational, Term, leaf_term, number, whole
from argus.terms.unknown import Unknown
from argus.terms.value import Case, Value, merged
from argus.terms.world import World

LeafValue = Callable[[Leaf], Value | None]
"""What a leaf is replaced by; None: it stays. Asked of elements, scalars, and what is
carried, after variables in their indices have been replaced."""


def replace(
    world: World,
    value: Value | Term,
    leaf: LeafValue,
    env: Mapping[Variable, Integer] | None = None,
) -> Value:
    """A term or value with leaves replaced by values, and variables by integers."""
    replacement = _Replacement(world, leaf, dict(env or {}))
    if isinstance(value, Term):
        return replacement.term(value)
    return replacement.value(value)


class _Replacement:
    """One replacement below given bindings of variables."""

    def __init__(
        self, world: World, leaf: LeafValue, env: dict[Variable, Integer]
    ) -> None:
        self.world = world
        self.leaf = leaf
        self.env = env
        self.known: dict[Leaf, Value] = {}

    def below(self, env: Mapping[Variable, Integer]) -> _Replacement:
        """The same replacement where more variables are replaced."""
        return _Replacement(self.world, self.leaf, {**self.env, **env})

    def value(self, value: Value) -> Value:
        """A value with leaves replaced."""
        if value.kind == "truth":
            return Value.truth(self.set(value.where))
        cases: list[Case] = []
        for where, x in value.cases:
            held = self.set(where)
            if isinstance(x, Term):
                cases += [(held & s, y) for s, y in self.term(x).cases]
            else:
                cases.append((held, self.integer(x)))
        return merged(self.world, value.kind, cases)

    def term(self, term: Term) -> Value:
        """A term with leaves replaced."""
        total = Value.real(ZERO)
        for part, coefficient in term.parts.items():
            made = Value.real(number(coefficient))
            for leaf, power in part.factors:
                made = self._times(made, self._leaf(leaf), power)
            if part.exponent is not None:
                scale = apply(self.world, "exp", self.term(part.exponent))
                made = apply(self.world, "mul", made, scale)
            total = apply(self.world, "add", total, made)
        return total

    def _times(self, made: Value, factor: Value, power: Rational) -> Value:
        if power != 1:
            factor = lifted(
                self.world, lambda world, where, a: raised(a[0], power), [factor]
            )
        return apply(self.world, "mul", made, factor)

    def _leaf(self, leaf: Leaf) -> Value:
        if leaf not in self.known:
            self.known[leaf] = to_real(self.world, self._replaced(leaf))
        return self.known[leaf]

    def _replaced(self, leaf: Leaf) -> Value:
        match leaf:
            case Element():
                return self._asked(Element(leaf.tensor, self._integers(leaf.indices)))
            case Carried():
                return self._asked(Carried(leaf.name, self._integers(leaf.indices)))
            case Scalar():
                return self._asked(leaf)
            case Whole():
                return Value.real(whole(self.atom(leaf.atom)))
            case Call(function="log"):
                return apply(self.world, "log", self.term(leaf.args[0]))
            case Call():
                return apply(
                    self.world, leaf.function, *(self.term(a) for a in leaf.args)
                )
            case Base():
                return self.term(leaf.term)
            case Sum():
                return Value.real(self._sum(leaf))
            case Max():
                return Value.real(self._maximum(leaf))
            case _:
                return Value.real(leaf_term(leaf))

    def _asked(self, leaf: Leaf) -> Value:
        found = self.leaf(leaf)
        return Value.real(leaf_term(leaf)) if found is None else found

    def _sum(self, leaf: Sum) -> Term:
        names, fresh = renamed(self.world, leaf.variables)
        inner = self.below(names)
        domain = inner.set(leaf.domain)
        total = ZERO
        for where, body in inner.term(leaf.body).terms:
            total = total + sum_over(self.world, fresh, domain & where, body)
        return tidy(self.world, total)

    def _maximum(self, leaf: Max) -> Term:
        sources: list[Source] = []
        for generator in leaf.generators:
            names, fresh = renamed(self.world, generator.variables)
            inner = self.below(names)
            domain = inner.set(generator.domain)
            for where, body in inner.term(generator.body).terms:
                sources.append((fresh, domain & where, body))
        return maximum_over(self.world, sources)

    def set(self, where: IndexSet) -> IndexSet:
        """A set with leaves of the data that it compares replaced."""
        return in_set_by(self.world, where, self._monomial)

    def integer(self, value: Integer) -> Integer:
        """An integer with leaves of the data in it replaced."""
        total = Integer.of(0)
        for monomial, coefficient in value.terms.items():
            total = total + self._monomial(monomial) * coefficient
        return total

    def _integers(self, values: tuple[Integer, ...]) -> list[Integer]:
        return [self.integer(v) for v in values]

    def _monomial(self, monomial: Monomial) -> Integer:
        found = Integer.of(1)
        for atom in monomial:
            found = found * self.atom(atom)
        return found

    def atom(self, atom: Atom) -> Integer:
        """An atom with leaves of the data in it replaced."""
        world = self.world
        match atom:
            case Variable():
                return self.env.get(atom, Integer.atom(atom))
            case Opaque():
                left, right = (self.integer(a) for a in atom.args)
                match atom.op:
                    case "div":
                        return world.quotient(left, right)
                    case "mod":
                        return world.remainder(left, right)
                    case "min":
                        return world.minimum(left, right)
                    case "max":
                        return world.maximum(left, right)
            case Entry():
                return world.entry(atom.tensor, self._integers(atom.indices))
            case Applied():
                args = tuple(self._integers(atom.args))
                return Integer.atom(Applied(atom.function, args))
            case Truth():
                term = self._data(atom.term)
                compared = apply(world, atom.op, Value.real(term), Value.real(ZERO))
                return self._whole(to_integer(world, compared))
            case Truncated():
                return self._whole(to_integer(world, Value.real(self._data(atom.term))))
            case _:
                raise TypeError(f"replacing in {type(atom).__name__}")

    def _data(self, term: object) -> Term:
        assert isinstance(term, Term)
        return self.term(term).term

    def _whole(self, value: Value) -> Integer:
        if len(value.cases) == 1 and value.cases[0][0].is_universe:
            return value.integer
        raise Unknown(f"what is compared becomes a value by cases: {value}")
