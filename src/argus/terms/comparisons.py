"""What comparisons of data with 0 say of each other.

A truth is 1 or 0: whether a term p is above 0, or is 0. Of two terms of which one is
the other, or its negative, times a positive number and plus a number, one comparison
decides or excludes another: x > 3 says x > 0, and x > 3 excludes -x - 3 > 0. Where
p + q is a positive multiple of r, or r a sum of positive multiples of p and q, p > 0
and q > 0 say r > 0, and p <= 0 and q <= 0 say r <= 0: with d >= 0 it is not x > d and
x < -d, and with a <= b not x <= a and x > b. Of x > 0, -x > 0 and x == 0 one holds.
A number is less than the smaller of two where it is less than both: 1 - |x| > 0 says
1 - x > 0 and 1 + x > 0, and they say it. A product has the sign of one factor where the
other one is above 0.

Terms are compared as real numbers. Facts are of truths that a set mentions already, and
of the first few of them: leaving out facts is sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from math import gcd, lcm
from typing import TYPE_CHECKING

from argus.terms.ends import is_whole
from argus.terms.implied import factors, of_factors
from argus.terms.integers import Atom, DataTerm, Integer, Truth
from argus.terms.leaves import Call, Max
from argus.terms.powers import over_one_divisor
from argus.terms.sets import IndexSet
from argus.terms.term import ONE_PRODUCT, ZERO, Product, Rational, Term, simple

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = ["asked", "opposites", "sides", "together"]

_MOST = 8
"""Truths that are looked at together."""
_SIDES = 4
"""Numbers of an extreme of which it is asked whether each is less, at most."""


def asked(term: Term, *, signed: bool) -> Term:
    """The form in which it is asked whether a term is above 0, or is 0.

    Its sign is that of the term, or unless ``signed`` the opposite one everywhere. Of
    two exponentials, what they are of is compared; what is divided by something that is
    not negative has the sign of what it is without.
    """
    fraction = over_one_divisor(term)
    if fraction is not None:
        term = fraction[0]
    if len(term.parts) == 2 and term.special is None:
        (one, a), (other, b) = term.parts.items()
        if a == -b and not one.factors and not other.factors:
            term = (_exponent(one) - _exponent(other)).scaled(1 if a > 0 else -1)
    return _primitive(term, signed)


def _primitive(term: Term, signed: bool) -> Term:
    """A multiple of a term, by a positive number, whose coefficients have no divisor.

    Unless ``signed``, its negative is the same.
    """
    if term.special is not None or not term.parts:
        return term
    coefficients = [Fraction(c) for c in term.parts.values()]
    below = lcm(*(c.denominator for c in coefficients))
    above = gcd(*((c * below).numerator for c in coefficients))
    scale = Fraction(below, above)
    if not signed and coefficients[0] < 0:
        scale = -scale
    return term if scale == 1 else term.scaled(simple(scale))


def _exponent(part: Product) -> Term:
    return ZERO if part.exponent is None else part.exponent


def opposites(atom: Atom) -> tuple[Truth, ...]:
    """What else is asked of the term of a truth: is it 0, is its negative above 0?"""
    if not isinstance(atom, Truth) or not isinstance(atom.term, Term):
        return ()
    if atom.op == "eq":
        return Truth("gt", atom.term), Truth("gt", -atom.term)
    zero = Truth("eq", asked(atom.term, signed=False))
    return Truth("gt", -atom.term), zero


def related(atoms: Iterable[Atom]) -> set[Truth]:
    """Truths of which something is known by what is asked in some atoms."""
    truths = _truths(atoms)
    found = {other for one in truths for other in opposites(one)}
    found.update(_unmentioned(truths))
    for one, other in combinations(truths, 2):
        if one.op == other.op == "gt":
            p, q = _term(one), _term(other)
            sums = [asked(p + q, signed=True), *_beside(p, q), *_beside(q, p)]
            found.update(Truth("gt", x) for r in sums for x in (r, -r))
    return found


def _beside(p: Term, r: Term) -> list[Term]:
    """Terms q such that r is a sum of positive multiples of p and q.

    Each is without a product that both have: what is left of ``x - low`` and
    ``x - high`` is ``high - low``, which requirements may say something of.
    """
    if p.special is not None or r.special is not None or len(p.parts) > _SIDES:
        return []
    found: dict[Term, None] = {}
    for part, coefficient in p.parts.items():
        ratio = Fraction(r.parts.get(part, 0)) / Fraction(coefficient)
        if ratio > 0:
            rest = r - p.scaled(simple(ratio))
            if rest.constant is None:
                found.setdefault(asked(rest, signed=True))
    return list(found)


def together(world: World, atoms: Iterable[Atom]) -> IndexSet:
    """What truths among some atoms say of each other.

    Those of sides and factors say something, too, where nobody mentions them.
    """
    truths = _truths(atoms)
    others = _unmentioned(truths)
    found = IndexSet.universe
    for one in others:
        truth = Integer.atom(one)
        found = found & world.compare(truth, ">=", 0) & world.compare(truth, "<=", 1)
    found = found & _of_all(world, truths + others)
    return found.without([world.space.name((x,)) for x in others]) if others else found


def _unmentioned(truths: Sequence[Truth]) -> list[Truth]:
    """What else is asked, of sides and factors of what some truths ask."""
    found: dict[Truth, None] = {}
    for one in truths:
        found.update(dict.fromkeys(sides(one)))
        for four in _signs(one):
            found.update((Truth("gt", x), None) for x in four)
    new = (x for x in found if x not in truths and _term(x).constant is None)
    return list(islice(new, _MOST))


def _signs(truth: Truth) -> list[tuple[Term, Term, Term, Term]]:
    """What is asked for the signs of factors of which a truth asks the product."""
    return [
        (
            asked(f, signed=True),
            asked(-f, signed=True),
            asked(q, signed=True),
            asked(-q, signed=True),
        )
        for f, q in factors(truth)
    ]


def _of_all(world: World, truths: Sequence[Truth]) -> IndexSet:
    """What some truths say of each other."""
    found = IndexSet.universe
    for one in truths:
        others = [x for x in opposites(one) if x in truths]
        if len(others) == 2:
            total = sum(map(Integer.atom, others), Integer.atom(one))
            found = found & world.compare(total, "==", 1)
    above = {t.term: Integer.atom(t) for t in truths if t.op == "gt"}
    for one in truths:
        found = found & _of_sides(world, one, above)
        found = found & of_factors(world, one, above, _signs(one))
    for one, other in combinations(truths, 2):
        found = found & _of_two(world, one, other)
        if one.op == other.op == "gt":
            p, q = _term(one), _term(other)
            found = found & _of_sum(world, above, p, q, asked(p + q, signed=True))
            for part, whole in ((p, q), (q, p)):
                for rest in _beside(part, whole):
                    found = found & _of_sum(world, above, part, rest, whole)
    return found


def _of_sum(
    world: World, above: Mapping[DataTerm, Integer], p: Term, q: Term, r: Term
) -> IndexSet:
    """What p > 0 and q > 0 say of a sum r of positive multiples of both."""
    found = IndexSet.universe
    if p not in above or q not in above:
        return found
    both = above[p] + above[q]
    if r in above:
        found = world.compare(both, "<=", above[r] + 1)
        found = found & world.compare(both, ">=", above[r])
    if -r in above:
        found = found & world.compare(both + above[-r], "<=", 2)
    return found


def _of_sides(
    world: World, truth: Truth, above: Mapping[DataTerm, Integer]
) -> IndexSet:
    """What comparisons with the sides of an extreme say of that with the extreme.

    With the larger one it holds where one of them does, with the smaller where all do.
    """
    found = IndexSet.universe
    whole = Integer.atom(truth)
    for coefficient, inner in _in_parts(truth):
        known: list[Integer] = []
        for side in inner:
            number = side.constant
            if number is not None and side.special is None:
                known.append(Integer.of(int(number > 0)))
            elif side in above:
                known.append(above[side])
        step = ">=" if coefficient > 0 else "<="
        for side in known:
            found = found & world.compare(whole, step, side)
        if len(known) == len(inner):
            total = sum(known, Integer.of(0))
            least = total - (len(known) - 1)
            bound = (whole, total) if coefficient > 0 else (least, whole)
            found = found & world.compare(bound[0], "<=", bound[1])
    return found


def sides(truth: Truth) -> list[Truth]:
    """What is asked of the sides of an extreme of which a truth asks."""
    return [Truth("gt", side) for _, inner in _in_parts(truth) for side in inner]


def _in_parts(truth: Truth) -> Iterator[tuple[Rational, list[Term]]]:
    """What a truth asks, with each side of an extreme for it; the extreme's factor."""
    if truth.op != "gt" or not isinstance(truth.term, Term):
        return
    for part, coefficient in _term(truth).parts.items():
        rest = _term(truth) - Term({part: coefficient})
        inner = [rest + one.scaled(coefficient) for one in _sides(part)]
        if inner:
            yield coefficient, [asked(x, signed=True) for x in inner]


def _sides(part: Product) -> tuple[Term, ...]:
    """The numbers of which a product is the largest; none where it is none of a few."""
    if part.exponent is not None or len(part.factors) != 1:
        return ()
    ((leaf, power),) = part.factors
    if power != 1:
        return ()
    if isinstance(leaf, Call) and leaf.function == "abs":
        return (leaf.args[0], -leaf.args[0])
    if isinstance(leaf, Max):
        plain = all(not g.variables and g.domain.is_universe for g in leaf.generators)
        return leaf.terms if plain and len(leaf.terms) <= _SIDES else ()
    return ()


def _truths(atoms: Iterable[Atom]) -> list[Truth]:
    """The first truths of data among some atoms."""
    found = (a for a in atoms if isinstance(a, Truth) and isinstance(a.term, Term))
    return list(islice(found, _MOST))


def _term(truth: Truth) -> Term:
    assert isinstance(truth.term, Term)
    return truth.term


def _of_two(world: World, one: Truth, other: Truth) -> IndexSet:
    """What one truth says of another one, by the numbers that their terms differ by."""
    if one.op == "eq" and other.op == "gt":
        one, other = other, one
    p, q = _term(one), _term(other)
    ratio = _ratio(p, q)
    if ratio is None:
        return IndexSet.universe
    q = q.scaled(1 / abs(ratio))
    a, b = Integer.atom(one), Integer.atom(other)
    difference = (p - q if ratio > 0 else p + q).constant
    assert difference is not None
    if one.op == other.op == "gt" and ratio < 0:
        # p + q is a number: both are above 0 only if it is, and one is then. Of a whole
        # p that is above 0 it is more than 1.
        found = world.compare(a + b, "<=" if difference <= 0 else ">=", 1)
        if 0 < difference <= 1 and is_whole(p):
            found = found & world.compare(a + b, "<=", 1)
        return found
    if one.op == other.op == "gt":
        return world.compare(a, "<=" if difference <= 0 else ">=", b)
    if one.op == other.op:
        return world.compare(a + b, "<=", 1) if difference else IndexSet.universe
    # q == 0 says what p is: the number by which they differ.
    if difference > 0:
        return world.compare(b, "<=", a)
    return world.compare(a + b, "<=", 1)


def _ratio(left: Term, right: Term) -> Fraction | None:
    """Of what is no number in two terms, how often the left has the right one's."""
    one, other = _varying(left).parts, _varying(right).parts
    if not one or one.keys() != other.keys():
        return None
    ratios = {Fraction(other[part]) / Fraction(one[part]) for part in one}
    return ratios.pop() if len(ratios) == 1 else None


def _varying(term: Term) -> Term:
    """A term without the number that is added to it."""
    return Term({part: c for part, c in term.parts.items() if part != ONE_PRODUCT})
