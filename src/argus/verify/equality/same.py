"""Are two terms equal wherever a set holds?

Terms in normal form are compared as they are, then as what they are within the set:
variables that it fixes are numbers there, and sums and maxima are over what is left of
their sets. Where that is not enough, the set is split at a condition on which a sum of
the difference has points at all.
"""

from __future__ import annotations

from argus.terms import (
    IndexSet,
    Integer,
    Term,
    Unknown,
    Variable,
    World,
    fractions,
)
from argus.terms.absorbing import absorbed
from argus.terms.affine import equal_to, fixed, stride_of
from argus.terms.domains import is_log_of_zero
from argus.terms.fractions import divided
from argus.terms.integers import EXTREMES, Entry
from argus.terms.restrict import cut_in_set, restrict
from argus.terms.sums import tidy
from argus.terms.unrolled import unrolled, written_out
from argus.verify.equality.aligned import aligned
from argus.verify.equality.at_extremes import as_extremes
from argus.verify.equality.counted_extremes import by_counts, count_to_split
from argus.verify.equality.dominated import without_dominated
from argus.verify.equality.few_places import with_few_places
from argus.verify.equality.first_places import with_first_places
from argus.verify.equality.indicators import vanishes
from argus.verify.equality.known_truths import with_known_truths
from argus.verify.equality.least_numbers import with_least_numbers
from argus.verify.equality.least_powers import with_least_powers
from argus.verify.equality.least_products import with_least_products
from argus.verify.equality.mentioned import choices, context, overs
from argus.verify.equality.residues import by_residues
from argus.verify.equality.result import Mismatch
from argus.verify.equality.shifted_extremes import with_shifts_outside
from argus.verify.equality.signs import by_signs, has_signs
from argus.verify.equality.summands import without_vanishing_sums
from argus.verify.equality.zeros import vanishes_where_zero

__all__ = ["INFINITE", "NO_NUMBER", "same", "within"]

NO_NUMBER = "an element that is "
"""How a reason begins of which an element is the cause that is no number."""
INFINITE = NO_NUMBER + "infinite"
"""Why nothing is said of it: a number that stands for infinity may be meant."""

_SPLITS = 4
"""How often a set is split on the way to equality."""


def same(
    world: World, where: IndexSet, left: Term, right: Term, splits: int = _SPLITS
) -> Mismatch | None:
    """None where both are shown to be equal at every point; else where they are not.

    Raises Unknown for a term of which nothing is claimed.
    """
    left, right = (with_known_truths(world, where, term) for term in (left, right))
    here = context(world, where, left, right)
    here = cut_in_set(world, here, here)
    if here.is_nothing:
        return None
    for term in (left, right):
        if term.undefined is not None:
            raise Unknown(NO_NUMBER + term.undefined)
    if any(is_log_of_zero(world, term) for term in (left, right)):
        # A sum over what is padded may have no points here.
        left, right = (within(world, term, here) for term in (left, right))
        if any(is_log_of_zero(world, term) for term in (left, right)):
            raise Unknown("an element that is made of the logarithm of 0")
    if left == right and left.infinite and not world.finite_infinity:
        return None  # an infinity that both say, and no number that stands for it
    for term in (left, right):
        if term.infinite:
            raise Unknown(INFINITE)
    if left == right:
        return None
    here = _chosen(world, here, left, right)
    a, b = (within(world, term, here) for term in (left, right))
    if a == b:
        return None
    one, other = (as_extremes(world, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    one, other = (by_counts(world, here, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    one, other = (with_least_numbers(world, here, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    one, other = (with_shifts_outside(world, here, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    one, other = (with_first_places(world, here, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    difference = tidy(world, a - b)
    if not difference.parts:
        return None
    if _is_zero(world, here, difference):
        return None
    difference = within(world, unrolled(world, difference), here)
    difference = tidy(world, divided(world, difference))
    if not difference.parts:
        return None
    difference = tidy(world, aligned(world, here, difference))
    if not difference.parts:
        return None
    whole = absorbed(world, here, difference)
    if whole != difference and not within(world, whole, here).parts:
        return None
    parts = unrolled(world, difference, every=True)
    if parts != difference:
        parts = aligned(world, here, within(world, parts, here))
        if not tidy(world, parts).parts:
            return None
    parts = within(world, with_least_powers(world, here, difference), here)
    if not tidy(world, parts).parts:
        return None
    parts = with_least_products(world, difference)
    if parts != difference:
        parts = aligned(world, here, within(world, parts, here))
    if not tidy(world, parts).parts:
        return None
    if vanishes(world, here, difference) or fractions.vanishes(difference):
        return None
    some = without_vanishing_sums(world, here, difference)
    if some != difference and fractions.vanishes(within(world, some, here)):
        return None
    one, other = (within(world, written_out(world, term), here) for term in (a, b))
    if (one, other) != (a, b) and not tidy(world, one - other).parts:
        return None
    one, other = (with_few_places(world, here, term) for term in (a, b))
    if (one, other) != (a, b) and same(world, where, one, other, splits) is None:
        return None
    if _is_same_by_residues(world, here, a, b):
        return None
    if _is_same_solved(world, here, a, b):
        return None
    one, other = (without_dominated(world, here, term) for term in (a, b))
    if (one, other) != (a, b):
        return same(world, where, one, other, splits)
    if vanishes_where_zero(world, here, difference):
        return None
    if _is_same_by_signs(world, here, a, b):
        return None
    part = _split(world, here, difference) if splits else None
    if part is None:
        return Mismatch(where, a, b)
    return same(world, where & part, a, b, splits - 1) or same(
        world, where - part, a, b, splits - 1
    )


def _is_zero(world: World, here: IndexSet, term: Term) -> bool:
    """Whether a whole number is 0 wherever a set holds: sets know more of quotients."""
    number = term.integer
    if number is None:
        return False
    other = here & world.compare(number, "!=", 0)
    for atom in number.all_atoms():
        if isinstance(atom, Entry) and atom.tensor in world.tables:
            low, high = world.tables[atom.tensor]
            entry = Integer.atom(atom)
            other = other & world.compare(entry, ">=", low)
            other = other & world.compare(entry, "<=", high)
    return world.is_empty(other)


def _chosen(world: World, here: IndexSet, left: Term, right: Term) -> IndexSet:
    """A set with what minima and maxima are in it, where it decides which side."""
    for atom in choices(left, right):
        a, b = atom.args
        for one, other in ((a, b), (b, a)):
            if world.is_subset(here, world.compare(one, EXTREMES[atom.op], other)):
                here = here & world.compare(Integer.atom(atom), "==", one)
                break
    return here


def within(world: World, term: Term, here: IndexSet) -> Term:
    """What a term is where a set holds."""
    env = {
        variable: Integer.of(value)
        for variable in sorted(term.free_variables(), key=lambda v: v.key)
        if (value := fixed(world, here, variable)) is not None
    }
    if env:
        term = world.substitute(term, env)
        here = world.close(world.substitute(here, env))
    return tidy(world, restrict(world, term, here))


def _is_same_solved(world: World, here: IndexSet, left: Term, right: Term) -> bool:
    """Whether terms are equal with variables as what a set says them to be by others.

    An even variable is twice another one. Where the last window ends at the end of a
    row, L is 2*t + 1, and what is divided by the number of its elements by 2.
    """
    term = written_out(world, left) - written_out(world, right)
    for _ in range(_SPLITS):
        env = _solved(world, here, term)
        if not env:
            return False
        term = world.substitute(term, env)
        here = world.close(world.substitute(here, env))
        if not tidy(world, within(world, term, here)).parts:
            return True
    return False


def _is_same_by_residues(world: World, here: IndexSet, left: Term, right: Term) -> bool:
    """Whether terms are equal with what strides leave out of a row by itself."""
    one, other = by_residues(world, left, right)
    if (one, other) == (left, right):
        return False
    difference = tidy(world, within(world, one - other, here))
    if not difference.parts:
        return True
    return not tidy(world, aligned(world, here, difference)).parts


def _is_same_by_signs(world: World, here: IndexSet, left: Term, right: Term) -> bool:
    """Whether terms are equal whichever of the numbers that they compare is larger."""
    if not has_signs(left) and not has_signs(right):
        return False
    one, other = by_signs(world, here, left, right)
    if (one, other) == (left, right):
        return False
    difference = tidy(world, within(world, one - other, here))
    if vanishes(world, here, difference) or fractions.vanishes(difference):
        return True
    return vanishes_where_zero(world, here, difference)


def _solved(world: World, here: IndexSet, term: Term) -> dict[Variable, Integer]:
    """What a variable of a term is wherever a set holds, by others; of one at most."""
    for variable in sorted(term.free_variables(), key=lambda v: v.key):
        value = equal_to(world, here, variable, frozenset())
        if value is not None and variable not in value.variables():
            return {variable: value}
    for variable in sorted(term.free_variables(), key=lambda v: v.key):
        known = stride_of(world, here, variable)
        if known is not None:
            stride, rest = known
            return {variable: world.fresh("s") * stride + rest}
    return {}


def _split(world: World, here: IndexSet, term: Term) -> IndexSet | None:
    """A condition that divides a set, on which a sum or maximum has points at all."""
    for over in overs(term):
        try:
            some = world.project(over.domain, over.variables)
        except Unknown:
            continue
        if any(v.name.startswith("$") for v in some.variables()):
            continue  # it speaks of what a sum around it binds
        if not world.is_empty(here & some) and not world.is_empty(here - some):
            return some
    for atom in choices(term):
        a, b = atom.args
        first = world.compare(a, EXTREMES[atom.op], b)
        if not world.is_empty(here & first) and not world.is_empty(here - first):
            return first
    return count_to_split(world, here, term)
