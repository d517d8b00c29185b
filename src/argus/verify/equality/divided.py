"""Divisors that a kernel shares with its reference.

A mean over what a mask keeps divides by a number that is 0 for some data. Where the
reference divides by the same number it says nothing of such data, and no kernel has to
show that there are none. Whether a number of sizes alone is 0 is asked of the launch
all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.terms import (
    Base,
    IndexSet,
    Integer,
    Term,
    Truncated,
    Truth,
    Unknown,
    World,
    leaf_term,
    union,
)
from argus.terms.integers import Entry
from argus.verify.equality.mentioned import overs
from argus.verify.equality.same import same

__all__ = ["Compared", "is_of_data", "shares_divisor"]

Compared = tuple[IndexSet, Term]
"""Where a term of the reference was shown to be the kernel's, and the term."""


def shares_divisor(
    world: World, where: IndexSet, divisor: Term, compared: Sequence[Compared]
) -> bool:
    """Whether a reference divides by the same number wherever a set holds.

    False, too, for one that depends on no data.
    """
    if not is_of_data(divisor):
        return False
    found = union(
        there
        for there, term in compared
        if any(
            _same(world, where & there, divisor, other)
            for other in dict.fromkeys(_divisors(term))
        )
    )
    return world.is_subset(where, found)


def _divisors(term: Term) -> Iterator[Term]:
    """What parts of a term are divided by, as a whole."""
    for part in term.parts:
        for leaf, power in part.factors:
            if power < 0:
                yield leaf.term if isinstance(leaf, Base) else leaf_term(leaf)


def _same(world: World, where: IndexSet, one: Term, other: Term) -> bool:
    try:
        return world.is_empty(where) or same(world, where, one, other) is None
    except Unknown:
        return False


def is_of_data(term: Term) -> bool:
    """Whether the number of points of a sum depends on entries or on data."""
    return any(
        isinstance(inner, Entry | Truth | Truncated)
        for over in overs(term)
        for monomial in over.domain.monomials
        for atom in monomial
        for inner in Integer.atom(atom).all_atoms()
    )
