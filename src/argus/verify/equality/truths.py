"""Comparisons of data that are the same truth, as one.

What a kernel and its specification compare with a number may be one sum in two forms (a
step that is taken before a loop, and the rest). Where both terms are shown to be equal
wherever a value is stored, their truths are, and stand for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from argus.terms import Atom, IndexSet, Integer, Term, Truth, Value, World, replace
from argus.verify.equality.mentioned import integers, overs
from argus.verify.equality.same import same, within

__all__ = ["alike"]

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
    cases = ((_needed(world, where & held), x) for held, x in value.cases)
    return Value(value.kind, tuple(case for case in cases if not case[0].is_nothing))


def _needed(world: World, where: IndexSet) -> IndexSet:
    """A set without truths that it does not depend on; nothing if it is empty."""
    if world.is_empty(where):
        return IndexSet.nothing
    for truth in _in_set(where):
        number = Integer.atom(truth)
        bounds = world.compare(number, ">=", 0) & world.compare(number, "<=", 1)
        rest = where.without([world.space.name((truth,))])
        if (rest & bounds).same(where & bounds):
            where = rest
    return where


def _equal(
    world: World, where: IndexSet, truth: Truth, others: list[Truth]
) -> Truth | None:
    """Another truth that is the same wherever a set holds."""
    alike = [o for o in others if o.op == truth.op and o.height == truth.height]
    here = world.close(where)
    mine = _term(world, here, truth)
    # Which of them it is is often plain; that it is one of the others is never.
    alike.sort(key=lambda other: _term(world, here, other) != mine)
    return next((o for o in alike if _same(world, where, truth, o)), None)


def _term(world: World, here: IndexSet, truth: Truth) -> Term:
    assert isinstance(truth.term, Term)
    return within(world, truth.term, here)


def _same(world: World, where: IndexSet, one: Truth, other: Truth) -> bool:
    assert isinstance(one.term, Term)
    assert isinstance(other.term, Term)
    return same(world, where, one.term, other.term) is None


def _truths(value: Value) -> dict[Truth, None]:
    """Truths in the conditions and terms of a value, that speak of nothing bound."""
    if value.kind == "truth":
        return _in_set(value.where)
    found: dict[Truth, None] = {}
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


def _in_set(where: IndexSet) -> dict[Truth, None]:
    return dict.fromkeys(_of(atom for m in where.monomials for atom in m))


def _of(atoms: Iterable[Atom]) -> Iterator[Truth]:
    for atom in atoms:
        if isinstance(atom, Truth) and not any(
            v.name.startswith("$") for v in atom.variables
        ):
            yield atom
