"""Fractions of sums reduced: ``j / (1 + j)`` and ``1 - 1 / (1 + j)`` are one number.

A term does not divide sums by sums: above a divisor ``b`` its leaves stand as they are.
Here one leaf ``v`` of each divisor, which stands in it once and with a number ``c``, is
divided out, ``v = (b - r) / c``, until it stands above no power of that divisor. Each
step is an identity wherever the divisor is not 0, which a term that divides by it has
taken for granted. One divisor at a time has one form; of products of several, numbers
may remain that are equal and not of one form.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from fractions import Fraction

from argus.terms.integers import Opaque
from argus.terms.leaves import Base, Leaf, Whole
from argus.terms.powers import exponential, raised
from argus.terms.term import (
    ZERO,
    Product,
    Rational,
    Term,
    leaf_term,
    number,
    simple,
    whole,
)
from argus.terms.world import World

__all__ = ["divided", "reduced", "vanishes"]

_STEPS = 1000
"""Products that are looked at, at most; a term of more stays as it is."""


def reduced(term: Term) -> Term:
    """The same term with such leaves divided out."""
    found = ZERO
    left = list(term.parts.items())
    for _ in range(_STEPS):
        if not left:
            return found
        part, coefficient = left.pop()
        made = _step(part)
        if made is None:
            found = found + Term({part: coefficient})
        else:
            left += made.scaled(coefficient).parts.items()
    return term


def vanishes(term: Term) -> bool:
    """Whether a term is 0 wherever its divisors are not: multiplied by all of them.

    False: not shown.
    """
    most: dict[Base, int] = {}
    for part in term.parts:
        for leaf, power in part.factors:
            if isinstance(leaf, Base) and isinstance(power, int) and power < 0:
                most[leaf] = max(most.get(leaf, 0), -power)
    if not most:
        return not term.parts
    total = ZERO
    for part, coefficient in term.parts.items():
        made = Term({_without_all(part, most): coefficient})
        for leaf, times in most.items():
            power = dict(part.factors).get(leaf, 0)
            missing = times + power if _below(power) else times
            for _ in range(int(missing)):
                made = made * leaf.term
        total = total + made
        if len(total.parts) > _STEPS:
            return False
    return vanishes(total)


def divided(world: World, term: Term) -> Term:
    """The same with quotients of multiples as fractions: ``N // 128`` is ``N / 128``.

    Only what stands outside of sums: there is no fraction in an index.
    """
    if not any(_is_quotient(leaf) for leaf in _leaves(term)):
        return term
    total = ZERO
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        for leaf, power in part.factors:
            made = made * raised(_as_fraction(world, leaf), power)
        if part.exponent is not None:
            made = made * exponential(divided(world, part.exponent))
        total = total + made
    return total


def _leaves(term: Term) -> Iterator[Leaf]:
    for part in term.parts:
        for leaf, _ in part.factors:
            yield leaf
            if isinstance(leaf, Base):
                yield from _leaves(leaf.term)
        if part.exponent is not None:
            yield from _leaves(part.exponent)


def _is_quotient(leaf: Leaf) -> bool:
    if not isinstance(leaf, Whole) or not isinstance(leaf.atom, Opaque):
        return False
    return leaf.atom.op == "div" and leaf.atom.args[1].constant is not None


def _as_fraction(world: World, leaf: Leaf) -> Term:
    if isinstance(leaf, Base):
        return divided(world, leaf.term)
    if isinstance(leaf, Whole) and isinstance(leaf.atom, Opaque) and _is_quotient(leaf):
        dividend, below = leaf.atom.args
        step = below.constant
        if step is not None and world.is_multiple(dividend, step):
            return whole(dividend).scaled(Fraction(1, step))
    return leaf_term(leaf)


def _step(part: Product) -> Term | None:
    """One leaf divided out; None where no divisor has its leaf above it."""
    powers = dict(part.factors)
    for leaf, power in part.factors:
        if not isinstance(leaf, Base) or not isinstance(power, int) or power >= 0:
            continue
        chosen = _chosen(leaf.term)
        if chosen is None:
            continue
        variable, coefficient = chosen
        above = powers.get(variable, 0)
        if not isinstance(above, int) or above < 1:
            continue
        outer = _without(part, variable, above - 1)
        lower = _without(outer, leaf, power + 1)
        rest = leaf.term - Term({Product({variable: 1}): coefficient})
        made = Term({lower: 1}) - Term({outer: 1}) * rest
        return made.scaled(simple(1 / Fraction(coefficient)))
    return None


def _chosen(divisor: Term) -> tuple[Leaf, Rational] | None:
    """The leaf that is divided out, and its coefficient."""
    for part, coefficient in divisor.parts.items():
        if part.exponent is not None or len(part.factors) != 1:
            continue
        ((leaf, power),) = part.factors
        others = (p for p in divisor.parts if p is not part)
        if power == 1 and not any(_has(p, leaf) for p in others):
            return leaf, coefficient
    return None


def _has(part: Product, leaf: Leaf) -> bool:
    return any(f == leaf for f, _ in part.factors)


def _without_all(part: Product, divisors: Container[Leaf]) -> Product:
    """A product without its divisors."""
    powers = part.factors
    kept = {f: y for f, y in powers if f not in divisors or not _below(y)}
    return Product(kept, part.exponent)


def _below(power: Rational) -> bool:
    return isinstance(power, int) and power < 0


def _without(part: Product, leaf: Leaf, power: Rational) -> Product:
    """A product with another power of one of its leaves."""
    factors = {f: y for f, y in part.factors if f != leaf}
    return Product(factors | {leaf: power}, part.exponent)
