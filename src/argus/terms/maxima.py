"""Maxima over sets of points, in normal form.

A maximum has generators: a term at the points of a set. A maximum of maxima has the
generators of all, generators of one term are one over the union of their sets, and
minus infinity is none. Of exponentials it is that of the largest exponent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.terms.binding import BoundVariables
from argus.terms.fuse import fused, shape
from argus.terms.integers import Variable
from argus.terms.leaves import Generator, Max
from argus.terms.naming import generator_of
from argus.terms.obligations import TermObligation
from argus.terms.opening import closing
from argus.terms.powers import exponential, is_positive
from argus.terms.sets import IndexSet
from argus.terms.sums import renamed
from argus.terms.term import MINUS_INFINITY, Product, Term, leaf_term, undefined
from argus.terms.world import World

Source = tuple[Sequence[Variable], IndexSet, Term]
"""Variables, the set of their points, and the term of which the largest is taken."""


def maximum_of(world: World, terms: Sequence[Term]) -> Term:
    """The largest of several terms."""
    return maximum_over(world, [((), IndexSet.universe, t) for t in terms])


@closing
def maximum_over(world: World, sources: Iterable[Source]) -> Term:
    """The largest of several terms over sets of points; minus infinity of none."""
    found = list(sources)
    outside = monotone(found)
    if outside is not None:
        factor, exponents = outside
        largest = maximum_over(world, exponents)
        if isinstance(largest.single, Max):
            note = TermObligation("some", largest, IndexSet.universe, None, "")
            world.obligations.add(note)
        return factor * exponential(largest)
    generators: list[Generator] = []
    for variables, domain, term in found:
        if world.is_empty(domain) or term == MINUS_INFINITY:
            continue
        if term.undefined is not None or (term.special and domain.is_universe):
            return term
        if term.special is not None:
            return undefined("a maximum that is infinite at some points")
        leaf = term.single
        if not isinstance(leaf, Max):
            generators.append(_generator(world, variables, domain, term))
            continue
        for inner in leaf.generators:
            env, fresh = renamed(world, inner.variables)
            both = domain & world.substitute(inner.domain, env)
            body = world.substitute(inner.body, env)
            if not world.is_empty(both):
                every = [*variables, *fresh]
                generators.append(_generator(world, every, both, body))
    return maximum_of_generators(world, generators)


def monotone(sources: Sequence[Source]) -> tuple[Term, list[Source]] | None:
    """(f, exponents) where all terms are exponentials times one positive factor f.

    The largest is then where the largest exponent is. What is 0 is none of them: of an
    exponential one of some number is larger. None where the terms are others.
    """
    found: list[Source] = []
    factor: Term | None = None
    for variables, domain, term in sources:
        if not term.parts:
            continue
        if len(term.parts) > 1:
            return None
        ((part, coefficient),) = term.parts.items()
        outside = Term({Product(dict(part.factors)): coefficient})
        if part.exponent is None or not is_positive(outside):
            return None
        if not outside.free_variables().isdisjoint(variables):
            return None
        if factor is not None and factor != outside:
            return None
        factor = outside
        found.append((variables, domain, part.exponent))
    return None if factor is None else (factor, found)


def maximum_of_generators(world: World, generators: Sequence[Generator]) -> Term:
    """The largest of what several generators make."""
    found: list[Generator] = []
    for generator in generators:
        _put(world, found, generator)
    found = _without_smaller(found)
    if not found:
        return MINUS_INFINITY
    only = found[0]
    if len(found) == 1 and not only.variables and only.domain.is_universe:
        return only.body
    return leaf_term(Max(found))


def _without_smaller(found: list[Generator]) -> list[Generator]:
    """Without numbers that are less than one that is there in any case."""
    always = [
        (g.body.constant, g)
        for g in found
        if not g.variables and g.domain.is_universe and g.body.constant is not None
    ]
    if not always:
        return found
    most, largest = max(always, key=lambda item: item[0])
    return [
        g
        for g in found
        if g is largest or g.body.constant is None or g.body.constant > most
    ]


@closing
def rebound_maximum(world: World, sources: Sequence[Source]) -> Term:
    """The maximum over sources whose variables are bound already."""
    return maximum_over(world, opened(world, sources))


def opened(world: World, sources: Sequence[Source]) -> list[Source]:
    """The same sources with bound variables that nothing else has."""
    found: list[Source] = []
    for names, domain, body in sources:
        env, fresh = renamed(world, names)
        inner = world.substitute(domain, env)
        found.append((fresh, inner, world.substitute(body, env)))
    return found


def _generator(
    world: World, variables: Sequence[Variable], domain: IndexSet, term: Term
) -> Generator:
    closed = world.close(domain) if variables else domain
    made = BoundVariables(world, variables, closed, term).canonical(counted=False)
    return Generator(len(made.variables), made.domain, made.body, made.height)


def _put(world: World, found: list[Generator], new: Generator) -> None:
    """Add a generator, or its points to one whose term differs in sets only."""
    for place, old in enumerate(found):
        if old.variables != new.variables:
            continue
        if shape(world, old.body) != shape(world, new.body):
            continue
        body = fused(world, old.body, old.domain, new.body, new.domain)
        if body is not None:
            both = old.domain | new.domain
            found[place] = generator_of(world, old.variables, both, body)
            return
    found.append(new)
