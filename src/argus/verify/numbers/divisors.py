"""Divisors that may be 0 where they are stored, and maxima that are of nothing.

Of data nothing is said: a divisor that is an element may be 0, and the author knows.
A size that a mean divides by, and a sum over a set that may be empty, are 0 at sizes
that a launch admits, or not. The same holds of a logarithm. The place of a maximum of
nothing is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import (
    Base,
    Call,
    Carried,
    Constant,
    Element,
    Fold,
    IndexSet,
    Infinity,
    Integer,
    Leaf,
    Max,
    Scalar,
    Sum,
    Term,
    Undefined,
    Unknown,
    Variable,
    Whole,
    World,
    intersection,
    leaf_term,
)
from argus.terms.integers import Truncated
from argus.terms.show import show
from argus.terms.some_points import points
from argus.verify.denotation import Denotation, Store
from argus.verify.numbers.finding import NumericalFinding

__all__ = ["empty_divisors"]

_Zero = tuple[str, Leaf, IndexSet]
"""A rule, what is divided by or largest, and where it is of nothing."""


def empty_divisors(found: Denotation) -> Iterator[NumericalFinding]:
    """Findings of every store, each divisor once (AG0331, AG0332)."""
    seen: set[tuple[str, str]] = set()
    for store in found.stores:
        for held, x in store.value.cases:
            divisors = _Divisors(found.world, store.where & held)
            made = divisors.in_term(x) if isinstance(x, Term) else divisors.places(x)
            for rule, leaf, zero in made:
                key = rule, _family(leaf)
                if key in seen:
                    continue
                made = _finding(found.world, rule, leaf, zero, store)
                if made is not None:
                    seen.add(key)
                    yield made


def _family(leaf: Leaf) -> str:
    """Divisors of one kind are told once, whatever set they are over."""
    if isinstance(leaf, Sum):
        return f"sum {leaf.body.key}"
    return leaf.key


def _finding(
    world: World, rule: str, leaf: Leaf, zero: IndexSet, store: Store
) -> NumericalFinding | None:
    try:
        if world.is_empty(zero):
            return None
    except Unknown:
        return None
    shown = show(leaf_term(leaf))
    name = store.tensor.name
    if rule == "AG0332":
        what = "the place of a maximum" if isinstance(leaf, Fold) else "a maximum"
        message = f"`{name}` may be {what} of nothing"
    else:
        message = f"what `{name}` is divided by may be 0"
    place = name if isinstance(leaf, Fold) else ""
    notes = [f"{'a maximum' if rule == 'AG0332' else 'a divisor'}: {_short(shown)}"]
    return NumericalFinding(
        rule,
        message,
        store.span,
        f"`{name}` is stored here",
        tuple(notes),
        "require that there is something, or handle the empty case with `ag.where`",
        world.sample(zero),
        place,
    )


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


class _Divisors:
    """What a stored value is divided by, each once for the sets around it.

    A term may stand in many places of a value, and is visited once. The sets of the
    sums around a divisor are put together only where there is one.
    """

    def __init__(self, world: World, where: IndexSet) -> None:
        self.world, self.where = world, where
        self.seen: set[tuple[Term, tuple[IndexSet, ...], bool]] = set()

    def in_term(
        self, term: Term, around: tuple[IndexSet, ...] = (), stored: bool = True
    ) -> Iterator[_Zero]:
        """Divisors in a term.

        ``around``: the sets of sums that it is in. ``stored``: a maximum in it is
        stored, and no exponent.
        """
        key = term, around, stored
        if key in self.seen:
            return
        self.seen.add(key)
        for part in term.parts:
            for leaf, power in part.factors:
                if power < 0:
                    yield from self.divisor(leaf, around)
                yield from self._inside(leaf, around, stored)
            if part.exponent is not None:
                yield from self.in_term(part.exponent, around, False)

    def divisor(self, leaf: Leaf, around: tuple[IndexSet, ...]) -> Iterator[_Zero]:
        """What is said of a leaf that is divided by, or whose logarithm is taken."""
        number = _integer(leaf)
        if number is not None:
            zero = self.world.compare(number, "==", 0)
            yield "AG0331", leaf, self._inside_all(around) & zero
            return
        inner = leaf.term.single if isinstance(leaf, Base) else leaf
        if isinstance(inner, Sum):
            some = _some(self.world, inner.domain, inner.variables)
            if some is not None:
                yield "AG0331", inner, self._inside_all(around) - some

    def places(self, x: Integer) -> Iterator[_Zero]:
        """Whole numbers that are the place of a maximum."""
        for atom in x.atoms():
            term = atom.term if isinstance(atom, Truncated) else None
            leaf = term.single if isinstance(term, Term) else None
            if isinstance(leaf, Fold) and leaf.function == "argmax":
                some = points(self.world, leaf)
                if some is not None:
                    yield "AG0332", leaf, self.where - some

    def _inside_all(self, around: tuple[IndexSet, ...]) -> IndexSet:
        return intersection([self.where, *around])

    def _inside(
        self, leaf: Leaf, around: tuple[IndexSet, ...], stored: bool
    ) -> Iterator[_Zero]:
        match leaf:
            case Sum():
                yield from self.in_term(leaf.body, (*around, leaf.domain), stored)
            case Max():
                some = points(self.world, leaf) if stored else None
                if some is not None:
                    yield "AG0332", leaf, self._inside_all(around) - some
                for generator in leaf.generators:
                    inner = *around, generator.domain
                    yield from self.in_term(generator.body, inner, False)
            case Call(function="log"):
                whole = leaf.args[0].single
                if whole is not None:
                    yield from self.divisor(whole, around)
                for term in leaf.terms:
                    yield from self.in_term(term, around, False)
            case Whole():
                yield from self.places(Integer.atom(leaf.atom))
                for term in leaf.terms:
                    yield from self.in_term(term, around, stored)
            case (
                Scalar() | Constant() | Infinity() | Undefined() | Call() | Base()
                | Element() | Carried() | Fold()
            ):  # fmt: skip
                for term in leaf.terms:
                    yield from self.in_term(term, around, stored)
            case _:
                raise TypeError(f"a leaf of a new kind: {leaf}")


def _some(
    world: World, domain: IndexSet, variables: tuple[Variable, ...]
) -> IndexSet | None:
    """Where a set has points; None where sets cannot say it."""
    try:
        return world.project(domain, variables)
    except Unknown:
        return None


def _integer(leaf: Leaf) -> Integer | None:
    """The whole number that a leaf is, if it is one and no entry of a table."""
    if isinstance(leaf, Whole):
        found = Integer.atom(leaf.atom)
    elif isinstance(leaf, Base):
        found = leaf.term.integer
    else:
        return None
    if found is None or not all(isinstance(a, Variable) for a in found.atoms()):
        return None
    return found
