"""A term where a set holds: its sums and maxima are cut to what the set allows.

So a sum that stands in another one says only what it is over at the points of that one:
two terms that differ elsewhere only become equal. A sum over no point is 0, a maximum
over none is minus infinity.

Of a product with a sum over no point nothing is left: what does not depend on the
points stands beside the sum in normal form, be it a maximum of none. A program that
multiplies such a sum with infinity says so (`World.multiplies_infinity`), and that it
divides by none is an obligation.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms.arithmetic import called, multiply
from argus.terms.cast import truncated
from argus.terms.cut_data import with_data_cut, without_tables
from argus.terms.folds import rebound_fold
from argus.terms.integers import Atom, Integer, Opaque, Truncated, Truth, Variable
from argus.terms.leaves import Base, Call, Fold, Generated, Leaf, Sum, Whole
from argus.terms.maxima import Source, opened, rebound_maximum
from argus.terms.opening import closing
from argus.terms.powers import exponential, raised
from argus.terms.sets import IndexSet
from argus.terms.settle import settled
from argus.terms.substitution import of_others
from argus.terms.sums import changed, tidy
from argus.terms.term import ZERO, Term, leaf_term, number, whole
from argus.terms.unknown import Unknown
from argus.terms.world import World

_NONE: frozenset[Variable] = frozenset()


def restrict(
    world: World,
    term: Term,
    where: IndexSet,
    hidden: frozenset[Variable] = _NONE,
) -> Term:
    """The term that is equal to a term wherever a set holds.

    ``hidden``: variables of the set that what does not depend on them does not mention
    afterwards either: those that a sum around the term binds.
    """
    if where.is_universe:
        return term
    key = ("restrict", term, where, hidden)
    found = world.memory.get(key)
    if found is None:
        simple = settled(world, term, where, hidden)
        cut = _restricted(world, simple, where, hidden) if simple.height else simple
        found = world.memory[key] = cut
    assert isinstance(found, Term)
    return found


@closing
def _restricted(
    world: World, term: Term, where: IndexSet, hidden: frozenset[Variable]
) -> Term:
    total = ZERO
    for part, coefficient in term.parts.items():
        made = number(coefficient)
        factors = [(x, p, _in_leaf(world, x, where, hidden)) for x, p in part.factors]
        if not world.infinite_factors and any(
            isinstance(x, Sum) and p > 0 and not f.parts for x, p, f in factors
        ):
            continue
        for _, power, factor in factors:
            made = multiply(world, where, made, raised(factor, power))
        if part.exponent is not None:
            scale = exponential(restrict(world, part.exponent, where, hidden))
            made = multiply(world, where, made, scale)
        total = total + made
    return tidy(world, total)


def _in_leaf(
    world: World, leaf: Leaf, where: IndexSet, hidden: frozenset[Variable]
) -> Term:
    if not leaf.height:
        return leaf_term(leaf)
    match leaf:
        case Sum():
            source = leaf.variables, leaf.domain, leaf.body
            source = names, inner, term = _apart(world, source, where)
            relevant, over = _said(world, names, inner, term, where, hidden)
            domain = world.close(over & relevant)
            if domain.is_nothing:
                return ZERO
            if not names and world.is_subset(relevant, over):
                return restrict(world, term, relevant, hidden)
            body = restrict(world, term, domain, frozenset(names))
            return changed(world, source, domain, body)
        case Generated():
            sources: list[Source] = []
            for g in leaf.generators:
                source = g.variables, g.domain, g.body
                names, inner, body = _apart(world, source, where)
                relevant, over = _said(world, names, inner, body, where, hidden)
                domain = world.close(over & relevant)
                if not domain.is_nothing:
                    body = restrict(world, body, domain, frozenset(names))
                    everywhere = world.is_subset(relevant, over)
                    if not names and everywhere:
                        domain = IndexSet.universe
                    sources.append((names, domain, body))
            if isinstance(leaf, Fold):
                return rebound_fold(world, leaf, sources)
            return rebound_maximum(world, sources)
        case Whole():
            return _in_whole(world, leaf.atom, where, hidden)
        case Call():
            args = [restrict(world, a, where, hidden) for a in leaf.args]
            return called(world, leaf.function, args)
        case Base():
            return restrict(world, leaf.term, where, hidden)
        case _:
            return leaf_term(leaf)


def _in_whole(
    world: World, atom: Atom, where: IndexSet, hidden: frozenset[Variable]
) -> Term:
    """A number made of data: a truth, or what is cut to an integer."""
    if isinstance(atom, Truth | Truncated):
        assert isinstance(atom.term, Term)
        inner = restrict(world, atom.term, where, hidden)
        if inner.special is None:
            if isinstance(atom, Truncated):
                return whole(truncated(world, inner))
            return whole(world.truth_of(atom.op, inner))
    if isinstance(atom, Opaque):
        args = [_in_integer(world, x, where, hidden) for x in atom.args]
        if None not in args and tuple(args) != atom.args:
            left, right = (x for x in args if x is not None)
            return whole(of_others(world, atom, left, right))
    return leaf_term(Whole(atom))


def _in_integer(
    world: World, x: Integer, where: IndexSet, hidden: frozenset[Variable]
) -> Integer | None:
    """An integer of data; None where it is none of terms that hold there."""
    return restrict(world, whole(x), where, hidden).integer if x.height else x


def cut_in_set(
    world: World,
    domain: IndexSet,
    where: IndexSet,
    hidden: frozenset[Variable] = _NONE,
) -> IndexSet:
    """The same set, wherever another one holds, with its data as it is there."""
    return with_data_cut(
        world, domain, where, lambda term, there: restrict(world, term, there, hidden)
    )


def _apart(world: World, source: Source, where: IndexSet) -> Source:
    """What is bound by names that no sum inside of it can take.

    A sum is called by its height, and stands higher with what a set says of data: as
    high as the one around it, maybe.
    """
    names, domain, _ = source
    if not names or not (domain.height or where.height):
        return source
    ((fresh, inner, body),) = opened(world, [source])
    return fresh, inner, body


def _said(
    world: World,
    names: Sequence[Variable],
    domain: IndexSet,
    body: Term,
    where: IndexSet,
    hidden: frozenset[Variable],
) -> tuple[IndexSet, IndexSet]:
    """What a set says of a sum, and what the sum is over there."""
    there = where & without_tables(world, domain)
    domain = cut_in_set(world, domain, there, hidden.union(names))
    over = _without(world, domain, body, where, hidden)
    free = body.free_variables() | over.variables()
    return _relevant(world, where, hidden - free), over


def _without(
    world: World,
    domain: IndexSet,
    body: Term,
    where: IndexSet,
    hidden: frozenset[Variable],
) -> IndexSet:
    """What a sum is over where a set holds, without hidden variables if it can be said.

    Positions that were written with a variable may be bound under another name since,
    and the set that they are in mentions it still.
    """
    others = (domain.variables() & hidden) - body.free_variables()
    if not others:
        return domain
    try:
        found = world.project(domain & where, sorted(others, key=lambda v: v.key))
    except Unknown:
        return domain
    return found if world.is_subset(where & found, domain) else domain


def _relevant(world: World, where: IndexSet, hidden: frozenset[Variable]) -> IndexSet:
    """What a set says of the variables of a leaf, without mentioning bound ones.

    A sum that does not depend on a bound variable of an outer one must not begin to.
    """
    others = sorted(where.variables() & hidden, key=lambda v: v.key)
    if not others:
        return where
    try:
        return world.project(where, others)
    except Unknown:
        return IndexSet.universe
