"""Leaves of terms replaced by values: how what a loop carries gets its closed form.

Replacing goes everywhere: into sums, into the sets of sums and cases (where data is
compared), and into the indices of elements. A value by cases makes a term by cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from argus.terms.apply import apply, lifted
from argus.terms.cast import to_integer, to_real
from argus.terms.folds import refolded
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
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Element,
    Fold,
    Generated,
    Leaf,
    Max,
    Scalar,
    Sum,
    Whole,
)
from argus.terms.maxima import Source, maximum_over
from argus.terms.mentioned import inputs, inputs_of_leaf
from argus.terms.powers import raised
from argus.terms.sets import IndexSet
from argus.terms.substitution import in_set_by
from argus.terms.sums import renamed, sum_over, tidy
from argus.terms.term import ZERO, Rational, Term, leaf_term, number
from argus.terms.value import Case, Value, joined, merged
from argus.terms.world import World

_OPERATIONS = {"div": "floordiv", "mod": "mod", "min": "minimum", "max": "maximum"}
LeafValue = Callable[[Leaf], Value | None]
"""What a leaf is replaced by; None: it stays. Asked of elements, scalars, and what is
carried, after variables in their indices have been replaced; more than once, and also
with the names of bound variables in them."""


def replace(
    world: World,
    value: Value | Term,
    leaf: LeafValue,
    env: Mapping[Variable, Integer] | None = None,
    atoms: Mapping[Atom, Integer] | None = None,
) -> Value:
    """A term or value with leaves replaced by values, and variables by integers.

    ``atoms``: what other atoms are replaced by.
    """
    replacement = _Replacement(world, leaf, dict(env or {}), atoms or {})
    with world.obligations.muted("positive", "not empty", "finite"):
        if isinstance(value, Term):
            return replacement.term(value)
        return replacement.value(value)


class _Replacement:
    """One replacement below given bindings of variables."""

    def __init__(
        self,
        world: World,
        leaf: LeafValue,
        env: dict[Variable, Integer],
        atoms: Mapping[Atom, Integer],
    ) -> None:
        self.world = world
        self.leaf = leaf
        self.env = env
        self.atoms = atoms
        self.touched = frozenset(env).union(*(a.variables for a in atoms))
        self.everywhere = any(not a.variables for a in atoms)
        self.known: dict[Leaf, Value] = {}

    def below(self, env: Mapping[Variable, Integer]) -> _Replacement:
        """The same replacement where more variables are replaced."""
        return _Replacement(self.world, self.leaf, {**self.env, **env}, self.atoms)

    def value(self, value: Value) -> Value:
        """A value with leaves replaced."""
        if value.kind == "truth":
            return Value.truth(self.set(value.where))
        cases: list[Case] = []
        for where, x in value.cases:
            held = self.set(where)
            made = self.term(x) if isinstance(x, Term) else self.integer(x)
            cases += [(held & s, y) for s, y in made.cases]
        return merged(self.world, value.kind, cases)

    # -- terms

    def term(self, term: Term) -> Value:
        """A term with leaves replaced."""
        if self._stays(term.free_variables(), inputs(self.world, term)):
            return Value.real(term)
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

    def _stays(self, free: frozenset[Variable], found: frozenset[Leaf]) -> bool:
        """Whether nothing in something is replaced."""
        if self.everywhere or not self.touched.isdisjoint(free):
            return False
        return all(self.leaf(leaf) is None for leaf in found)

    def _times(self, made: Value, factor: Value, power: Rational) -> Value:
        if power != 1:
            factor = lifted(
                self.world, lambda world, where, a: raised(a[0], power), [factor]
            )
        return apply(self.world, "mul", made, factor)

    def _leaf(self, leaf: Leaf) -> Value:
        if leaf not in self.known:
            if self._stays(leaf.free, inputs_of_leaf(self.world, leaf)):
                self.known[leaf] = Value.real(leaf_term(leaf))
            else:
                self.known[leaf] = to_real(self.world, self._replaced(leaf))
        return self.known[leaf]

    def _replaced(self, leaf: Leaf) -> Value:
        match leaf:
            case Element():
                return self._at(leaf.indices, lambda at: Element(leaf.tensor, at))
            case Carried():
                return self._at(leaf.indices, lambda at: Carried(leaf.name, at))
            case Scalar():
                return self._asked(leaf)
            case Whole():
                return self.atom(leaf.atom)
            case Call():
                args = [self.term(a) for a in leaf.args]
                return apply(self.world, leaf.function, *args)
            case Base():
                return self.term(leaf.term)
            case Sum():
                return Value.real(self._sum(leaf))
            case Max():
                return Value.real(maximum_over(self.world, self._sources(leaf)))
            case Fold():
                return Value.real(refolded(self.world, leaf, self._sources(leaf)))
            case _:
                return Value.real(leaf_term(leaf))

    def _at(
        self, indices: Sequence[Integer], make: Callable[[list[Integer]], Leaf]
    ) -> Value:
        """What a leaf is replaced by, at indices that may have cases."""
        parts = [
            (where, to_real(self.world, self._asked(make(at))))
            for where, at in self._choices(indices)
        ]
        return joined(self.world, parts)

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

    def _sources(self, leaf: Generated) -> list[Source]:
        sources: list[Source] = []
        for generator in leaf.generators:
            names, fresh = renamed(self.world, generator.variables)
            inner = self.below(names)
            domain = inner.set(generator.domain)
            for where, body in inner.term(generator.body).terms:
                sources.append((fresh, domain & where, body))
        return sources

    # -- integers and sets, in which data is compared

    def set(self, where: IndexSet) -> IndexSet:
        """A set with leaves of the data that it compares replaced."""
        monomials = where.monomials
        values = [Integer({m: 1}) for m in monomials]
        found = IndexSet.nothing
        for held, chosen in self._choices(values):
            change = dict(zip(monomials, chosen, strict=True))
            found = found | (held & in_set_by(self.world, where, change.__getitem__))
        return found

    def integer(self, value: Integer) -> Value:
        """An integer with leaves of the data in it replaced: by cases, if they are."""
        total = Value.whole(0)
        for monomial, coefficient in value.terms.items():
            made = Value.whole(coefficient)
            for atom in monomial:
                made = apply(self.world, "mul", made, self.atom(atom))
            total = apply(self.world, "add", total, made)
        return total

    def _choices(
        self, values: Sequence[Integer]
    ) -> list[tuple[IndexSet, list[Integer]]]:
        """What several integers become, by the cases of all."""
        every: list[tuple[IndexSet, list[Integer]]] = [(IndexSet.universe, [])]
        for value in values:
            cases = self.integer(value).integers
            before, every = every, []
            for s, xs in before:
                self.world.in_time()  # they are as many as choices of all truths
                every += [(s & t, [*xs, x]) for t, x in cases]
        if len(every) == 1:
            return every
        return [(s, xs) for s, xs in every if not self.world.is_empty(s)]

    def atom(self, atom: Atom) -> Value:
        """An atom with leaves of the data in it replaced."""
        world = self.world
        if atom in self.atoms:
            return Value.whole(self.atoms[atom])
        match atom:
            case Variable():
                return Value.whole(self.env.get(atom, Integer.atom(atom)))
            case Opaque():
                args = [self.integer(a) for a in atom.args]
                return apply(world, _OPERATIONS[atom.op], *args)
            case Entry() | Applied():
                parts = [
                    (where, Value.whole(Integer.atom(_again(atom, at))))
                    for where, at in self._choices(atom.arguments)
                ]
                return joined(world, parts)
            case Truth():
                term = self._data(atom.term)
                made = apply(world, atom.op, term, Value.real(ZERO))
                return to_integer(world, made)
            case Truncated():
                return to_integer(world, self._data(atom.term))
            case _:
                raise TypeError(f"replacing in {type(atom).__name__}")

    def _data(self, term: object) -> Value:
        assert isinstance(term, Term)
        return self.term(term)


def _again(atom: Entry | Applied, args: Sequence[Integer]) -> Atom:
    if isinstance(atom, Entry):
        return Entry(atom.tensor, tuple(args))
    return Applied(atom.function, tuple(args))
