"""Sets of points of integers, decided by isl.

Every monomial that a set mentions is a parameter of an isl set without dimensions: a
set is a condition. What is quasi-affine (quotients and remainders by numbers included)
is isl's own; products of atoms and atoms that isl has no form for are parameters of
which this module knows nothing. Facts about them are `world.close`'s.

Sets are made by a world (`world.compare`), and combined here:

    inside = world.compare(k, ">=", 0) & world.compare(k, "<", n)
    outside = ~inside
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

import islpy as isl

from argus.terms.integers import (
    Atom,
    Comparison,
    Integer,
    Monomial,
    Opaque,
    Variable,
)
from argus.terms.isl_sets import (
    PARAMETER,
    Asking,
    conjoined,
    hull,
    parameters,
    simplest,
)
from argus.terms.unknown import Exhausted, Unknown

if TYPE_CHECKING:
    from argus.terms.space import Space

_MOST_PIECES = 128
"""Pieces of a set of which the rest is found, at most: it may have far more."""
_MOST_PAIRS = 1 << 16
"""Pairs of pieces of sets that are intersected, at most: these take a second or two."""


class IndexSet:
    """A set of points, with ``&``, ``|``, ``-`` and ``~``.

    Compared by identity: `world.equal_sets` asks whether two sets are equal.

    Whether a conjunction of several conditions is empty takes isl ten times as long as
    to write them into one. So it is asked only when somebody looks at the result.
    """

    __slots__ = ("_both", "_form", "_isl", "_monomials", "_single", "number", "space")
    universe: ClassVar[IndexSet]
    nothing: ClassVar[IndexSet]

    def __init__(
        self, value: isl.Set | isl.BasicSet | bool, space: Space | None = None
    ) -> None:
        self._both = value if isinstance(value, isl.BasicSet) else None
        """A conjunction of which nobody has asked yet whether it is empty."""
        self._isl = False if isinstance(value, isl.BasicSet) else value
        self._form = value
        """What it was made of; the same set may have several forms."""
        self.space = space
        self.number: int | None = None
        """Of a canonical set of a world: equal numbers, equal sets."""
        self._monomials: tuple[Monomial, ...] | None = None
        self._single: isl.BasicSet | bool | None = None
        """What `conjunction` found; False: alternatives."""

    def has_form(self, value: isl.Set | isl.BasicSet) -> bool:
        """Whether it was made of just these conditions."""
        mine = self._form
        if isinstance(mine, isl.Set) and isinstance(value, isl.Set):
            return mine.plain_is_equal(value)
        if isinstance(mine, isl.BasicSet) and isinstance(value, isl.BasicSet):
            return mine.plain_is_equal(value)
        return False

    @property
    def isl(self) -> isl.Set | bool:
        """The set of isl; True and False are everything and nothing."""
        if self._both is not None:
            with self.asking:
                self._isl = simplest(isl.Set.from_basic_set(self._both))
            self._both = None
        return self._isl

    @property
    def asking(self) -> Asking:
        """The limit of a question for isl about it."""
        return self._space.asking

    @property
    def _space(self) -> Space:
        """Its space; everything and nothing are of none."""
        assert self.space is not None
        return self.space

    @property
    def is_universe(self) -> bool:
        """Whether it is plainly everything. Everything may look otherwise."""
        return self.isl is True

    @property
    def is_nothing(self) -> bool:
        """Whether no point is in it, whatever opaque monomials are."""
        return self.isl is False

    def __and__(self, other: IndexSet) -> IndexSet:
        if self is other or self._is(True) or other._is(False):
            return other
        if other._is(True) or self._is(False):
            return self
        left, right = self.conjunction(), other.conjunction()
        if left is None or right is None:
            if isinstance(self.isl, bool) or isinstance(other.isl, bool):
                return other if self.isl is True or other.isl is False else self
            with self.asking:
                pairs = self.isl.n_basic_set() * other.isl.n_basic_set()
            if pairs > _MOST_PAIRS:
                raise Exhausted("sets of too many pieces, of which all pairs are asked")
            return self._with(other, isl.Set.intersect)
        space = self.space
        if space is None or space is not other.space:
            raise ValueError("sets of two worlds")
        found = space.combined.get(("conjoined", self, other))
        if found is None:
            with space.asking:
                found = space.one(conjoined(left, right))
            space.combined["conjoined", self, other] = found
        return found

    def __or__(self, other: IndexSet) -> IndexSet:
        if self.isl is False or other.isl is True or self is other:
            return other
        if other.isl is False or self.isl is True:
            return self
        return self._with(other, isl.Set.union).coalesced()

    def __sub__(self, other: IndexSet) -> IndexSet:
        if other.isl is False or self.isl is False:
            return self
        if other.isl is True or self is other:
            return IndexSet.nothing
        if self.isl is True:
            return ~other
        return self._with(other, isl.Set.subtract, self._space.subtracting)

    def __invert__(self) -> IndexSet:
        if isinstance(self.isl, bool):
            return IndexSet.nothing if self.isl is True else IndexSet.universe
        with self._space.subtracting:
            if self.isl.n_basic_set() > _MOST_PIECES:
                raise Unknown("a set of too many pieces, of which the rest is asked")
            return self.of(self.isl.complement())

    def coalesced(self) -> IndexSet:
        """The same set of fewer pieces."""
        if isinstance(self.isl, bool):
            return self
        made = self._space.coalesced
        if self not in made:
            with self.asking:
                made[self] = self.of(self.isl.coalesce())
        return made[self]

    def piece(self) -> IndexSet:
        """One of its alternatives, where it has several; else itself."""
        if isinstance(self.isl, bool) or self.conjunction() is not None:
            return self
        with self.asking:
            return self.of(isl.Set.from_basic_set(plain(self).get_basic_sets()[0]))

    def hull(self) -> IndexSet:
        """A set of one piece around it: all conditions of pieces that hold in all."""
        if isinstance(self.isl, bool) or self.conjunction() is not None:
            return self
        with self.asking:
            return self.of(hull(plain(self)))

    def without_divisions(self) -> IndexSet:
        """A set around it: what its conditions say without quotients by numbers."""
        if isinstance(self.isl, bool):
            return self
        with self.asking:
            return self.of(plain(self).remove_divs())

    def same(self, other: IndexSet) -> bool:
        """Whether both have the same points, whatever opaque monomials are."""
        if self is other:
            return True
        if isinstance(self.isl, bool) or isinstance(other.isl, bool):
            return (self - other).is_nothing and (other - self).is_nothing
        with self.asking:
            return plain(self).is_equal(plain(other))

    def within(self, other: IndexSet) -> bool:
        """Whether it is a subset, whatever opaque monomials are."""
        if self is other or self.isl is False or other.isl is True:
            return True
        if isinstance(self.isl, bool) or isinstance(other.isl, bool):
            return (self - other).is_nothing
        with self.asking:
            return plain(self).is_subset(plain(other))

    def gist(self, context: IndexSet) -> IndexSet:
        """What has to be said where the context is known to hold."""
        if isinstance(self.isl, bool) or isinstance(context.isl, bool):
            return self
        return self._with(context, isl.Set.gist).coalesced()

    def without(self, names: Sequence[str]) -> IndexSet:
        """Whether there are values of these parameters for which it holds."""
        if isinstance(self.isl, bool):
            return self
        with self.asking:
            found = self.isl
            for name in names:
                at = found.find_dim_by_name(PARAMETER, name)
                if at >= 0:
                    found = found.project_out(PARAMETER, at, 1)
            return self.of(found)

    @property
    def pieces(self) -> int:
        """How many alternatives its conditions have."""
        if isinstance(self.isl, bool) or self.conjunction() is not None:
            return 0 if self.isl is False else 1
        with self.asking:
            return plain(self).n_basic_set()

    @property
    def monomials(self) -> tuple[Monomial, ...]:
        """Monomials that it depends on."""
        if self._monomials is None:
            found: tuple[Monomial, ...] = ()
            if not isinstance(self.isl, bool) and self.space is not None:
                with self.asking:
                    names = parameters(self.isl)
                found = tuple(self.space.monomial(name) for name in names)
            self._monomials = found
        return self._monomials

    def all_atoms(self) -> Iterator[Atom]:
        """Atoms of its monomials, each followed by those in its definition."""
        for monomial in self.monomials:
            for atom in monomial:
                yield from Integer.atom(atom).all_atoms()

    @property
    def height(self) -> int:
        """How deep sums and maxima stand in the data that it compares."""
        return max((a.height for m in self.monomials for a in m), default=0)

    def variables(self) -> frozenset[Variable]:
        """Variables that it depends on, also through opaque atoms."""
        found: set[Variable] = set()
        for monomial in self.monomials:
            for atom in monomial:
                found |= atom.variables
        return frozenset(found)

    def of(self, value: isl.Set) -> IndexSet:
        """Another set of the same world, without parameters that do not matter."""
        with self.asking:
            found = simplest(value)
            if isinstance(found, bool):
                return IndexSet.universe if found else IndexSet.nothing
            return self._space.one(found)

    def _is(self, answer: bool) -> bool:
        """Whether it is known to be everything, or nothing."""
        return self._both is None and self._isl is answer

    def conjunction(self) -> isl.BasicSet | None:
        """Its conditions, where it has no alternatives."""
        if self._both is not None:
            return self._both
        if isinstance(self._isl, bool):
            return None
        if self._single is None:
            with self.asking:
                pieces = plain(self).get_basic_sets()
            self._single = pieces[0] if len(pieces) == 1 else False
        return None if isinstance(self._single, bool) else self._single

    def _with(
        self,
        other: IndexSet,
        combine: Callable[[isl.Set, isl.Set], isl.Set],
        asking: Asking | None = None,
    ) -> IndexSet:
        if self.space is not other.space:
            raise ValueError("sets of two worlds")
        key = (combine.__name__, self, other)
        found = self._space.combined.get(key)
        if found is None:
            with asking or self.asking:
                found = self.of(combine(plain(self), plain(other)))
            self._space.combined[key] = found
        return found

    def __str__(self) -> str:
        if isinstance(self.isl, bool) or self.space is None:
            return "{ : }" if self.isl is True else "{ : false }"
        with self.asking:
            space, text = self.space, str(self.isl)
        text = text.split("->", 1)[1] if text.startswith("[") else text
        text = re.sub(r"(\d)(p\d+)", r"\1*\2", " ".join(text.split()))
        return re.sub(
            r"\bp\d+\b", lambda m: "*".join(map(str, space.monomial(m[0]))), text
        )

    __repr__ = __str__


IndexSet.universe = IndexSet(True)
IndexSet.nothing = IndexSet(False)
IndexSet.universe.number = 0
IndexSet.nothing.number = 1


def plain(value: IndexSet) -> isl.Set:
    """The isl set of a set that is neither plainly everything nor nothing."""
    assert not isinstance(value.isl, bool)
    return value.isl


def is_native(monomial: Monomial) -> bool:
    """Whether isl has a form for a monomial: a quotient, a remainder by a number."""
    if len(monomial) != 1 or not isinstance(monomial[0], Opaque):
        return False
    atom = monomial[0]
    divisor = atom.args[1].constant
    return atom.op in ("div", "mod") and divisor is not None and divisor > 0


def holds(left: int, op: Comparison, right: int) -> bool:
    """A comparison of numbers."""
    return {
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


def union(sets: Iterable[IndexSet]) -> IndexSet:
    """All points of several sets."""
    found = IndexSet.nothing
    for one in sets:
        found = found | one
    return found


def intersection(sets: Iterable[IndexSet]) -> IndexSet:
    """The points that are in all of several sets.

    Conditions one after another are written into one set at once.
    """
    found = IndexSet.universe
    for single, group in groupby(dict.fromkeys(sets), _is_conjunction):
        for one in [_conjunction_of(list(group))] if single else group:
            found = found & one
    return found


def _is_conjunction(one: IndexSet) -> bool:
    return one.conjunction() is not None


def _conjunction_of(several: Sequence[IndexSet]) -> IndexSet:
    """The conditions of several sets that have no alternatives."""
    first = several[0]
    space = first.space
    if len(several) < 2 or space is None:
        return first
    if any(one.space is not space for one in several):
        raise ValueError("sets of two worlds")
    with space.asking:
        conditions = [one.conjunction() for one in several]
        return space.one(reduce(conjoined, [c for c in conditions if c is not None]))
