"""Functions of terms that need a world: what is noted, merged or decided by facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor

from argus.terms.cleared import cleared
from argus.terms.ends import is_whole
from argus.terms.integers import Integer
from argus.terms.leaves import Base, Call, Max, Sum, Whole
from argus.terms.maxima import maximum_of, maximum_of_generators
from argus.terms.obligations import TermObligation
from argus.terms.parity import call
from argus.terms.powers import (
    exponential,
    is_nonnegative,
    is_positive,
    logarithm,
    raised,
)
from argus.terms.required import required_factor
from argus.terms.sets import IndexSet
from argus.terms.some_points import some_points
from argus.terms.sums import tidy
from argus.terms.term import (
    MINUS_INFINITY,
    ONE,
    ZERO,
    Product,
    Rational,
    Term,
    leaf_term,
    number,
    undefined,
    whole,
)
from argus.terms.unknown import Unknown
from argus.terms.world import World

_NOT_ZERO = "what divides is not 0, unless it is a sum over no points"
SUBTRACTED = "it is subtracted from what may be infinite, too"
"""Why a maximum has to be one of some number."""
_WRITTEN_OUT = 8
"""Factors up to which a power by a whole number is a product."""


def multiply(world: World, where: IndexSet, left: Term, right: Term) -> Term:
    """A product. A factor of infinity is taken to be positive, which is noted."""
    for infinite, factor in ((left, right), (right, left)):
        if infinite.infinite and factor.special is None and factor.constant is None:
            if not is_positive(factor):
                world.obligations.add(
                    TermObligation(
                        "positive", factor, where, None, "a factor of infinity"
                    )
                )
            return infinite
    if len(left.parts) > 1 and len(right.parts) > 1:
        # Parts of one sum become one before they are multiplied with those of another.
        left, right = tidy(world, left), tidy(world, right)
    return left * right


def add(world: World, where: IndexSet, left: Term, right: Term) -> Term:
    """A sum. What is added to infinity is taken to be finite, which is noted."""
    if left.infinite:
        note_finite(world, where, right, right.parts)
    elif right.infinite:
        note_finite(world, where, left, left.parts)
    return left + right


def exponential_of(world: World, where: IndexSet, term: Term) -> Term:
    """An exponential. A maximum that it subtracts is one of some number."""
    negative = [p for p, c in term.parts.items() if c < 0]
    note_finite(world, where, term, negative)
    return exponential(term)


def note_finite(
    world: World, where: IndexSet, term: Term, parts: Iterable[Product]
) -> None:
    """Note maxima in parts of a term that may be minus infinity.

    A finite stand-in cannot make what is not a number: it is noted only where a program
    writes infinity itself.
    """
    if not world.true_infinity or term.special is not None:
        return
    for part in parts:
        for leaf, _ in part.factors:
            if isinstance(leaf, Max):
                sources = ((g.variables, g.domain) for g in leaf.generators)
                found = TermObligation(
                    "finite",
                    leaf_term(leaf),
                    where,
                    some_points(world, sources),
                    SUBTRACTED,
                )
                world.obligations.add(found)


def zero_at(world: World, term: Term) -> IndexSet | None:
    """Where a sum of numbers that are at least 0 is 0: where sums are over no points.

    None where its numbers may be less than 0, or 0 otherwise.
    """
    zero = IndexSet.universe
    for part, coefficient in term.parts.items():
        some = IndexSet.universe
        for leaf, exponent in part.factors:
            if isinstance(leaf, Sum) and exponent > 0 and is_positive(leaf.body):
                some = some & some_points(world, [(leaf.variables, leaf.domain)])
            elif isinstance(leaf, Whole) and exponent > 0:
                count = Integer.atom(leaf.atom)
                if not world.is_empty(_there(part) & world.compare(count, "<", 0)):
                    return None
                some = some & world.compare(count, ">", 0)
            elif not is_positive(leaf_term(leaf)):
                return None
        if coefficient < 0:
            return None
        zero = zero - some
    return zero


def _there(part: Product) -> IndexSet:
    """Where a product is not 0, by its conditions."""
    found = IndexSet.universe
    for leaf, _ in part.factors:
        if isinstance(leaf, Sum) and not leaf.variables:
            found = found & leaf.domain
    return found


def infinite_at(world: World, term: Term) -> tuple[int, IndexSet]:
    """The sign with which a term is infinite, and where: a maximum of nothing is.

    Raises Unknown where a term has other parts with a maximum that may be one.
    """
    if term.infinite:
        return term.infinite, IndexSet.universe
    factors = [
        (part, leaf)
        for part in term.parts
        for leaf, _ in part.factors
        if isinstance(leaf, Max)
    ]
    nowhere = -1, IndexSet.nothing
    for part, leaf in factors:
        some = some_points(world, ((g.variables, g.domain) for g in leaf.generators))
        if world.is_empty(~some):
            continue
        coefficient = term.parts[part]
        if term.scaled(1 / Fraction(coefficient)).single != leaf:
            raise Unknown("whether a maximum of nothing is compared with infinity")
        return (-1 if coefficient > 0 else 1), ~some
    return nowhere


def power(world: World, where: IndexSet, term: Term, exponent: Rational) -> Term:
    """A power; what may be 0 below a fraction line, or negative below a root, is noted.

    A sum of positive numbers is 0 where its set is empty: an obligation. That data is
    not 0 is a convention.
    """
    term = tidy(world, term)
    if exponent < 0:
        note_divisor(world, where, term)
    if (
        not isinstance(exponent, int)
        and term.constant is None
        and term.special is None
        and not is_nonnegative(term)
    ):
        world.convention("what stands below a root is not negative")
        outside = required_factor(world, term)
        if outside.factors:
            apart = Term({outside: 1})
            return raised(term * raised(apart, -1), exponent) * raised(apart, exponent)
    return raised(term, exponent)


def note_divisor(world: World, where: IndexSet, term: Term) -> None:
    """Note what has to hold for a term not to be 0."""
    if term.special is not None or term.constant is not None:
        return
    if len(term.parts) > 1:
        _note_positive(world, where, term)
        return
    for part in term.parts:
        for leaf, y in part.factors:
            if isinstance(leaf, Sum) and y > 0 and is_positive(leaf.body):
                _note_not_empty(world, where, leaf_term(leaf))
            elif isinstance(leaf, Base) and y > 0:
                note_divisor(world, where, leaf.term)
            elif not is_positive(leaf_term(leaf)):
                world.convention(_NOT_ZERO)


def _note_positive(world: World, where: IndexSet, term: Term) -> None:
    """Note what makes a sum of several terms greater than 0: one of them is."""
    if not is_positive(term):
        world.convention(_NOT_ZERO)
        return
    for part in term.parts:
        sums = any(isinstance(leaf, Sum | Base) for leaf, _ in part.factors)
        if not sums and is_positive(Term({part: 1})):
            return
    _note_not_empty(world, where, term)


def _note_not_empty(world: World, where: IndexSet, term: Term) -> None:
    world.obligations.add(TermObligation("not empty", term, where, None, "a divisor"))


def logarithm_of(world: World, where: IndexSet, term: Term) -> Term:
    """The logarithm of what is taken to be positive."""
    term = tidy(world, term)
    note_divisor(world, where, term)
    if term.constant is None and not is_nonnegative(term):
        world.convention("what stands in a logarithm is positive")
    return logarithm(term)


def absolute(world: World, term: Term) -> Term:
    """The absolute value; of a product that of each of its factors."""
    if term.infinite:
        return -MINUS_INFINITY
    if term.special is not None or is_nonnegative(term):
        return term
    if is_nonnegative(-term):
        return -term
    integer = term.integer
    if integer is not None and world.is_empty(world.compare(integer, "<", 0)):
        return term
    term = tidy(world, term)
    if len(term.parts) == 1:
        ((part, coefficient),) = term.parts.items()
        alone = len(part.factors) == 1 and part.factors[0][1] == 1
        if not alone or part.exponent is not None or abs(coefficient) != 1:
            made = number(abs(coefficient)) * exponential(part.exponent or ZERO)
            for leaf, power in part.factors:
                one = leaf_term(leaf, power)
                if isinstance(power, int) and power % 2:
                    inner = leaf.term if isinstance(leaf, Base) else leaf_term(leaf)
                    one = raised(absolute(world, inner), power)
                made = made * one
            return made
    if next(iter(term.parts.values())) < 0:
        term = -term
    return leaf_term(Call("abs", (term,)))


def larger(world: World, left: Term, right: Term) -> Term:
    """The larger of two numbers.

    Of numbers between two ends the larger is taken first: ``max(min(x, h), c)`` is
    ``min(max(x, c), h)`` where c <= h.
    """
    for term, other in ((left, right), (right, left)):
        least = other.constant
        cut = None if least is None else _cut_above(world, term)
        if least is not None and cut is not None:
            most, inner = cut
            if most <= least:
                return other
            return smaller(world, larger(world, inner, other), number(most))
    return maximum_of(world, [left, right])


def _cut_above(world: World, term: Term) -> tuple[Rational, Term] | None:
    """(h, x) of ``min(x, h)`` with a number h; None for other terms."""
    leaf = (-term).single
    if not isinstance(leaf, Max):
        return None
    for one in leaf.generators:
        least = one.body.constant
        if least is not None and not one.variables and one.domain.is_universe:
            rest = [g for g in leaf.generators if g is not one]
            return -least, -maximum_of_generators(world, rest)
    return None


def smaller(world: World, left: Term, right: Term) -> Term:
    """The smaller of two numbers."""
    return -maximum_of(world, [-left, -right])


def rounded(world: World, name: str, term: Term) -> Term:
    """floor, ceil, or round to even, of numbers; else a call.

    What is rounded up is rounded down with the other sign.
    """
    if term.special is not None or is_whole(term):
        return term
    value = term.constant
    if value is not None:
        return number({"floor": floor, "ceil": ceil, "round": round}[name](value))
    if name == "ceil":
        return -rounded(world, "floor", -term)
    above, below = cleared(term)
    if above is None and is_whole(term.scaled(below)):
        above = whole_number(world, term.scaled(below))
    if above is None or name == "round":
        return tidied_call(world, name, [term])
    return whole(world.quotient(above, below))


def whole_number(world: World, term: Term) -> Integer:
    """A term that is whole by its form; what is no polynomial in it is one atom."""
    total, left = Integer.of(0), ZERO
    for part, coefficient in term.parts.items():
        one = Term({part: coefficient})
        integer = one.integer
        if integer is None:
            left = left + one
        else:
            total = total + integer
    return total + world.truncation_of(left) if left.parts else total


def natural_power(world: World, base: Term, exponent: Term) -> Term:
    """The product of as many factors as a whole number that is at least 0 says.

    Of ``a * exp(e)`` it is that of a, times ``exp(n * e)``.
    """
    count = exponent.constant
    if isinstance(count, int) and 0 <= count <= _WRITTEN_OUT:
        return raised(tidy(world, base), count)
    if base.special is None and len(base.parts) == 1:
        ((part, coefficient),) = base.parts.items()
        if part.exponent is not None:
            plain = Term({Product(dict(part.factors)): coefficient})
            grown = exponential(part.exponent * exponent)
            return natural_power(world, plain, exponent) * grown
    return base if base == ONE else tidied_call(world, "pow", [base, exponent])


def called(world: World, name: str, args: Sequence[Term]) -> Term:
    """A call whose arguments have changed; nothing is noted that was not before."""
    if name == "log":
        return logarithm(tidy(world, args[0]))
    if name == "abs":
        return absolute(world, args[0])
    if name in ("floor", "ceil", "round"):
        return rounded(world, name, args[0])
    if name == "pow":
        return natural_power(world, args[0], args[1])
    return tidied_call(world, name, args)


def tidied_call(world: World, name: str, args: Sequence[Term]) -> Term:
    """A call of a function of which nothing is known but what `parity` says."""
    for arg in args:
        if arg.undefined is not None:
            return arg
        if arg.infinite:
            return undefined(f"{name} of infinity")
    return call(name, *(tidy(world, a) for a in args))


def mentions(term: Term, kinds: tuple[type, ...]) -> bool:
    """Whether a leaf of some kinds stands anywhere in a term."""
    for part in term.parts:
        if part.exponent is not None and mentions(part.exponent, kinds):
            return True
        for leaf, _ in part.factors:
            if isinstance(leaf, kinds) or any(mentions(t, kinds) for t in leaf.terms):
                return True
    return False
