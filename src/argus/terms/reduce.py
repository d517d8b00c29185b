"""Reductions of values: sums, products, extremes, and where extremes are."""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms.cast import to_real, to_truth, truncated
from argus.terms.folds import fold
from argus.terms.integers import Integer, Variable
from argus.terms.maxima import Source, maximum_over
from argus.terms.sets import IndexSet, intersection
from argus.terms.sums import sum_over, tidy
from argus.terms.term import ZERO, Term, undefined
from argus.terms.unknown import Unknown
from argus.terms.value import Value, merged
from argus.terms.world import World


def reduce(
    world: World,
    function: str,
    variables: Sequence[Variable | Integer],
    value: Value,
    domain: IndexSet = IndexSet.universe,
) -> Value:
    """A value reduced over variables, within their bounds and a set.

    ``function`` is sum, prod, max, min, argmax, argmin, any or all. The place of an
    extreme is the value of the one variable, the first where there are several.
    Raises Unknown for another function.
    """
    names = [_variable(v) for v in variables]
    atoms = [world.facts([(v,)]) for v in names]
    inside = domain & intersection(atoms)
    if function in ("any", "all"):
        return _quantified(world, function, names, value, inside)
    real = to_real(world, value)
    cases = [(s & inside, x) for s, x in real.terms]
    numbers = [case for case in cases if not _is_no_number(function, case[1])]
    if len(numbers) < len(cases):
        lost = [case for case in cases if _is_no_number(function, case[1])]
        return _but_for(world, function, names, lost, numbers)
    if function == "sum":
        total = ZERO
        for where, term in cases:
            total = total + sum_over(world, names, world.close(where), term)
        return Value.real(tidy(world, total))
    if function in ("max", "min"):
        largest = function == "max"
        sources: list[Source] = [
            (names, world.close(s), x if largest else -x) for s, x in cases
        ]
        found = maximum_over(world, sources)
        return Value.real(found if largest else -found)
    if function == "prod":
        return Value.real(fold(world, "prod", [(names, s, x) for s, x in cases]))
    if function in ("argmax", "argmin") and len(names) == 1:
        sign = 1 if function == "argmax" else -1
        place = fold(world, "argmax", [(names, s, x.scaled(sign)) for s, x in cases])
        return Value.whole(truncated(world, place))
    raise Unknown(f"the reduction {function}")


def _is_no_number(function: str, term: Term) -> bool:
    """Whether nothing can be said of a reduction that such a term takes part in."""
    return term.undefined is not None or (function == "sum" and term.infinite != 0)


def _but_for(
    world: World,
    function: str,
    names: Sequence[Variable],
    lost: Sequence[tuple[IndexSet, Term]],
    numbers: Sequence[tuple[IndexSet, Term]],
) -> Value:
    """A reduction of numbers, but for where something takes part that is none.

    So what padded rows have is not known, and what the other rows have is.
    """
    found: list[tuple[IndexSet, Term]] = []
    known = IndexSet.universe
    for where, term in lost:
        closed = world.close(where)
        if world.is_empty(closed):
            continue
        why = undefined(term.undefined or "a sum of infinities")
        try:
            there = known & world.project(closed, names)
        except Unknown:
            there = known
        found.append((there, why))
        known = known - there
    made = Value("real", tuple(numbers))
    rest = reduce(world, function, list(names), made)
    for where, x in rest.cases:
        assert isinstance(x, Term)
        if not world.is_empty(where & known):
            found.append((where & known, x))
    return merged(world, "real", found)


def _variable(value: Variable | Integer) -> Variable:
    atom = value if isinstance(value, Variable) else value.single
    if not isinstance(atom, Variable):
        raise TypeError(f"{value} is not a variable")
    return atom


def _quantified(
    world: World,
    function: str,
    names: Sequence[Variable],
    value: Value,
    inside: IndexSet,
) -> Value:
    where = to_truth(world, value).where
    if function == "any":
        return Value.truth(world.project(inside & where, names))
    return Value.truth(~world.project(inside - where, names))
