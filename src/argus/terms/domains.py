"""What terms need to be defined, and what algebra takes out of sight.

``x / s`` is a number where s is not 0. So is ``x / s * s``, whose normal form is x: the
law is one of numbers where both sides are defined. Each function of terms is therefore
asked what its arguments needed and its result does not show any more. That is noted, as
an obligation: who compares terms has it that the numbers are there, or that the other
side needs the same.

    x / s               needs that s is not 0
    sqrt(x), log(x)     need that x is not negative, and is above 0

What is above 0 by its form (``1 + exp(x)``) needs nothing. A quotient that is divided
by needs nothing of its divisor: with s = 0 it is infinite, and what it divides is 0.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from argus.terms.integers import Atom, Integer, Opaque, Truncated, Truth
from argus.terms.leaves import Base, Call, Constant, Leaf
from argus.terms.obligations import TermObligation
from argus.terms.powers import LOG_OF_ZERO, is_nonnegative, is_positive, raised
from argus.terms.sets import IndexSet
from argus.terms.term import ZERO, Rational, Term, leaf_term, whole

if TYPE_CHECKING:
    from argus.terms.world import World

__all__ = [
    "DOMAINS",
    "NumberNeed",
    "divided_by",
    "divisors",
    "exponent_of",
    "is_log_of_zero",
    "need_of",
    "needs",
    "note_lost",
    "placed",
    "said",
]


class NumberNeed(NamedTuple):
    """A term that is not 0 ("divisor"), is at least 0, or is above 0."""

    kind: Literal["divisor", "root", "logarithm"]
    term: Term


DOMAINS: dict[str, str] = {
    "divisor": "is not 0",
    "root": "is not negative",
    "logarithm": "is above 0",
}
_NONE: frozenset[NumberNeed] = frozenset()


def needs(world: World, x: Term | IndexSet) -> frozenset[NumberNeed]:
    """What has to hold for a term to be a number, or for what a set asks of data."""
    key = ("needs", x)
    known = world.memory.get(key)
    if known is None:
        known = world.memory[key] = (
            _of_atoms(world, (a for m in x.monomials for a in m))
            if isinstance(x, IndexSet)
            else _of_term(world, x)
        )
    return cast(frozenset[NumberNeed], known)


def is_log_of_zero(world: World, term: Term) -> bool:
    """Whether a term is made of the logarithm of 0, which is no number."""
    return NumberNeed("logarithm", ZERO) in needs(world, term)


def note_lost(
    world: World,
    where: IndexSet,
    args: Sequence[Term],
    before: Iterable[NumberNeed],
    after: frozenset[NumberNeed],
) -> None:
    """Note what was needed and is not seen any more.

    Of what is needed in sums of ``args``, their points are where.
    """
    for need in before:
        if said(need, after):
            continue
        inside = (x for arg in args for x in placed(world, where, arg))
        places = dict.fromkeys(place for found, place in inside if found == need)
        for place in places or (where,):
            found = TermObligation(need.kind, need.term, place, None, "it cancels")
            world.obligations.add(found)


def need_of(found: TermObligation) -> NumberNeed | None:
    """The need that an obligation notes, if it is one of these."""
    match found.kind:
        case "divisor" | "root" | "logarithm" if isinstance(found.term, Term):
            return NumberNeed(found.kind, found.term)
        case _:
            return None


def said(need: NumberNeed, among: Container[NumberNeed]) -> bool:
    """Whether something is among what is needed, or follows from it."""
    return need in among or NumberNeed("logarithm", need.term) in among


def divided_by(world: World, term: Term) -> frozenset[NumberNeed]:
    """What is needed of a term that something is divided by, and that it is not 0."""
    if term.special is not None or not term.parts:
        return _NONE
    found = needs(world, term)
    if len(term.parts) == 1:
        (part,) = term.parts
        below = {_below(leaf) for leaf, power in part.factors if power < 0}
        found = frozenset(
            n for n in found if n.kind != "divisor" or n.term not in below
        )
    return found | needs(world, raised(term, -1))


def exponent_of(world: World, term: Term) -> frozenset[NumberNeed]:
    """What is needed of a term of which the exponential is taken.

    That of a multiple of ``log(x)`` is a power of x, of 0, too.
    """
    found = needs(world, term)
    for part in term.parts:
        rest = [x for x in part.factors if not isinstance(x[0], Constant)]
        leaf, power = rest[0] if len(rest) == 1 else (None, 0)
        if power == 1 and isinstance(leaf, Call) and leaf.function == "log":
            (inner,) = leaf.args
            if NumberNeed("logarithm", inner) in found:
                found = found - {NumberNeed("logarithm", inner)}
                found |= _NONE if is_nonnegative(inner) else {NumberNeed("root", inner)}
    return found


def divisors(value: Integer) -> frozenset[NumberNeed]:
    """What quotients that an integer is made of divide by."""
    return frozenset(
        NumberNeed("divisor", whole(atom.args[1]))
        for atom in value.atoms()
        if isinstance(atom, Opaque) and atom.op == "div"
    )


def _of_term(world: World, term: Term) -> frozenset[NumberNeed]:
    found = _NONE
    for part in term.parts:
        for leaf, power in part.factors:
            found |= _of_leaf(world, leaf, power)
        if part.exponent is not None:
            found |= needs(world, part.exponent)
    return found


def _of_leaf(world: World, leaf: Leaf, power: Rational) -> frozenset[NumberNeed]:
    return _own(leaf, power).union(
        *(needs(world, x) for x in leaf.terms),
        *(needs(world, x.domain) for x in leaf.overs),
        *(_of_atoms(world, x.atoms()) for x in leaf.integers),
    )


def _own(leaf: Leaf, power: Rational) -> frozenset[NumberNeed]:
    """What a power of a leaf needs beside what is in the leaf."""
    found: set[NumberNeed] = set()
    below = _below(leaf)
    if power < 0 and below.constant is None and not is_positive(below):
        found.add(NumberNeed("divisor", below))
    root = isinstance(power, Fraction) and power.denominator % 2 == 0
    if root and not is_nonnegative(below):
        found.add(NumberNeed("root", below))
    if isinstance(leaf, Call) and leaf.function == "log":
        (inner,) = leaf.args
        if leaf == LOG_OF_ZERO or (inner.constant is None and not is_positive(inner)):
            found.add(NumberNeed("logarithm", inner))
    return frozenset(found)


def placed(
    world: World, where: IndexSet, term: Term
) -> Iterator[tuple[NumberNeed, IndexSet]]:
    """What a term needs where a set holds, of what is in a sum at its points."""
    for part in term.parts:
        for leaf, power in part.factors:
            inside = set(_own(leaf, power))
            for x in leaf.integers:
                inside |= _of_atoms(world, x.atoms())
            for over in leaf.overs:
                inside |= needs(world, over.domain)
                yield from placed(world, where & over.domain, over.body)
            for need in inside:
                yield need, where
            for inner in () if leaf.overs else leaf.terms:
                yield from placed(world, where, inner)
        if part.exponent is not None:
            yield from placed(world, where, part.exponent)


def _below(leaf: Leaf) -> Term:
    return leaf.term if isinstance(leaf, Base) else leaf_term(leaf)


def _of_atoms(world: World, atoms: Iterable[Atom]) -> frozenset[NumberNeed]:
    found = _NONE
    for atom in atoms:
        if isinstance(atom, Truth | Truncated):
            assert isinstance(atom.term, Term)
            found |= needs(world, atom.term)
        else:
            inside: tuple[Integer, ...] = atom.arguments
            found = found.union(*(_of_atoms(world, x.atoms()) for x in inside))
    return found
