"""What a term speaks of: atoms, whose facts hold wherever it is evaluated, and sums."""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms import (
    Base,
    Call,
    Carried,
    Constant,
    Element,
    Generated,
    IndexSet,
    Infinity,
    Integer,
    Leaf,
    Opaque,
    Scalar,
    Sum,
    Term,
    Undefined,
    Whole,
    World,
)

__all__ = ["choices", "context", "leaves"]


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
    for leaf in leaves(term):
        match leaf:
            case Element() | Carried():
                yield from leaf.indices
            case Whole():
                yield Integer.atom(leaf.atom)
            case (
                Scalar() | Constant() | Infinity() | Undefined() | Call() | Base()
                | Sum() | Generated()
            ):  # fmt: skip
                pass  # it has none of its own
            case _:
                raise TypeError(f"a leaf of a new kind: {leaf}")


def domains(term: Term) -> Iterator[tuple[Leaf, IndexSet, int]]:
    """Sets that sums and maxima of a term are over, those inside of others, too.

    With the leaf, and the number of the generator in a maximum.
    """
    for leaf in leaves(term):
        match leaf:
            case Sum():
                yield leaf, leaf.domain, 0
            case Generated():
                for number, generator in enumerate(leaf.generators):
                    yield leaf, generator.domain, number
            case (
                Scalar() | Constant() | Infinity() | Undefined() | Call() | Base()
                | Element() | Carried() | Whole()
            ):  # fmt: skip
                pass  # it is over no set
            case _:
                raise TypeError(f"a leaf of a new kind: {leaf}")


def choices(*terms: Term) -> list[Opaque]:
    """Minima and maxima of two integers that sets of sums mention, each once."""
    found: dict[Opaque, None] = {}
    for term in terms:
        for _, domain, _ in domains(term):
            for monomial in domain.monomials:
                for atom in monomial:
                    if not isinstance(atom, Opaque) or atom.op not in ("min", "max"):
                        continue
                    if not any(v.name.startswith("$") for v in atom.variables):
                        found.setdefault(atom)
    return list(found)


def context(world: World, where: IndexSet, *terms: Term) -> IndexSet:
    """A set with the facts of all that terms mention outside of what they bind."""
    bound = frozenset(
        variable for term in terms for leaf in leaves(term) for variable in _bound(leaf)
    )
    found = [
        monomial
        for term in terms
        for integer in integers(term)
        for monomial in integer.terms
        if monomial and not any(a.variables & bound for a in monomial)
    ]
    for term in terms:
        for _, domain, _ in domains(term):
            found += [
                m for m in domain.monomials if not any(a.variables & bound for a in m)
            ]
    return world.close(where) & world.facts(tuple(dict.fromkeys(found)))


def _bound(leaf: Leaf) -> Iterator[object]:
    match leaf:
        case Sum():
            yield from leaf.variables
        case Generated():
            for generator in leaf.generators:
                yield from generator.variables
        case (
            Scalar() | Constant() | Infinity() | Undefined() | Call() | Base()
            | Element() | Carried() | Whole()
        ):  # fmt: skip
            pass
        case _:
            raise TypeError(f"a leaf of a new kind: {leaf}")
