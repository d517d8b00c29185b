"""Terms where a difference of data is 0: one number stands for the other.

Pieces of a function that meet at a point are the same there: of `d*d/2` for d < c and
`c*(d - c/2)` else it does not matter which one has d = c. What is left of two such
functions is a sum over the points at which d - c is neither above nor below 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from argus.terms import (
    ZERO,
    Base,
    Call,
    IndexSet,
    Integer,
    Leaf,
    Sum,
    Term,
    Truth,
    World,
    leaf_term,
    number,
)
from argus.terms.arithmetic import called
from argus.terms.comparisons import asked, sides
from argus.terms.powers import exponential, raised
from argus.terms.sums import rebound, tidy
from argus.terms.term import Rational

__all__ = ["vanishes_where_zero"]

_SPLITS = 2
"""How often a set is split by the sign of a number."""


def vanishes_where_zero(
    world: World, here: IndexSet, term: Term, splits: int = _SPLITS
) -> bool:
    """Whether a term is 0 wherever a set holds, by numbers that are equal there.

    False: not shown.
    """
    if term.special is not None:
        return False
    sign = _sign(world, here)
    if sign is not None and splits:
        return all(
            world.is_empty(here & side)
            or vanishes_where_zero(world, here & side, term, splits - 1)
            for side in (sign, ~sign)
        )
    total = ZERO
    for part, coefficient in _solved(world, here, term).parts.items():
        made = number(coefficient)
        for leaf, power in part.factors:
            made = made * raised(_in_leaf(world, here, leaf, _SPLITS), power)
        if part.exponent is not None:
            made = made * exponential(part.exponent)
        total = total + made
    return not tidy(world, total).parts


def _in_leaf(world: World, here: IndexSet, leaf: Leaf, splits: int) -> Term:
    if not isinstance(leaf, Sum):
        return leaf_term(leaf)
    where = world.close(here & leaf.domain)
    sign = _sign(world, where) if splits else None
    if sign is None:
        body = _solved(world, where, leaf.body)
        same = body == leaf.body
        return leaf_term(leaf) if same else rebound(world, leaf, leaf.domain, body)
    total = ZERO
    for side in (sign, ~sign):
        half = rebound(world, leaf, leaf.domain & side, leaf.body)
        for part, coefficient in half.parts.items():
            made = number(coefficient)
            for inner, power in part.factors:
                solved = _in_leaf(world, here, inner, splits - 1)
                made = made * raised(solved, power)
            total = total + made * exponential(part.exponent or ZERO)
    return total


def _sign(world: World, where: IndexSet) -> IndexSet | None:
    """Where a number is above 0 of whose size a set says what it is, not the sign."""
    for zero in _zeros(world, where):
        for size in _sizes(zero):
            form = asked(size.args[0], signed=True)
            above = world.compare(world.truth_of("gt", form), "==", 1)
            if not world.is_subset(where, above) and not world.is_empty(where & above):
                return above
    return None


def _sizes(term: Term) -> list[Call]:
    """Absolute values that are parts of a term."""
    found = [leaf for part in term.parts for leaf, _ in part.factors]
    return [x for x in found if isinstance(x, Call) and x.function == "abs"]


def _solved(world: World, where: IndexSet, term: Term) -> Term:
    """A term with one leaf of each difference that is 0 as the others make it."""
    for zero in _zeros(world, where):
        both = [zero]
        for size in _sizes(zero):
            inner = size.args[0]
            form = asked(inner, signed=True)
            above = world.compare(world.truth_of("gt", form), "==", 1)
            for side, number_ in ((above, inner), (~above, -inner)):
                if world.is_subset(where, side):
                    both.append(_with(world, zero, size, number_))
        for one in both:
            found = _linear(one)
            if found is not None:
                leaf, coefficient = found
                by = leaf_term(leaf) - one.scaled(1 / Fraction(coefficient))
                term = _with(world, term, leaf, by)
    return term


def _zeros(world: World, where: IndexSet) -> Iterator[Term]:
    """Differences of data that a set says are 0."""
    truths = dict.fromkeys(
        atom
        for monomial in where.monomials
        for atom in monomial
        if isinstance(atom, Truth) and isinstance(atom.term, Term)
    )
    asked_for = {*truths, *(side for truth in truths for side in sides(truth))}
    for truth in truths:
        assert isinstance(truth.term, Term)
        if truth.op == "eq":
            holds = world.compare(Integer.atom(truth), "==", 1)
        elif Truth("gt", -truth.term) in asked_for:
            below = Integer.atom(Truth("gt", -truth.term))
            holds = world.compare(Integer.atom(truth) + below, "==", 0)
        else:
            continue
        if world.is_subset(where, holds):
            yield truth.term


def _linear(term: Term) -> tuple[Leaf, Rational] | None:
    """A leaf that is a part of a term by itself, and nowhere else in it; how often.

    Of several the one of most: numbers of data, before those of sizes and scalars.
    """
    found: list[tuple[int, str, Leaf, Rational]] = []
    for part, coefficient in term.parts.items():
        if part.exponent is not None or len(part.factors) != 1:
            continue
        ((leaf, power),) = part.factors
        rest = term - Term({part: coefficient})
        if power == 1 and not _mentions(rest, leaf):
            found.append((len(leaf.free), leaf.key, leaf, coefficient))
    if not found:
        return None
    *_, leaf, coefficient = max(found, key=lambda x: x[:2])
    return leaf, coefficient


def _mentions(term: Term, leaf: Leaf) -> bool:
    for part in term.parts:
        for factor, _ in part.factors:
            if factor == leaf or any(_mentions(x, leaf) for x in factor.terms):
                return True
        if part.exponent is not None and _mentions(part.exponent, leaf):
            return True
    return False


def _with(world: World, term: Term, old: Leaf, by: Term) -> Term:
    """A term with a leaf replaced, but for what stands in sums."""
    total = ZERO
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        for leaf, power in part.factors:
            made = made * raised(_leaf_with(world, leaf, old, by), power)
        if part.exponent is not None:
            made = made * exponential(_with(world, part.exponent, old, by))
        total = total + made
    return total


def _leaf_with(world: World, leaf: Leaf, old: Leaf, by: Term) -> Term:
    if leaf == old:
        return by
    if isinstance(leaf, Base):
        return _with(world, leaf.term, old, by)
    if isinstance(leaf, Call):
        args = [_with(world, a, old, by) for a in leaf.args]
        return called(world, leaf.function, args)
    return leaf_term(leaf)  # the same number, whatever is in it
