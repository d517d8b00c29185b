"""Values by cases: a term, an integer or a truth, depending on where it is asked.

    inside = world.compare(k, "<", n)
    padded = joined(world, [(inside, Value.real(a)), (~inside, Value.real(ZERO))])

Conditions of programs become sets, so that a mask restricts and a padded element is a
constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from argus.terms.integers import Integer, Variable
from argus.terms.sets import IndexSet
from argus.terms.term import Term
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World

Kind: TypeAlias = Literal["real", "integer", "truth"]
Case: TypeAlias = tuple[IndexSet, Term | Integer]


@dataclass(frozen=True, eq=False)
class Value:
    """What an expression is, by cases.

    ``cases`` are disjoint sets with a term each ("real"), or an integer each
    ("integer"); where no case holds, the value is not asked for. A "truth" has no cases
    but ``where``, the set at which it is true.
    """

    kind: Kind
    cases: tuple[Case, ...] = ()
    where: IndexSet = IndexSet.nothing

    @staticmethod
    def real(term: Term) -> Value:
        """A term, everywhere."""
        return Value("real", ((IndexSet.universe, term),))

    @staticmethod
    def whole(integer: Integer | int) -> Value:
        """An integer, everywhere."""
        return Value("integer", ((IndexSet.universe, Integer.of(integer)),))

    @staticmethod
    def truth(where: IndexSet) -> Value:
        """True in a set, false elsewhere."""
        return Value("truth", (), where)

    @property
    def terms(self) -> tuple[tuple[IndexSet, Term], ...]:
        """The cases of a real value."""
        assert self.kind == "real"
        return tuple((s, x) for s, x in self.cases if isinstance(x, Term))

    @property
    def integers(self) -> tuple[tuple[IndexSet, Integer], ...]:
        """The cases of an integer value."""
        assert self.kind == "integer"
        return tuple((s, x) for s, x in self.cases if isinstance(x, Integer))

    @property
    def term(self) -> Term:
        """The term of a value of one case. Raises Unknown where it has several."""
        if self.kind != "real" or len(self.cases) != 1:
            raise Unknown(f"a value by cases, where one term was expected: {self}")
        return self.terms[0][1]

    @property
    def integer(self) -> Integer:
        """The integer of a value of one case. Raises Unknown where it has several."""
        if self.kind != "integer" or len(self.cases) != 1:
            raise Unknown(f"a value by cases, where one integer was expected: {self}")
        return self.integers[0][1]

    def free_variables(self) -> frozenset[Variable]:
        """Variables that it depends on."""
        found = set(self.where.variables())
        for held, x in self.cases:
            found |= held.variables()
            found |= x.free_variables() if isinstance(x, Term) else x.variables()
        return frozenset(found)

    def only(self, world: World, where: IndexSet) -> Value:
        """The value within a set; a truth is false outside."""
        if self.kind == "truth":
            return Value.truth(self.where & where)
        return merged(world, self.kind, [(s & where, x) for s, x in self.cases])

    def substituted(self, world: World, env: Mapping[Variable, Integer]) -> Value:
        """The same with variables replaced."""
        where = world.substitute(self.where, env)
        cases: list[Case] = []
        for held, x in self.cases:
            cases.append((world.substitute(held, env), world.substitute(x, env)))
        if self.kind == "truth":
            return Value.truth(where)
        return merged(world, self.kind, cases)

    def __str__(self) -> str:
        if self.kind == "truth":
            return str(self.where)
        if len(self.cases) == 1 and self.cases[0][0].is_universe:
            return str(self.cases[0][1])
        return "; ".join(f"{x} if {s}" for s, x in self.cases)


def merged(world: World, kind: Kind, cases: Iterable[Case]) -> Value:
    """A value of disjoint cases: equal results are one case, empty ones are left out.

    A value of no case, which is never asked for, keeps one with an empty set.
    """
    found: dict[Term | Integer, IndexSet] = {}
    every = list(cases)
    for where, x in every:
        if world.is_empty(where):
            continue
        found[x] = found[x] | where if x in found else where
    if not found and every:
        found = {every[0][1]: IndexSet.nothing}
    return Value(kind, tuple((s, x) for x, s in found.items()))


def joined(world: World, parts: Sequence[tuple[IndexSet, Value]]) -> Value:
    """The value that is each of several in a set of its own; the sets are disjoint."""
    kind = parts[0][1].kind
    if any(v.kind != kind for _, v in parts):
        raise Unknown("a value that is a number in one case and a truth in another")
    if kind == "truth":
        where = IndexSet.nothing
        for held, value in parts:
            where = where | (held & value.where)
        return Value.truth(where)
    return merged(world, kind, [(h & s, x) for h, v in parts for s, x in v.cases])
