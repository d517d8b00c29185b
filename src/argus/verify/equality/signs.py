"""Absolute values and extremes of data, by which number is the larger one.

``max(x, 0) + log(1 + exp(-abs(x)))`` is ``log(1 + exp(x))`` for x > 0, and else. So a
product with such a leaf is one where the larger number is it, and another one where it
is not: sums over disjoint sets, of which those of one body become one. A hyperbolic
tangent is its quotient of exponentials.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import (
    ONE,
    ZERO,
    Base,
    Call,
    Element,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Product,
    Sum,
    Term,
    Truth,
    World,
    leaf_term,
    number,
)
from argus.terms.arithmetic import called
from argus.terms.comparisons import asked, sides
from argus.terms.counted import counted_at
from argus.terms.maxima import maximum_of
from argus.terms.powers import exponential, raised
from argus.terms.sums import indicator, rebound, tidy
from argus.verify.equality.mentioned import leaves

__all__ = ["by_signs", "has_signs"]

_STEPS = 64
"""Products that a term is written out into, at most; of more it stays as it is."""


def has_signs(term: Term) -> bool:
    """Whether something in a term is written out here."""
    return any(_sides(leaf) is not None or _is_tanh(leaf) for leaf in leaves(term))


def by_signs(world: World, here: IndexSet, *terms: Term) -> list[Term]:
    """The same terms wherever a set holds, each with its products by signs."""
    known = [over.domain for t in terms for x in leaves(t) for over in x.overs]
    known += [requirement.where for requirement in world.requirements]
    truths = {
        atom
        for where in (here, *known)
        for monomial in where.monomials
        for atom in monomial
        if isinstance(atom, Truth)
    }
    elements = [x for t in terms for x in leaves(t) if isinstance(x, Element)]
    truths.update(counted_at(world, here, elements))
    truths.update([side for t in truths for side in sides(t)])
    writing = _Writing(world, truths)
    try:
        return [writing.term(t, here) for t in terms]
    except _TooManyError:
        return list(terms)


class _TooManyError(Exception):
    """A term would become more products than are looked at."""


class _Writing:
    def __init__(self, world: World, truths: set[Truth]) -> None:
        self.world, self.truths = world, truths
        self.left = _STEPS

    def term(self, term: Term, where: IndexSet) -> Term:
        """A term, wherever a set holds, as products each of which has its own set."""
        if term.special is not None or not has_signs(term):
            return term
        total = ZERO
        for part, coefficient in term.parts.items():
            held, rest = self._held(part)
            for inside, made in self._cases(rest, where & held):
                self.left -= 1
                if self.left < 0:
                    raise _TooManyError
                total = total + self._within(made, inside, where).scaled(coefficient)
        return tidy(self.world, total)

    def _within(self, term: Term, inside: IndexSet, where: IndexSet) -> Term:
        """A term where a set holds, and 0 elsewhere in a larger one."""
        if self.world.is_subset(where, inside):
            return term
        return indicator(self.world, inside) * term

    def _held(self, part: Product) -> tuple[IndexSet, Term]:
        """Where a product is not 0 by conditions among its factors, and the others."""
        held = IndexSet.universe
        factors = dict(part.factors)
        for leaf, power in part.factors:
            if _is_condition(leaf) and power > 0:
                held = held & leaf.overs[0].domain
                del factors[leaf]
        return held, Term({Product(factors, part.exponent): 1})

    def _cases(self, term: Term, where: IndexSet) -> Iterator[tuple[IndexSet, Term]]:
        """Sets, and what a term is in each."""
        world = self.world
        if world.is_empty(where):
            return
        leaf = min(_outside(term), key=lambda x: x.height, default=None)
        if leaf is None:
            yield where, self._rebuilt(term, None, ZERO, where)
            return
        sides = _sides(leaf)
        assert sides is not None
        first, other = sides
        larger = self._larger(first - other)
        for one, two in ((first, other), (other, first)):
            if world.is_empty(where & self._above(two - one)):
                first, other, larger = one, two, IndexSet.universe
                break
        for inside, side in ((larger, first), (~larger, other)):
            at = where & inside
            if not world.is_empty(at):
                made = self._rebuilt(term, leaf, _chosen(world, leaf, side), at)
                for part, coefficient in made.parts.items():
                    for held, x in self._cases(Term({part: 1}), at):
                        yield held, x.scaled(coefficient)

    def _above(self, difference: Term) -> IndexSet:
        """Where a difference is above 0."""
        if difference.integer is not None:
            return self.world.compare(difference.integer, ">", 0)
        truth = self.world.truth_of("gt", asked(difference, signed=True))
        return self.world.told(truth, True)

    def _larger(self, difference: Term) -> IndexSet:
        """Where a difference is above 0, or not below: as it is asked elsewhere."""
        world = self.world
        if difference.integer is not None:
            return world.compare(difference.integer, ">", 0)
        form, usual = (asked(difference, signed=x) for x in (True, False))
        truths = [Truth("gt", x) for x in (usual, -usual)]
        truth = next((t for t in truths if t in self.truths), truths[0])
        self.truths.add(truth)
        above = truth.term == form
        return world.compare(Integer.atom(truth), "==", int(above))

    def _rebuilt(
        self, term: Term, leaf: Leaf | None, by: Term, where: IndexSet
    ) -> Term:
        """A term with a leaf replaced; without one, with its sums written out."""
        total = ZERO
        for part, coefficient in term.parts.items():
            made = number(coefficient)
            for factor, power in part.factors:
                if factor == leaf:
                    made = made * raised(by, power)
                else:
                    inner = self._inside(factor, leaf, by, where)
                    made = made * raised(inner, power)
            if part.exponent is not None:
                exponent = self._rebuilt(part.exponent, leaf, by, where)
                made = made * exponential(exponent)
            total = total + made
        return total

    def _inside(self, leaf: Leaf, old: Leaf | None, by: Term, where: IndexSet) -> Term:
        world = self.world
        if isinstance(leaf, Base):
            return self._rebuilt(leaf.term, old, by, where)
        if isinstance(leaf, Call) and _is_tanh(leaf) and old is None:
            double = self._rebuilt(leaf.args[0], old, by, where).scaled(2)
            return ONE - number(2) * raised(ONE + exponential(double), -1)
        if isinstance(leaf, Call):
            args = [self._rebuilt(a, old, by, where) for a in leaf.args]
            return called(world, leaf.function, args)
        if isinstance(leaf, Max) and _sides(leaf) is not None:
            bodies = [g.body for g in leaf.generators]
            found = [self._rebuilt(x, old, by, where) for x in bodies]
            return maximum_of(world, found)
        if isinstance(leaf, Sum) and old is None and has_signs(leaf.body):
            both = world.close(where & leaf.domain)
            return rebound(world, leaf, leaf.domain, self.term(leaf.body, both))
        return leaf_term(leaf)  # the same number, whatever is in it


def _is_condition(leaf: Leaf) -> bool:
    return isinstance(leaf, Sum) and not leaf.variables and leaf.body == ONE


def _is_tanh(leaf: Leaf) -> bool:
    return isinstance(leaf, Call) and leaf.function == "tanh"


def _sides(leaf: Leaf) -> tuple[Term, Term] | None:
    """Two numbers of which a leaf is the larger one, or that it is made of."""
    if isinstance(leaf, Call) and leaf.function == "abs":
        return leaf.args[0], -leaf.args[0]
    if not isinstance(leaf, Max) or len(leaf.generators) < 2:
        return None
    if any(g.variables or not g.domain.is_universe for g in leaf.generators):
        return None
    return leaf.generators[0].body, leaf.generators[1].body


def _chosen(world: World, leaf: Leaf, side: Term) -> Term:
    """What a leaf is where one of its sides is the larger one."""
    if isinstance(leaf, Max):
        return maximum_of(world, [side, *(g.body for g in leaf.generators[2:])])
    return side


def _outside(term: Term) -> Iterator[Leaf]:
    """Leaves with sides that do not stand in sums."""
    for part in term.parts:
        for leaf, _ in part.factors:
            if _sides(leaf) is not None:
                yield leaf
            if isinstance(leaf, Base):
                yield from _outside(leaf.term)
            elif isinstance(leaf, Call) or _sides(leaf) is not None:
                for inner in leaf.terms:
                    yield from _outside(inner)
        if part.exponent is not None:
            yield from _outside(part.exponent)
