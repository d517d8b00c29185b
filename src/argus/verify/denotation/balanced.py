"""Sums of squares that a loop carries, as Welford and Chan keep them.

Where g depends on the square of another carried value m, which is rescaled by a
sequence q (the sums of squares of Welford and Chan), a multiple of q*m*m is added to c
that leaves no m in what is added to both in an iteration:

    balanced    c' = c + g       c(J) + t*q(J)*m(J)^2 = c(0) + t*q(0)*m(0)^2 + sum of
                                 g(i) + t*(q(i+1)*m(i+1)^2 - q(i)*m(i)^2)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from argus.terms import (
    ZERO,
    Carried,
    IndexSet,
    Integer,
    Term,
    Value,
    apply,
    leaf_term,
    number,
    reduced,
)
from argus.terms.linear import coefficients
from argus.verify.denotation.dependence import carried_in
from argus.verify.denotation.known_forms import Cases, KnownForms
from argus.verify.denotation.rescaling import Form, Recurrence

__all__ = ["balanced"]


def balanced(known: KnownForms, one: Recurrence, gained: Value) -> Form | None:
    """A sum of what is quadratic in another carried value."""
    leaves = [leaf for _, x in gained.terms for leaf in _carried_leaves(x)]
    for me in dict.fromkeys(leaves):
        found = _without_square(known, one, gained.terms, me)
        if found is not None:
            return found
    return None


def _beside(known: KnownForms, term: Term, me: Carried) -> Term | None:
    """A term of which one carried value is left, if it has no cases."""
    at = Integer.atom(known.counter)
    found = known.closed(Value.real(term), at, me.name).terms
    return found[0][1] if len(found) == 1 else None


def _without_square(
    known: KnownForms,
    one: Recurrence,
    gained: Sequence[tuple[IndexSet, Term]],
    me: Carried,
) -> Form | None:
    """The form of ``c + t*q*m*m``, without that; None where m is left in it.

    ``gained``: what is added, by elements for which both recurrences say it.
    """
    world, counter = known.world, known.counter
    scale, other = known.scales.get(me.name), known.found.get(me.name)
    if scale is None or other is None:
        return None
    axes = dict(zip(other.axes, me.indices, strict=True))
    yielded = [
        (world.substitute(s, axes), world.substitute(x, axes))
        for s, x in other.yielded.terms
    ]
    if not all(world.is_covered(s, (r for r, _ in yielded)) for s, _ in gained):
        return None
    q = scale.during(Integer.atom(counter))
    if len(q.terms) != 1:
        return None
    following = world.substitute(scale.following, axes).term
    ratios: set[Fraction] = set()
    left: Cases = []
    for (s, x), (r, y) in product(gained, yielded):
        if world.is_empty(s & r):
            continue
        found = _balance(known, x, y, me, (q.terms[0][1], following))
        if found is None:
            return None
        ratios.add(found[0])
        left.append((s & r, found[1]))
    if len(ratios) != 1:
        return None
    (times,) = ratios

    def square(at: Integer) -> Value:
        there = world.substitute(known.form(me.name)(at), axes)
        weighted = apply(world, "mul", scale.at(at), Value.real(number(times)))
        return apply(world, "mul", apply(world, "mul", weighted, there), there)

    first = apply(world, "add", one.init, square(Integer.of(0)))
    total = known.summed(first, Value("real", tuple(left)))
    return lambda at: apply(world, "sub", total(at), square(at))


def _balance(
    known: KnownForms,
    summand: Term,
    yielded: Term,
    me: Carried,
    scale: tuple[Term, Term],
) -> tuple[Fraction, Term] | None:
    """(t, what is added to ``c + t*q*m*m``): without m; None where there is none.

    ``scale``: q, and what it is in the next iteration.
    """
    after, gained = _beside(known, yielded, me), _beside(known, summand, me)
    if gained is None or after is None:
        return None
    old, own = scale[0], leaf_term(me)
    grown = reduced(scale[1] * after * after - old * own * own)
    times = _ratio(coefficients(reduced(gained), me), coefficients(grown, me))
    if times is None:
        return None
    left = reduced(gained + grown.scaled(times))
    names = carried_in(left)
    return None if me.name in names or not known.has(names) else (times, left)


def _carried_leaves(term: Term) -> list[Carried]:
    """Carried values that are factors of products, each once."""
    found = [f for p in term.parts for f, _ in p.factors if isinstance(f, Carried)]
    return list(dict.fromkeys(found))


def _ratio(
    wanted: dict[int, Term] | None, given: dict[int, Term] | None
) -> Fraction | None:
    """The number t by which ``wanted + t*given`` has no square; None: there is none."""
    if wanted is None or given is None:
        return None
    square, grown = wanted.get(2, ZERO), given.get(2, ZERO)
    if not square.parts or square.parts.keys() != grown.parts.keys():
        return None
    first = next(iter(square.parts))
    return -Fraction(square.parts[first]) / Fraction(grown.parts[first])
