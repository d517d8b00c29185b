"""What is linear in a leaf, and the recurrence ``c' = a*c + g``.

    c(J) = a^J c(0) + Σ a^(J-1-i) g(i) over 0 <= i < J

for a constant a, by induction over J, for every number a: the powers are products of so
many factors, and 1 of none. Where a differs between iterations,

    c(J) = Π a(k) over k < J * c(0) + Σ g(i) Π a(k) over i < k < J, over 0 <= i < J
"""

from __future__ import annotations

from argus.terms.apply import apply, lifted
from argus.terms.arithmetic import natural_power
from argus.terms.cast import to_real
from argus.terms.integers import Integer, Variable
from argus.terms.leaves import Leaf
from argus.terms.reduce import reduce
from argus.terms.sets import IndexSet, union
from argus.terms.term import ONE, ZERO, Product, Term, whole
from argus.terms.unknown import Unknown
from argus.terms.value import Value, merged
from argus.terms.world import World

__all__ = ["coefficients", "geometric", "parted", "weighted", "without"]


def parted(term: Term, me: Leaf) -> tuple[Term, Term] | None:
    """(a, g) with ``term = a*me + g``; None where it is not linear.

    Other functions of the leaf stay in them.
    """
    found = coefficients(term, me)
    if found is None or not found.keys() <= {0, 1}:
        return None
    return found.get(1, ZERO), found.get(0, ZERO)


def coefficients(term: Term, me: Leaf) -> dict[int, Term] | None:
    """What a term has beside each power of a leaf; None for other powers.

    Other functions of the leaf stay in them.
    """
    found: dict[int, Term] = {}
    for part, coefficient in term.parts.items():
        power = dict(part.factors).get(me, 0)
        if not isinstance(power, int) or power < 0:
            return None
        beside = without(part, me).scaled(coefficient)
        found[power] = found.get(power, ZERO) + beside
    return found


def without(part: Product, leaf: Leaf) -> Term:
    """A product without one of its factors."""
    factors = {f: power for f, power in part.factors if f != leaf}
    return Term({Product(factors, part.exponent): 1})


def geometric(
    world: World,
    first: Value,
    factor: Term,
    gained: Value,
    counter: Variable,
    rounds: Integer,
) -> Value:
    """``c(rounds)`` of ``c' = factor*c + gained``, ``gained`` in terms of a counter.

    ``factor`` does not depend on the counter.
    """
    i = world.fresh("i", 0, rounds)
    each = world.substitute(gained, {counter: i})
    same = Value.real(factor)
    left = _power(world, same, rounds - 1 - i)
    variable = i.single
    assert isinstance(variable, Variable)
    total = reduce(world, "sum", (variable,), apply(world, "mul", each, left))
    first = to_real(world, first)
    if all(x == ZERO for _, x in first.terms):
        return total
    begun = apply(world, "mul", first, _power(world, same, rounds))
    return apply(world, "add", begun, total)


def weighted(
    world: World,
    first: Value,
    factor: Value,
    gained: Value,
    counter: Variable,
    rounds: Integer,
) -> Value:
    """``c(rounds)`` of ``c' = factor*c + gained``, both in terms of a counter."""
    same = _same_in_all(world, factor, counter, rounds)

    def multiplied(after: Integer | None) -> Value:
        if same is not None:
            count = rounds if after is None else rounds - 1 - after
            return _power(world, same, count)
        k = world.fresh("k", 0, rounds)
        variable = k.single
        assert isinstance(variable, Variable)
        each = world.substitute(factor, {counter: k})
        inside = IndexSet.universe
        if after is not None:
            inside = world.compare(k, ">", after)
        return reduce(world, "prod", (variable,), each, inside)

    total = Value.real(ZERO)
    if any(x != ZERO for _, x in gained.terms):
        i = world.fresh("i", 0, rounds)
        variable = i.single
        assert isinstance(variable, Variable)
        each = world.substitute(gained, {counter: i})
        product = apply(world, "mul", each, multiplied(i))
        total = reduce(world, "sum", (variable,), product)
    first = to_real(world, first)
    if all(x == ZERO for _, x in first.terms):
        return total
    return apply(world, "add", apply(world, "mul", first, multiplied(None)), total)


def _same_in_all(
    world: World, factor: Value, counter: Variable, rounds: Integer
) -> Value | None:
    """A factor of which each case holds in all rounds or in none, without the counter.

    It is 1 where no round has one. None where it is not shown to be so.
    """
    if any(counter in term.free_variables() for _, term in factor.terms):
        return None
    # `rounds` may be the counter itself: what is carried when a round begins.
    k = world.fresh("k", 0, rounds)
    variable = k.single
    assert isinstance(variable, Variable)
    inside = world.compare(k, ">=", 0) & world.compare(k, "<", rounds)
    by_term: dict[Term, IndexSet] = {}
    for where, term in world.substitute(factor, {counter: k}).terms:
        by_term[term] = by_term.get(term, IndexSet.nothing) | where
    cases: list[tuple[IndexSet, Term]] = []
    for term, where in by_term.items():
        try:
            some = world.project(where & inside, [variable])
        except Unknown:
            return None
        if not world.is_subset(some & inside, where):
            return None
        cases.append((some, term))
    never = ~union(where for where, _ in cases)
    return merged(world, "real", [*cases, (never, ONE)])


def _power(world: World, factor: Value, exponent: Integer) -> Value:
    return lifted(
        world,
        lambda world, where, a: natural_power(world, a[0], a[1]),
        [factor, Value.real(whole(exponent))],
    )
