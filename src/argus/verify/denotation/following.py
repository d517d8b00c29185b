"""What is rescaled to a number that data chooses, such as a maximum that lags behind.

    m' = top if (top - m) * u > 8 else m
    c' = c * exp(u*m - u*m') + exp(-u*m') * h

The carried m has no closed form, and needs none: whatever it is, q(j) = exp(u*m(j)) is
not 0, and ``q(j+1)*c(j+1) = q(j)*c(j) + h(j)`` adds up,

    c(J) = exp(-u*m(J)) * (sum of h(i) over 0 <= i < J)        where c(0) = 0

In each case of m' another factor and another term stand in c', and h is what is left in
each of them. m(J) stays as a function of which nothing is known. Each m(j) has to be a
number: nothing is said of a program that writes infinity itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argus.terms import (
    ZERO,
    Atom,
    Call,
    Carried,
    IndexSet,
    Integer,
    Term,
    Truth,
    Value,
    Variable,
    World,
    leaf_term,
    replace,
    whole,
)
from argus.terms.linear import parted, without
from argus.terms.powers import exponential
from argus.verify.denotation.dependence import carried_in
from argus.verify.denotation.rescaling import Form, Recurrence
from argus.verify.denotation.state import integers

__all__ = ["Followed", "followed", "unknown_number"]


@dataclass(frozen=True)
class Followed:
    """``unit * me`` is what a value is relative to; ``gained`` is h."""

    me: Carried
    unit: Term
    gained: Term


def followed(
    world: World,
    counter: Variable,
    one: Recurrence,
    others: Mapping[str, Recurrence],
) -> Followed | None:
    """What a value is relative to, of ``others``; None where nothing is found."""
    if world.true_infinity or one.yielded.kind != "real":
        return None
    if one.init.kind != "real" or any(x != ZERO for _, x in one.init.terms):
        return None
    cases: list[tuple[IndexSet, Term, Term]] = []
    for where, term in one.yielded.terms:
        parts = parted(term, one.leaf)
        if parts is None or one.name in carried_in(parts[0]):
            return None
        cases.append((where, *parts))
    for me, unit in _units(counter, [a for _, a, _ in cases], others):
        gained = _gained(world, cases, others[me.name], me, unit)
        if gained is not None:
            return Followed(me, unit, gained)
    return None


def unknown_number(
    world: World, recurrences: Sequence[Recurrence], counter: Variable, name: str
) -> Form:
    """A carried number as a function of the iteration, of which nothing is known.

    What it is depends on all that the values of the loop depend on.
    """
    free: set[Variable] = set()
    for one in recurrences:
        for value in (one.init, one.yielded):
            free |= value.where.variables()
            for where, x in value.cases:
                free |= where.variables()
                free |= x.variables() if isinstance(x, Integer) else x.free_variables()
    (mine,) = (one for one in recurrences if one.name == name)
    bound = {counter, *(v for one in recurrences for v in one.axes)}
    around = integers(sorted(free - bound, key=lambda v: v.key))
    function = f"{world.fresh('carried')} {name}"

    def form(at: Integer) -> Value:
        places = (*integers(mine.axes), at, *around)
        return Value.real(leaf_term(Call(function, [whole(i) for i in places])))

    return form


def _units(
    counter: Variable, factors: Sequence[Term], others: Mapping[str, Recurrence]
) -> Iterator[tuple[Carried, Term]]:
    """(m, u) for which a factor is an exponential of ``u*m`` and more."""
    for factor in factors:
        for product in factor.parts:
            parts = {} if product.exponent is None else product.exponent.parts
            for part, coefficient in parts.items():
                for leaf, power in part.factors:
                    if not isinstance(leaf, Carried) or power != 1 or part.exponent:
                        continue
                    unit = without(part, leaf).scaled(coefficient)
                    fixed = counter not in unit.free_variables()
                    if leaf.name in others and fixed and not carried_in(unit):
                        yield leaf, unit


def _gained(
    world: World,
    cases: Sequence[tuple[IndexSet, Term, Term]],
    other: Recurrence,
    me: Carried,
    unit: Term,
) -> Term | None:
    """What is added to ``exp(u*m)*c`` in an iteration, if m is not in it."""
    if other.yielded.kind != "real":
        return None
    axes = dict(zip(other.axes, me.indices, strict=True))
    found: set[Term] = set()
    for held, factor, rest in cases:
        for where, after in world.substitute(other.yielded, axes).terms:
            both = held & where
            if world.is_empty(both):
                continue
            if after.special is not None:
                return None
            if factor != exponential(unit * leaf_term(me) - unit * after):
                return None
            found.add(_within(world, rest * exponential(unit * after), both))
    if len(found) != 1:
        return None
    (gained,) = found
    return None if carried_in(gained) else gained


def _within(world: World, term: Term, where: IndexSet) -> Term:
    """A term where a set holds, with the truths of data that it decides."""
    known: dict[Atom, Integer] = {}
    for monomial in where.monomials:
        if len(monomial) == 1 and isinstance(monomial[0], Truth):
            for value in (0, 1):
                is_it = world.compare(Integer.atom(monomial[0]), "==", value)
                if world.is_subset(where, is_it):
                    known[monomial[0]] = Integer.of(value)
    return replace(world, term, lambda leaf: None, atoms=known).term
