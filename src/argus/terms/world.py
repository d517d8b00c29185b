"""A world: the symbols, facts and requirements of one proof.

    world = World()
    n = world.size("N")
    k = world.variable("k", 0, n)
    world.is_empty(world.compare(k, ">=", n))     # True: k's bounds are facts
    world.quotient(64 * n + k, 64)                # N + k // 64

There is no state outside of a world. Facts hang on atoms (`facts.py`) and come into
play by `close`; a question that a fact would decide and that is not known is answered
with "not proved", never with the opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, cast, runtime_checkable

from argus.terms import division, entries, facts, substitution
from argus.terms.entries import PairFact
from argus.terms.integers import (
    EXTREMES,
    Atom,
    Comparison,
    DataTerm,
    Entry,
    Integer,
    Monomial,
    Opaque,
    Truncated,
    Truth,
    Variable,
)
from argus.terms.interning import Interned, canonical
from argus.terms.obligations import Obligations
from argus.terms.opening import OpenNames
from argus.terms.sampling import sample
from argus.terms.sets import IndexSet
from argus.terms.space import Space
from argus.terms.unknown import Unknown

EntryFact = Callable[[tuple[Integer, ...], Integer], IndexSet]
"""What holds of the entry at a position, for every position: outside of the tensor,
too, so that a fact about entries starts with "the position lies outside, or"."""


@runtime_checkable
class Substitutable(Protocol):
    """What variables can be replaced in: terms and values."""

    def substituted(self, world: World, env: Mapping[Variable, Integer]) -> object:
        """The same with variables replaced."""
        ...


Symbolic = TypeVar("Symbolic")
_VALUES = 16
"""Values of a variable that are few."""
_DEPTH = 40
"""Sums in sums that are brought into form at a time."""


@dataclass(frozen=True)
class Requirement:
    """What a launch guarantees, and who says so."""

    where: IndexSet
    why: str


class World:
    """The symbols and facts of one proof."""

    def __init__(self) -> None:
        self.space = Space()
        self.requirements: list[Requirement] = []
        self.divisors: list[tuple[Integer, Integer]] = []
        """Pairs (divisor, dividend) that a launch guarantees."""
        self.obligations = Obligations()
        """What has to hold for terms to be what they claim, see `obligations.py`."""
        self.conventions: dict[str, None] = {}
        """What was taken for the same, or for defined, in words; in order."""
        self.entry_facts: dict[str, list[EntryFact]] = {}
        self.tables: dict[str, tuple[int, int]] = {}
        """The least and the greatest number that an integer tensor may hold."""
        self.pair_facts: list[PairFact] = []
        self.distinct: dict[str, tuple[Integer, ...]] = {}
        """Integer tensors whose entries are different numbers, and their extents."""
        self.known = facts.Known()
        self.interned = Interned()
        self.memory: dict[object, object] = {}
        """Results of pure functions of this world, kept while no fact is added."""
        self.true_infinity = False
        """Whether a program writes infinity itself and not only a stand-in."""
        self.finite_infinity = False
        """Whether a number was taken for infinity."""
        self.infinite_factors = False
        """Whether a program multiplies what may be infinite with what may be 0."""
        self.large_numbers = False
        """Whether numbers that could stand for infinity are what they are."""
        self.open_names = OpenNames()
        self._variables: dict[str, Variable] = {}
        self._fresh = 0
        self._depth = 0

    @contextmanager
    def deeper(self, reason: str) -> Generator[None, None, None]:
        """One step into a recursion of which nothing shows that it ends.

        Raises Unknown beyond a depth that no term of a kernel reaches.
        """
        if self._depth >= _DEPTH:
            raise Unknown(reason)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    # -- symbols

    def size(self, name: str) -> Integer:
        """A size of a tensor: at least 0. The same for each call with a name.

        Launches refuse tensors that are empty (AG0814). A kernel that is right of them
        says so itself: a mean or a maximum over nothing is a mistake of the kernel.
        """
        return self.variable(name, 0)

    def variable(
        self,
        name: str,
        lower: Integer | int | None = None,
        upper: Integer | int | None = None,
    ) -> Integer:
        """The variable of a name, from ``lower`` to ``upper`` (exclusive).

        Raises ValueError where the name stands for a variable of other bounds.
        """
        low = None if lower is None else Integer.of(lower)
        high = None if upper is None else Integer.of(upper)
        made = self._variables.get(name)
        if made is None:
            made = self._variables[name] = Variable(name, low, high)
        elif (low is not None and made.lower != low) or (
            high is not None and made.upper != high
        ):
            raise ValueError(f"{name} has other bounds already")
        return Integer.atom(made)

    def fresh(
        self,
        stem: str,
        lower: Integer | int | None = None,
        upper: Integer | int | None = None,
    ) -> Integer:
        """A variable that nothing mentions yet: ``stem.1``, ``stem.2``, ..."""
        self._fresh += 1
        stem = stem.partition(".")[0]
        return self.variable(f"{stem}.{self._fresh}", lower, upper)

    def opened(
        self,
        stem: str,
        lower: Integer | None = None,
        upper: Integer | None = None,
    ) -> Integer:
        """A variable that is bound again soon: till then it is of no other use.

        See `opening.py`.
        """
        kind = stem, lower, upper
        return self.open_names.take(kind, lambda: self.fresh(stem, lower, upper))

    def entry(self, tensor: str, indices: Sequence[Integer]) -> Integer:
        """The entry of an integer tensor."""
        return Integer.atom(Entry(tensor, tuple(indices)))

    # -- what is known

    def require(self, where: IndexSet, why: str) -> None:
        """What every launch guarantees."""
        if where.is_universe:
            return
        self.requirements.append(Requirement(where, why))
        self._forget()

    def require_divides(self, divisor: Integer | int, dividend: Integer | int) -> None:
        """Every launch guarantees that a positive number divides another."""
        divisor, dividend = Integer.of(divisor), Integer.of(dividend)
        why = f"{divisor} divides {dividend}"
        self.require(self.compare(divisor, ">=", 1), why)
        rest = division.remainder(self, dividend, divisor)
        self.require(self.compare(rest, "==", 0), why)
        self.divisors.append((divisor, dividend))
        self._forget()

    def divides(self, divisor: Integer, dividend: Integer) -> bool:
        """Whether a launch guarantees it, in just these words."""
        return (divisor, dividend) in self.divisors

    def is_multiple(self, value: Integer, number: int) -> bool:
        """Whether a launch guarantees it of a multiple of ``value``'s divisor."""
        for divisor, dividend in self.divisors:
            step = divisor.constant
            if step is None or step % number:
                continue
            for monomial, coefficient in value.terms.items():
                times, rest = divmod(coefficient, dividend.terms.get(monomial, 0) or 1)
                if not rest and value == dividend * times:
                    return True
                break
        return False

    def assume_entries(self, tensor: str, fact: EntryFact) -> None:
        """What an author assumes of every entry of an integer tensor."""
        self.entry_facts.setdefault(tensor, []).append(fact)
        self._forget()

    def multiplies_infinity(self) -> None:
        """Say that a program multiplies what may be infinite with what may be 0."""
        self.infinite_factors = True
        self._forget()

    def assume_pairs(self, fact: PairFact) -> None:
        """What an author assumes of entries at each two places of integer tensors."""
        self.pair_facts.append(fact)
        self._forget()

    def assume_distinct(self, tensor: str, extents: Sequence[Integer]) -> None:
        """That no two entries of an integer tensor are the same number."""

        def differ(one: Sequence[Integer], other: Sequence[Integer]) -> IndexSet:
            left, right = (self.entry(tensor, place) for place in (one, other))
            return self.compare(left, "!=", right)

        self.distinct[tensor] = tuple(extents)
        self.assume_pairs(PairFact((tensor,), tuple(extents), differ))

    def convention(self, text: str) -> None:
        """Note what was taken for granted, in words for the report."""
        self.conventions.setdefault(text)

    def _forget(self) -> None:
        self.known = facts.Known()
        self.memory = {}

    # -- integers

    def compare(
        self, left: Integer | int, op: Comparison, right: Integer | int
    ) -> IndexSet:
        """Where ``left op right``."""
        return self.space.compare(Integer.of(left) - right, op)

    def inside(
        self, indices: Sequence[Integer], extents: Sequence[Integer]
    ) -> IndexSet:
        """Where a position is one of those that a shape has."""
        found = IndexSet.universe
        for index, extent in zip(indices, extents, strict=True):
            found = found & self.compare(index, ">=", 0)
            found = found & self.compare(index, "<", extent)
        return found

    def quotient(self, dividend: Integer | int, divisor: Integer | int) -> Integer:
        """``dividend // divisor``, rounded down."""
        return division.quotient(self, Integer.of(dividend), Integer.of(divisor))

    def remainder(self, dividend: Integer | int, divisor: Integer | int) -> Integer:
        """``dividend - divisor * (dividend // divisor)``."""
        return division.remainder(self, Integer.of(dividend), Integer.of(divisor))

    def minimum(self, left: Integer | int, right: Integer | int) -> Integer:
        """The smaller of two integers."""
        return division.extreme(self, "min", Integer.of(left), Integer.of(right))

    def maximum(self, left: Integer | int, right: Integer | int) -> Integer:
        """The larger of two integers."""
        return division.extreme(self, "max", Integer.of(left), Integer.of(right))

    # -- sets

    def facts(self, monomials: Sequence[Monomial]) -> IndexSet:
        """All that is known of monomials and of what these facts mention."""
        return facts.closure(self, tuple(monomials))

    def close(self, where: IndexSet) -> IndexSet:
        """A set and the facts of what it mentions, except for alternatives.

        That nothing is left says that it is empty; else `is_empty` may know more.
        """
        if isinstance(where.isl, bool):
            return where
        return entries.places(self, where & self.facts(where.monomials))

    def is_empty(self, where: IndexSet) -> bool:
        """Whether no launch has a point of it. False: not proved to be empty."""
        if isinstance(where.isl, bool):
            return where.is_nothing
        self.in_time()
        key = ("empty", where)
        if key not in self.memory:
            self.memory[key] = facts.is_refuted(self, self.close(where))
        return self.memory[key] is True

    def is_subset(self, part: IndexSet, whole: IndexSet) -> bool:
        """Whether every point of one set is in the other. False: not proved."""
        if part is whole or part.is_nothing or whole.is_universe:
            return True
        return self.is_empty(part - whole)

    def is_covered(self, where: IndexSet, parts: Iterable[IndexSet]) -> bool:
        """Whether every point of a set is in one of several. False: not proved.

        What is left is cut part by part: a union of many is slow to write down.
        """
        several = list(parts)
        if where in several:
            return True
        left = where & self.facts([m for s in (where, *several) for m in s.monomials])
        for part in several:
            self.in_time()
            left = left - part
        return self.is_empty(left)

    def in_time(self) -> None:
        """Whoever asks many questions calls it between them: it may raise Exhausted."""

    def equal_sets(self, left: IndexSet, right: IndexSet) -> bool:
        """Whether both sets have the same points. False: not proved."""
        return self.is_subset(left, right) and self.is_subset(right, left)

    def canonical(self, where: IndexSet) -> IndexSet:
        """One object for all sets that are equal where their facts hold.

        It is what has to be said beside the facts, so that it depends neither on what
        else one side knows nor on the way on which it was found.
        """
        return canonical(self, where)

    def sample(self, where: IndexSet) -> dict[Variable, int] | None:
        """A point of a set at which all it mentions has its value, or None.

        None: none was found. Entries of tensors and truths of data are not in it.
        """
        return sample(self, where)

    def project(self, where: IndexSet, variables: Sequence[Variable]) -> IndexSet:
        """Where there are values of variables, within their bounds, for which it holds.

        A variable of a few values that a product has is each of them, and an extreme of
        two numbers each of the two. Raises Unknown where another product or opaque atom
        depends on a variable.
        """
        for bound in [facts.of_atom(self, v) for v in variables]:
            where = where & bound
        return self._projected(where, variables)

    def _projected(self, where: IndexSet, variables: Sequence[Variable]) -> IndexSet:
        gone = set(variables)
        for monomial in where.monomials:
            if len(monomial) == 1 and isinstance(monomial[0], Variable):
                continue
            within = {v for a in monomial for v in a.variables if v in gone}
            ordered = sorted(within, key=lambda v: v.key)
            few = next((v for v in ordered if v in monomial and _few(v)), None)
            if few is not None:
                left = [v for v in variables if v != few]
                each = (self.substitute(where, {few: Integer.of(i)}) for i in _few(few))
                return _union(self._projected(one, left) for one in each)
            arms = _arms(monomial) if within else None
            if arms is not None:
                small, left, right = arms
                each = (
                    self._chosen(where, monomial[0], x) & self.compare(x, small, other)
                    for x, other in ((left, right), (right, left))
                )
                return _union(self._projected(one, variables) for one in each)
            if within:
                shown = "*".join(map(str, monomial))
                raise Unknown(f"whether there is a point that {shown} depends on")
        return where.without([self.space.name((v,)) for v in variables])

    def _chosen(self, where: IndexSet, atom: Atom, value: Integer) -> IndexSet:
        """A set in which an atom is another number."""

        def change(monomial: Monomial) -> Integer | None:
            if atom not in monomial:
                return None
            found = Integer.of(1)
            for one in monomial:
                found = found * (value if one == atom else Integer.atom(one))
            return found

        return substitution.in_set_by(self, where, change)

    # -- substitution

    def substitute(self, value: Symbolic, env: Mapping[Variable, Integer]) -> Symbolic:
        """The same with variables replaced: an integer, a set, a term or a value."""
        result: object
        if isinstance(value, Integer):
            result = substitution.in_integer(self, value, env)
        elif isinstance(value, IndexSet):
            result = substitution.in_set(self, value, env)
        elif isinstance(value, Substitutable):
            result = value.substituted(self, env)
        else:
            raise TypeError(f"variables in {type(value).__name__}")
        return cast(Symbolic, result)

    def truth_of(self, op: Literal["gt", "eq"], term: DataTerm) -> Integer:
        """1 where a term is greater than 0, or equal to 0; else 0."""
        number = term.constant
        if number is not None and term.special is None:
            return Integer.of(int(number > 0 if op == "gt" else number == 0))
        return Integer.atom(Truth(op, term))

    def told(self, truth: Integer, holds: bool) -> IndexSet:
        """Where a truth is 1, or 0.

        Said by one inequality: what is no such set has one piece, too, and not the
        numbers above and below it.
        """
        return self.compare(truth, ">=", 1) if holds else self.compare(truth, "<=", 0)

    def truncation_of(self, term: DataTerm) -> Integer:
        """A term cut to an integer, towards zero."""
        return Integer.atom(Truncated(term))

    def atom_value(self, atom: Atom, env: Mapping[Variable, Integer]) -> Integer:
        """An atom with variables replaced."""
        return substitution.in_atom(self, atom, env)


def _few(variable: Variable) -> range:
    """The values of a variable that has a few."""
    if variable.lower is None or variable.upper is None:
        return range(0)
    low, high = variable.lower.constant, variable.upper.constant
    if low is None or high is None or high - low > _VALUES:
        return range(0)
    return range(low, high)


def _arms(monomial: Monomial) -> tuple[Comparison, Integer, Integer] | None:
    """How the numbers of which one is an extreme compare with the other; and both."""
    atom = monomial[0]
    if len(monomial) != 1 or not isinstance(atom, Opaque):
        return None
    left, right = atom.args
    return None if atom.op not in EXTREMES else (EXTREMES[atom.op], left, right)


def _union(sets: Iterable[IndexSet]) -> IndexSet:
    found = IndexSet.nothing
    for one in sets:
        found = found | one
    return found
