"""A choice between two values.

    selected(world, condition, x, y)

Where data decides which of two numbers is the larger, and that one is chosen, the
choice is their maximum: ``x if x > 0 else 0`` is ``max(x, 0)``, in one form with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from argus.terms.arithmetic import larger, smaller
from argus.terms.integers import Integer, Truth
from argus.terms.sets import IndexSet, union
from argus.terms.term import Rational, Term
from argus.terms.value import Case, Value, joined, merged
from argus.terms.world import World

__all__ = ["selected"]


def selected(world: World, where: IndexSet, then: Value, other: Value) -> Value:
    """One value on a set, another one elsewhere; both are of one kind."""
    cases = _extremes(world, where, then, other) if then.kind == "real" else []
    if not cases:
        return joined(world, [(where, then), (~where, other)])
    done = union(held for held, _ in cases)
    cases += [((held & where) - done, x) for held, x in then.cases]
    cases += [((held - where) - done, x) for held, x in other.cases]
    return merged(world, "real", cases)


def _extremes(world: World, where: IndexSet, then: Value, other: Value) -> list[Case]:
    """The cases in which the choice is the larger or the smaller of two terms."""
    truths = [
        m[0]
        for m in where.monomials
        if len(m) == 1 and isinstance(m[0], Truth) and m[0].op == "gt"
    ]
    found: list[Case] = []
    for held, x in then.terms if truths else ():
        for also, y in other.terms:
            both = held & also
            if x.special is None and y.special is None and not world.is_empty(both):
                made = _extreme(world, where, both, x, y, truths)
                if made is not None:
                    found.append((both, made))
    return found


def _extreme(
    world: World,
    where: IndexSet,
    both: IndexSet,
    x: Term,
    y: Term,
    truths: Sequence[Truth],
) -> Term | None:
    """max(x, y) or min(x, y), if that is what is chosen in a set."""
    for truth in truths:
        assert isinstance(truth.term, Term)
        ratio = _ratio(x - y, truth.term)
        if ratio is None:
            continue
        atom = Integer.atom(truth)
        greater = both & world.told(atom, True)
        rest = both & world.told(atom, False)
        if world.is_subset(greater, where) and world.is_empty(rest & where):
            return larger(world, x, y) if ratio > 0 else smaller(world, x, y)
        if world.is_subset(rest, where) and world.is_empty(greater & where):
            return smaller(world, x, y) if ratio > 0 else larger(world, x, y)
    return None


def _ratio(left: Term, right: Term) -> Rational | None:
    """The number by which one term is a multiple of another, or None."""
    if not left.parts or left.parts.keys() != right.parts.keys():
        return None
    part, factor = next(iter(right.parts.items()))
    ratio = left.parts[part] / Fraction(factor)
    return ratio if right.scaled(ratio) == left else None
