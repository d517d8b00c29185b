"""Loops of which the first iteration is another one than the others.

    if n == 0:
        best = m
    else:
        best = ag.maximum(best, m)

What such a loop carries is what its first iteration makes, and from there on a
recurrence without that case: c(0) is what it was before the loop, and c(J) for J >= 1
is c'(J - 1) of the loop that begins with c(1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argus.terms import Integer, Unknown, Value, Variable, World
from argus.verify.denotation.cases import chosen, within
from argus.verify.denotation.dependence import carried_in
from argus.verify.denotation.known_forms import KnownForms
from argus.verify.denotation.rescaling import Form, Recurrence

__all__ = ["after_first", "begun"]

_FIRST = Integer.of(0)


def begun(
    world: World,
    counter: Variable,
    found: Mapping[str, Recurrence | Unknown],
    *,
    anew: bool = False,
) -> dict[str, Recurrence | Unknown] | None:
    """What the iterations after the first make; None where that is like the others.

    ``anew``: or where what it makes depends on what was before the loop.
    """
    mine = [r for r in found.values() if isinstance(r, Recurrence)]
    if not any(_begins(world, counter, one, anew) for one in mine):
        return None
    before = KnownForms(world, counter, found)
    before.solved = {r.name: _constant(r.init) for r in mine}
    made: dict[str, Recurrence | Unknown] = dict(found)
    for one in mine:
        try:
            init = before.closed(_at(world, counter, one.yielded, _FIRST), _FIRST)
            rest = _at(world, counter, one.yielded, Integer.atom(counter) + 1)
        except Unknown as why:
            made[one.name] = why
            continue
        made[one.name] = replace(one, init=init, yielded=rest)
    return made


def after_first(world: World, one: Recurrence, rest: Form) -> Form:
    """The value in an iteration, from that of the loop without its first one."""

    def form(at: Integer) -> Value:
        none = world.compare(at, "<=", 0)
        return chosen(world, [(none, one.init), (~none, rest(at - 1))])

    return form


def _constant(value: Value) -> Form:
    return lambda _: value


def _begins(world: World, counter: Variable, one: Recurrence, anew: bool) -> bool:
    """Whether a value has a case of the first iteration alone.

    ``anew``: one that does not depend on the value before.
    """
    first = world.compare(Integer.atom(counter), "==", 0)
    return any(
        counter in where.variables()
        and world.is_subset(where, first)
        and not (anew and one.name in carried_in(value))
        for where, value in one.yielded.cases
    )


def _at(world: World, counter: Variable, value: Value, at: Integer) -> Value:
    """A value in another iteration, without cases that it does not have."""
    made = world.substitute(value, {counter: at})
    return within(world, made, world.compare(Integer.atom(counter), ">=", 0))
