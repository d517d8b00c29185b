"""What a term speaks of: atoms, whose facts hold wherever it is evaluated, and sums."""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import IndexSet, Integer, Leaf, Opaque, Sum, Term, World
from argus.terms.leaves import Generator

__all__ = ["choices", "context", "integers", "leaves", "overs"]


def leaves(term: Term) -> Iterator[Leaf]:
    """Every leaf of a term, those inside of others, too."""
    for part in term.parts:
        for leaf, _ in part.factors:
            yield leaf
            for inner in leaf.terms:
                yield from leaves(inner)
        if part.exponent is not None:
            yield from leaves(part.exponent)


def integers(term: Term) -> Iterator[Integer]:
    """Integers in a term: positions of elements, and numbers themselves."""
    return (integer for leaf in leaves(term) for integer in leaf.integers)


def overs(term: Term) -> Iterator[Sum | Generator]:
    """What sums and maxima of a term are over, those inside of others, too."""
    return (over for leaf in leaves(term) for over in leaf.overs)


def choices(*terms: Term) -> list[Opaque]:
    """Minima and maxima of two integers that sets of sums mention, each once."""
    found: dict[Opaque, None] = {}
    for term in terms:
        for over in overs(term):
            for monomial in over.domain.monomials:
                for atom in monomial:
                    if not isinstance(atom, Opaque) or atom.op not in ("min", "max"):
                        continue
                    if not any(v.name.startswith("$") for v in atom.variables):
                        found.setdefault(atom)
    return list(found)


def context(world: World, where: IndexSet, *terms: Term) -> IndexSet:
    """A set with the facts of all that terms mention outside of what they bind."""
    bound = frozenset(v for term in terms for x in overs(term) for v in x.variables)
    found = [
        monomial
        for term in terms
        for integer in integers(term)
        for monomial in integer.terms
        if monomial and not any(a.variables & bound for a in monomial)
    ]
    for term in terms:
        for over in overs(term):
            mine = over.domain.monomials
            found += [m for m in mine if not any(a.variables & bound for a in m)]
    return world.close(where) & world.facts(tuple(dict.fromkeys(found)))
