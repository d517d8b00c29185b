"""Where integers stand in a term, in an order that does not depend on names.

Bound variables are named by the first place at which they are used. Two terms that
differ in names only have the same places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from argus.terms.integers import Atom, Integer, Opaque, Truncated, Variable
from argus.terms.leaves import Call, Carried, Element, Generated, Leaf, Sum, Whole
from argus.terms.term import Term

Place: TypeAlias = tuple[str, ...]
"""The way from the root: kinds of leaves, names of tensors, numbers of arguments."""


def positions(term: Term, hidden: frozenset[Variable]) -> list[tuple[Place, Integer]]:
    """The integers in a term, and those inside them, outermost first.

    Ordered by place; at one place by their text, in which hidden variables are blank,
    and by their constants: of ``k`` and ``k + 1`` the first is first, and is it still
    when either is called ``k``.
    """
    found = list(_in_term(term, ()))
    keyed = [(place, *_ordering(value, hidden), value) for place, value in found]
    keyed.sort(key=lambda item: item[:3])
    return [(place, value) for place, _, _, value in keyed]


def _ordering(value: Integer, hidden: frozenset[Variable]) -> tuple[str, int]:
    return masked(value, hidden, constant=False), value.terms.get((), 0)


def masked(
    value: Integer, hidden: frozenset[Variable], *, constant: bool = True
) -> str:
    """The text of an integer, or all but its constant; some variables are blank."""
    parts = sorted(
        [
            f"{c}*{'*'.join(sorted([_masked_atom(a, hidden) for a in monomial]))}"
            for monomial, c in value.terms.items()
            if monomial or constant
        ]
    )
    return "+".join(parts)


def _masked_atom(atom: Atom, hidden: frozenset[Variable]) -> str:
    if atom in hidden:
        return "_"
    if not atom.variables & hidden:
        return atom.key
    inner = ",".join(masked(a, hidden) for a in atom.arguments)
    kind = atom.op if isinstance(atom, Opaque) else type(atom).__name__
    return f"{kind}({inner})"


def _in_term(term: Term, place: Place) -> Iterator[tuple[Place, Integer]]:
    for part in term.parts:
        for leaf, _ in part.factors:
            yield from _in_leaf(leaf, place)
        if part.exponent is not None:
            yield from _in_term(part.exponent, (*place, "exp"))


def _in_leaf(leaf: Leaf, place: Place) -> Iterator[tuple[Place, Integer]]:
    match leaf:
        case Element(tensor=name) | Carried(name=name):
            for number, index in enumerate(leaf.indices):
                yield from _in_integer(index, (*place, "x", name, str(number)))
        case Whole():
            yield from _in_integer(Integer.atom(leaf.atom), (*place, "whole"))
        case Sum() | Generated():
            kind = "sum" if isinstance(leaf, Sum) else leaf.function
            for inner in leaf.terms:
                yield from _in_term(inner, (*place, kind))
        case _:
            kind = leaf.function if isinstance(leaf, Call) else "base"
            for number, inner in enumerate(leaf.terms):
                yield from _in_term(inner, (*place, kind, str(number)))


def _in_integer(value: Integer, place: Place) -> Iterator[tuple[Place, Integer]]:
    yield place, value
    for atom in value.atoms():
        for number, inner in enumerate(atom.arguments):
            yield from _in_integer(inner, (*place, type(atom).__name__, str(number)))
        if isinstance(atom, Truncated) and isinstance(atom.term, Term):
            yield from _in_term(atom.term, (*place, "int"))
