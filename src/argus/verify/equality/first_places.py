"""The first place of a largest number, in one form.

``min(j where X[j] == max(X[k] over k), else N)`` is the first place of the largest, as
``argmax`` finds it. And of numbers none of which is less than c, one that is c is the
first largest only where no other number comes before it: so are zeros behind a row of
absolute values, and all but the first place where a condition does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

from argus.terms import (
    IndexSet,
    Integer,
    Leaf,
    Max,
    Term,
    Unknown,
    Variable,
    Whole,
    World,
    leaf_term,
)
from argus.terms.cast import truncated
from argus.terms.folds import fold, rebound_fold
from argus.terms.integers import Truncated, Truth
from argus.terms.leafwise import with_leaves
from argus.terms.leaves import Fold
from argus.terms.maxima import Source, opened
from argus.terms.powers import is_nonnegative
from argus.terms.sets import union
from argus.terms.term import whole
from argus.verify.equality.lane_places import least_of_lanes
from argus.verify.equality.needed import needed
from argus.verify.equality.rows import has_points, no_larger, row, source

__all__ = ["with_first_places"]


def with_first_places(world: World, here: IndexSet, term: Term) -> Term:
    """The same term, wherever a set holds, with such places in that form.

    ``here``: a set of free variables of the term.
    """
    return with_leaves(term, lambda leaf: _in_leaf(world, here, leaf))


def _in_leaf(world: World, here: IndexSet, leaf: Leaf) -> Term:
    if isinstance(leaf, Max):
        found = chain(
            _least_places(world, here, leaf), least_of_lanes(world, here, leaf)
        )
        return next(found, leaf_term(leaf))
    if isinstance(leaf, Fold) and leaf.function == "argmax":
        return _without_later(world, here, leaf)
    if isinstance(leaf, Whole) and isinstance(leaf.atom, Truncated):
        inside = leaf.atom.term
        if not isinstance(inside, Term):
            return leaf_term(leaf)
        made = with_first_places(world, here, inside)
        if made != inside:
            return whole(truncated(world, made))
    return leaf_term(leaf)


def _least_places(world: World, here: IndexSet, leaf: Max) -> Iterator[Term]:
    """The largest ``c - j`` over the j at which a number is the largest of its row.

    The other numbers of the maximum are no larger than that of any place.
    """
    for mine in leaf.generators:
        if len(mine.variables) != 1:
            continue
        (((at,), domain, body),) = opened(world, [source(mine)])
        assert isinstance(at, Variable)
        place = Integer.atom(at)
        if body.integer is not None and body.integer.coefficient(at) == 1:
            # Places that are counted down: -j is what a variable is called.
            domain = world.substitute(domain, {at: -place})
            body = world.substitute(body, {at: -place})
        rest = body + whole(place)
        first = rest.integer
        if first is None or at in rest.free_variables():
            continue
        for points, numbers in _largest(world, here, at, domain):
            others = [g for g in leaf.generators if g is not mine]
            if no_larger(world, here & points, others, first - place):
                found = fold(world, "argmax", [((at,), points, numbers)])
                yield rest - whole(truncated(world, found))


def _largest(
    world: World, here: IndexSet, at: Variable, domain: IndexSet
) -> Iterator[tuple[IndexSet, Term]]:
    """The points and numbers of a row, where a domain is that one is the largest."""
    for truth in (a for m in domain.monomials if len(m) == 1 for a in m):
        if not isinstance(truth, Truth) or truth.op != "eq":
            continue
        if not isinstance(truth.term, Term):
            continue
        for part, sign in truth.term.parts.items():
            over = row(part)
            if over is None or at in over.free:
                continue
            numbers = (Term({part: sign}) - truth.term).scaled(Fraction(1) / sign)
            env = {over.variables[0]: Integer.atom(at)}
            points = world.substitute(over.domain, env)
            alike = points & world.told(Integer.atom(truth), True)
            if world.substitute(over.body, env) != numbers:
                continue
            if not world.is_subset(here & domain, alike):
                continue
            if world.is_subset(here & alike, domain) and has_points(
                world, here, at, points
            ):
                yield points, numbers


def _without_later(world: World, here: IndexSet, leaf: Fold) -> Term:
    """Without points of the least number that come after a point of any number."""
    every = opened(world, [source(g) for g in leaf.generators])
    found: list[Source] = []
    changed = False
    for names, domain, body in every:
        kept = domain
        if len(names) == 1 and _is_least(body, every):
            kept = _before_all(world, here, names[0], domain, leaf)
            changed = changed or kept is not domain
        found.append((names, kept, body))
    return rebound_fold(world, leaf, found) if changed else leaf_term(leaf)


def _is_least(body: Term, every: list[Source]) -> bool:
    """Whether a term is a number that no term of several is less than."""
    least = body.constant
    return least is not None and all(
        (least <= 0 and is_nonnegative(x))
        or (x.constant is not None and x.constant >= least)
        for _, _, x in every
    )


def _before_all(
    world: World, here: IndexSet, at: Variable, domain: IndexSet, leaf: Fold
) -> IndexSet:
    """Those points of a domain before which there is no point of a family."""
    place = Integer.atom(at)
    mine = here & domain
    before: list[IndexSet] = []
    other = world.fresh("k")
    for generator in leaf.generators:
        env = {generator.variables[0]: other}
        before.append(world.substitute(generator.domain, env))
    every = needed(world, here & union(before))
    earlier = mine & every & world.compare(other, "<", place)
    try:
        gone = world.project(earlier, [*other.variables()])
    except Unknown:
        return domain
    if world.is_empty(mine & gone):
        return domain
    return domain - gone.gist(world.close(here))
