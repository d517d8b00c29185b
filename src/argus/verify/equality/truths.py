"""Comparisons of data that are the same truth, as one, and what is cut of data alike.

What a kernel and its specification compare with a number, or cut to a whole one, may
be one sum in two forms (a step that is taken before a loop, and the rest). Where both
terms are shown to be equal wherever a value is stored, what is made of them is the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from argus.terms import (
    Atom,
    IndexSet,
    Integer,
    Term,
    Truncated,
    Truth,
    Value,
    World,
    replace,
)
from argus.verify.equality.mentioned import integers, overs
from argus.verify.equality.needed import needed
from argus.verify.equality.same import same, within

__all__ = ["alike"]

_Made: TypeAlias = Truth | Truncated
_ROUNDS = 4
"""How deep truths may stand in terms of which others speak."""


def alike(
    world: World, where: IndexSet, value: Value, wanted: Value
) -> tuple[IndexSet, Value]:
    """A set and a value with the truths of another value in place of equal ones.

    Cases of the value that are elsewhere are left out, with what they compare.
    """
    value = _within(world, where, value)
    for _ in range(_ROUNDS):
        theirs = _truths(wanted)
        mine = [t for t in {**_in_set(where), **_truths(value)} if t not in theirs]
        # What speaks of others is compared when those have been replaced.
        least = min((t.height for t in mine), default=0)
        found: dict[Atom, Integer] = {
            truth: Integer.atom(other)
            for truth in mine
            if truth.height == least
            and (other := _equal(world, where, truth, list(theirs))) is not None
        }
        if not found:
            break
        value = replace(world, value, lambda leaf: None, atoms=found)
        where = replace(world, Value.truth(where), lambda leaf: None, atoms=found).where
    return where, value


def _within(world: World, where: IndexSet, value: Value) -> Value:
    """A value where a set holds: cases that are somewhere in it, and what they compare.

    What was a choice elsewhere (of what is loaded beyond an edge) compares data on
    which nothing depends here.
    """
    if value.kind == "truth":
        return value
    cases = ((needed(world, where & held), x) for held, x in value.cases)
    return Value(value.kind, tuple(case for case in cases if not case[0].is_nothing))


def _equal(
    world: World, where: IndexSet, truth: _Made, others: list[_Made]
) -> _Made | None:
    """Another truth that is the same wherever a set holds."""
    kind = truth.height, _operation(truth)
    alike = [o for o in others if (o.height, _operation(o)) == kind]
    here = world.close(where)
    mine = _term(world, here, truth)
    # Which of them it is is often plain; that it is one of the others is never.
    alike.sort(key=lambda other: _term(world, here, other) != mine)
    return next((o for o in alike if _same(world, where, truth, o)), None)


def _term(world: World, here: IndexSet, made: _Made) -> Term:
    assert isinstance(made.term, Term)
    return within(world, made.term, here)


def _same(world: World, where: IndexSet, one: _Made, other: _Made) -> bool:
    assert isinstance(one.term, Term)
    assert isinstance(other.term, Term)
    return same(world, where, one.term, other.term) is None


def _operation(made: _Made) -> str:
    return made.op if isinstance(made, Truth) else "cut"


def _truths(value: Value) -> dict[_Made, None]:
    """Truths in the conditions and terms of a value, that speak of nothing bound."""
    if value.kind == "truth":
        return _in_set(value.where)
    found: dict[_Made, None] = {}
    for held, x in value.cases:
        found |= _in_set(held)
        if isinstance(x, Term):
            for over in overs(x):
                found |= _in_set(over.domain)
            for integer in integers(x):
                found |= dict.fromkeys(_of(integer.atoms()))
        else:
            found |= dict.fromkeys(_of(x.atoms()))
    return found


def _in_set(where: IndexSet) -> dict[_Made, None]:
    return dict.fromkeys(_of(atom for m in where.monomials for atom in m))


def _of(atoms: Iterable[Atom]) -> Iterator[_Made]:
    for atom in atoms:
        if any(v.name.startswith("$") for v in atom.variables):
            continue
        if isinstance(atom, Truth | Truncated):
            yield atom
        for argument in atom.arguments:
            yield from _of(argument.atoms())
