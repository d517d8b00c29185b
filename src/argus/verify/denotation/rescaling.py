"""Sequences by which a carried value is rescaled from one iteration to the next.

Of ``c' = a*c + g`` with ``a(j) * q(j+1) = q(j)`` the products q*c add up, see
`recurrences.py`. Here such a q is found for a factor a, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from argus.terms import (
    ONE,
    Base,
    Carried,
    IndexSet,
    Integer,
    Term,
    Value,
    Variable,
    World,
    apply,
    leaf_term,
    reduced,
    selected,
)
from argus.terms.cleared import cleared
from argus.terms.linear import without
from argus.terms.powers import exponential as exponential_of
from argus.verify.denotation.dependence import carried_in
from argus.verify.denotation.state import integers

__all__ = [
    "Form",
    "Recurrence",
    "Scale",
    "counts",
    "exponentials",
]

Form = Callable[[Integer], Value]
"""The value at the beginning of an iteration, at the axes of the tile."""


@dataclass(frozen=True)
class Recurrence:
    """What one iteration makes of a carried value: ``yielded`` at ``axes``."""

    name: str
    axes: tuple[Variable, ...]
    init: Value
    yielded: Value

    @property
    def leaf(self) -> Carried:
        """The unknown value at the beginning of the iteration."""
        return Carried(self.name, integers(self.axes))


@dataclass(frozen=True)
class Scale:
    """A sequence q: ``following`` is q(j+1), ``at`` q, ``inverse`` 1/q.

    ``during`` is q of an iteration, as one term if it can be: after the last one ``at``
    may be another number. ``positive``: no q(j) is 0, except where an exponential is
    that of minus infinity.
    """

    following: Value
    at: Form
    inverse: Form
    during: Form
    positive: bool


def exponentials(
    world: World,
    counter: Variable,
    factors: Sequence[tuple[IndexSet, Term]],
    sources: Mapping[str, tuple[Recurrence, Form]],
) -> Scale | None:
    """For ``exp(u*m - u*m')``: m a carried value, m' what the loop yields for it.

    Where m' has cases, such as rows beside a tensor, so have ``factors``: each is that
    of m' wherever both hold.
    """
    for leaf, unit in dict.fromkeys(_units(counter, factors)):
        if leaf.name in sources:
            scale = _exponential(world, factors, unit, leaf, sources[leaf.name])
            if scale is not None:
                return scale
    return None


def _units(
    counter: Variable, factors: Sequence[tuple[IndexSet, Term]]
) -> Iterator[tuple[Carried, Term]]:
    """(m, u) for which a factor is an exponential of ``u*m`` and more."""
    for _, factor in factors:
        if len(factor.parts) != 1:
            return
        ((product, coefficient),) = factor.parts.items()
        exponent = product.exponent
        if product.factors or coefficient != 1 or exponent is None:
            continue
        for part, c in exponent.parts.items():
            for leaf, power in part.factors:
                if not isinstance(leaf, Carried) or power != 1 or part.exponent:
                    continue
                unit = without(part, leaf).scaled(c)
                if not carried_in(unit) and counter not in unit.free_variables():
                    yield leaf, unit


def _exponential(
    world: World,
    factors: Sequence[tuple[IndexSet, Term]],
    unit: Term,
    leaf: Carried,
    source: tuple[Recurrence, Form],
) -> Scale | None:
    """``q(j) = exp(u*m(j))``, if that is what the factors say."""
    one, form = source
    axes = dict(zip(one.axes, leaf.indices, strict=True))
    yielded = world.substitute(one.yielded, axes).terms
    several = len(factors) > 1 or len(yielded) > 1
    after: list[tuple[IndexSet, Term]] = []
    for (held, factor), (where, m) in product(factors, yielded):
        if several and world.is_empty(held & where):
            continue
        if m.special is not None and several:
            return None
        if factor != exponential_of(unit * leaf_term(leaf) - unit * m):
            return None
        after.append((held & where, unit * m))
    if len({x for _, x in after}) == 1:
        after = [(IndexSet.universe, after[0][1])]

    def shift(at: Integer) -> Value:
        there = world.substitute(form(at), axes)
        return apply(world, "mul", Value.real(unit), there)

    def exponential(at: Integer) -> Value:
        return _exp(world, shift(at))

    def inverse(at: Integer) -> Value:
        return _exp(world, apply(world, "neg", shift(at)))

    following = _exp(world, Value("real", tuple(after)))
    return Scale(following, exponential, inverse, exponential, True)


def counts(world: World, counter: Variable, factor: Term) -> Scale | None:
    """For ``n(j)/n(j+1)``; the factor is a function of the iteration alone."""
    j = Integer.atom(counter)
    for below in _denominators(factor):
        above = reduced(factor * below)
        following = world.substitute(above, {counter: j + 1})
        if counter not in above.free_variables() or _may_vanish(world, below):
            continue
        if following != below:
            if _follows(world, counter, above, below):
                return _of_last(world, counter, above, below)
            continue

        def at(i: Integer, above: Term = above) -> Value:
            return Value.real(world.substitute(above, {counter: i}))

        def inverse(i: Integer, at: Form = at) -> Value:
            return apply(world, "rcp", at(i))

        return Scale(Value.real(below), at, inverse, at, False)
    return None


def _follows(world: World, counter: Variable, above: Term, below: Term) -> bool:
    """Whether ``above`` is what ``below`` was one iteration before, but in the first.

    Of a loop whose last tile is not full it is, and not what it would be in one more.
    """
    j = Integer.atom(counter)
    before = world.substitute(below, {counter: j - 1})
    apart, _ = cleared(above - before)
    if apart is None:
        return False
    where = world.compare(j, ">=", 1) & world.compare(apart, "!=", 0)
    return world.is_empty(where)


def _of_last(world: World, counter: Variable, above: Term, below: Term) -> Scale:
    """``q(j)``: what was divided by in the iteration before; at first what is above."""

    def during(i: Integer) -> Value:
        return Value.real(world.substitute(above, {counter: i}))

    def at(i: Integer) -> Value:
        begun = world.compare(i, ">=", 1)
        last = Value.real(world.substitute(below, {counter: i - 1}))
        if world.is_empty(~begun):
            return last
        return selected(world, begun, last, during(i))

    def inverse(i: Integer) -> Value:
        last = world.substitute(below, {counter: i - 1})
        return apply(world, "rcp", Value.real(last))

    return Scale(Value.real(below), at, inverse, during, False)


def _may_vanish(world: World, divisor: Term) -> bool:
    """Whether a divisor that is made of whole numbers may be 0 in an iteration."""
    numerator, _ = cleared(divisor)
    if numerator is None:
        return False
    return not world.is_empty(world.compare(numerator, "==", 0))


def _denominators(term: Term) -> list[Term]:
    """Terms that stand in denominators of the parts of a sum."""
    found: list[Term] = []
    for part in term.parts:
        below = ONE
        for leaf, power in part.factors:
            if isinstance(power, int) and power < 0:
                one = leaf.term if isinstance(leaf, Base) else leaf_term(leaf)
                for _ in range(-power):
                    below = below * one
        if below != ONE and below not in found:
            found.append(below)
    return found


def _exp(world: World, value: Value) -> Value:
    """An exponential of a form; the kernel's own have noted what they rest on."""
    with world.obligations.muted():
        return apply(world, "exp", value)
