"""Products over sets of points, and places of extremes: functions of a family.

Two are equal where the families are. A product of products is one over all of their
points; else nothing is known of them but that they are functions of the numbers at the
points. A factor of 1 is left out of a product, and minus infinity is never the largest
number of several, one of which is finite: a convention. Nor is the first largest one
the least number of a type that comes after others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.terms.binding import BoundVariables
from argus.terms.integers import Integer
from argus.terms.leaves import Fold, Generator
from argus.terms.magnitudes import between
from argus.terms.maxima import Source, monotone, opened
from argus.terms.naming import generator_of
from argus.terms.opening import closing
from argus.terms.sums import renamed
from argus.terms.term import (
    MINUS_INFINITY,
    ONE,
    ZERO,
    Product,
    Term,
    leaf_term,
    undefined,
)
from argus.terms.unknown import Unknown
from argus.terms.world import World


@closing
def fold(world: World, function: str, sources: Sequence[Source]) -> Term:
    """A product ("prod") or the first place of the largest number ("argmax")."""
    exponentials = monotone(sources) if function == "argmax" else None
    if exponentials is not None:
        world.convention("the largest number of a row is not minus infinity")
        return fold(world, function, exponentials[1])
    neutral = ONE if function == "prod" else MINUS_INFINITY
    found: list[Generator] = []
    flat = _factors(world, sources) if function == "prod" else sources
    for variables, domain, term in flat:
        closed = world.close(domain)
        if world.is_empty(closed) or not variables:
            if not closed.is_nothing and not variables:
                return undefined(f"{function} of a number by itself")
            continue
        if term == neutral:
            if function == "argmax":
                world.convention("the largest number of a row is not minus infinity")
            continue
        if term.special is not None:
            return undefined(f"{function} of {term}")
        binding = BoundVariables(world, variables, closed, term)
        if function == "prod":
            made = binding.canonical(counted=True)
        else:
            made = binding.positional()
        one = Generator(len(made.variables), made.domain, made.body, made.height)
        _put(world, found, one)
    if not found:
        return ONE if function == "prod" else undefined("the place of no number")
    if function == "argmax" and len(found) > 1:
        found = [g for g in found if not any(_hides(world, h, g) for h in found)]
    return leaf_term(Fold(function, found))


def _hides(world: World, first: Generator, later: Generator) -> bool:
    """Whether the first largest number is never one of the second numbers.

    These are one number, which the first ones are not less than, and come after them.
    So does padding by the least number of a type, at the end of a row.
    """
    if first is later or later.body.constant is None:
        return False
    low, _ = between(world, first.domain, first.body, world.tables)
    if low is None or any(low.keys() - {()}):
        return False
    if later.body.constant > -low.get((), 0):
        return False
    env, fresh = renamed(world, later.variables)
    (at,), (there,) = first.variables, fresh
    both = first.domain & world.substitute(later.domain, env)
    if not world.is_empty(
        both & world.compare(Integer.atom(there), "<=", Integer.atom(at))
    ):
        return False
    try:
        some = world.project(first.domain, first.variables)
        needed = world.project(later.domain, later.variables)
    except Unknown:
        return False
    return world.is_subset(needed, some)


def _factors(world: World, sources: Sequence[Source]) -> Iterator[Source]:
    """Factors of products of products."""
    for variables, domain, term in sources:
        inner = term.single
        if not isinstance(inner, Fold) or inner.function != "prod":
            yield variables, domain, term
            continue
        for g in inner.generators:
            env, fresh = renamed(world, g.variables)
            both = domain & world.substitute(g.domain, env)
            body = world.substitute(g.body, env)
            yield from _factors(world, [([*variables, *fresh], both, body)])


@closing
def together(world: World, term: Term) -> Term:
    """A term in which products over sets that are multiplied are one product."""
    found = {part: _folds(part) for part in term.parts}
    if term.special is not None or all(len(folds) < 2 for folds in found.values()):
        return term
    total = ZERO
    for part, coefficient in term.parts.items():
        folds = found[part] if len(found[part]) > 1 else []
        others = {f: y for f, y in part.factors if f not in folds}
        rest = Term({Product(others, part.exponent): coefficient})
        given: list[Source] = [
            (g.variables, g.domain, g.body) for f in folds for g in f.generators
        ]
        total = total + rest * fold(world, "prod", opened(world, given))
    return total


def _folds(part: Product) -> list[Fold]:
    """Products over sets that are factors, each once."""
    return [
        f
        for f, power in part.factors
        if power == 1 and isinstance(f, Fold) and f.function == "prod"
    ]


def _put(world: World, found: list[Generator], new: Generator) -> None:
    """Add a generator, or its points to one of the same term that has none of them.

    A number that occurs twice is a factor twice.
    """
    for place, old in enumerate(found):
        if old.variables != new.variables or old.body != new.body:
            continue
        if world.is_empty(old.domain & new.domain):
            both = old.domain | new.domain
            found[place] = generator_of(world, old.variables, both, new.body)
            return
    found.append(new)


def refolded(world: World, leaf: Fold, sources: Sequence[Source]) -> Term:
    """The same function of other sources."""
    return fold(world, leaf.function, sources)


@closing
def rebound_fold(world: World, leaf: Fold, sources: Sequence[Source]) -> Term:
    """The same function of sources whose variables are bound already."""
    return fold(world, leaf.function, opened(world, sources))
