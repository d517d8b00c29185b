"""Maxima and minima that a loop carries, and the places of these.

Of ``c' = max(c, g)``: ``c(J) = max(c(0), g(i) over 0 <= i < J)``, by induction over J.
"""

from __future__ import annotations

from functools import partial

from argus.terms import (
    MINUS_INFINITY,
    Integer,
    Max,
    Value,
    apply,
    cast,
    leaf_term,
    reduce,
)
from argus.terms.integers import Applied, Opaque, Operation, variable_of
from argus.terms.maxima import maximum_of_generators
from argus.terms.opening import Closing
from argus.verify.denotation.dependence import CARRIED, carried_in
from argus.verify.denotation.known_forms import Cases, KnownForms
from argus.verify.denotation.places import Gained, place_of_extreme
from argus.verify.denotation.rescaling import Form, Recurrence
from argus.verify.denotation.state import integers

__all__ = ["extreme", "place", "whole_extreme"]


def extreme(known: KnownForms, one: Recurrence) -> Form | None:
    """A maximum, or a minimum: the negative of a maximum of negatives."""
    for sign in (1, -1):
        gained = _gained(known, one, sign)
        if gained is not None:
            return _largest(known, one.init, gained, sign)
    return None


def whole_extreme(known: KnownForms, one: Recurrence) -> Form | None:
    """The same of whole numbers, which are cut to whole ones again."""
    if one.yielded.kind != "integer" or one.init.kind != "integer":
        return None
    world, first = known.world, cast(known.world, one.init, "real")
    operations: tuple[tuple[Operation, int], ...] = (("max", 1), ("min", -1))
    for op, sign in operations:
        gained = _gained_whole(known, one, op, sign)
        if gained is not None:
            form = _largest(known, first, gained, sign)
            return lambda at: cast(world, form(at), "integer")
    return None


def _largest(known: KnownForms, first: Value, gained: Cases, sign: int) -> Form:
    world, j = known.world, known.counter
    body = known.closed(Value("real", tuple(gained)), Integer.atom(j))

    def form(at: Integer) -> Value:
        with Closing(world, Value.free_variables) as closed:
            i = world.opened("i", Integer.of(0), at)
            each = world.substitute(body, {j: i})
            most = closed(reduce(world, "max", (variable_of(i),), each))
        if sign > 0:
            return apply(world, "maximum", first, most)
        return apply(world, "minimum", first, apply(world, "neg", most))

    return form


def place(known: KnownForms, one: Recurrence) -> Form | None:
    """The place of an extreme that is carried, too: see `places.py`."""
    if one.yielded.kind != "integer":
        return None
    others: dict[str, tuple[Recurrence, Gained]] = {}
    for name in carried_in(one.yielded) - {one.name}:
        best = known.found.get(name)
        if best is None or best.yielded.kind != "real":
            return None
        if len(best.axes) == len(one.axes):
            others[name] = best, partial(_gained, known, best)
    return place_of_extreme(known.world, known.counter, one, others)


def _gained(known: KnownForms, one: Recurrence, sign: int) -> Cases | None:
    """What is compared with the carried value in an iteration."""
    me = leaf_term(one.leaf).scaled(sign)
    cases: Cases = []
    some = False
    for where, term in one.yielded.terms:
        if one.name in carried_in(where):
            return None
        if term.scaled(sign) == me:
            cases.append((where, MINUS_INFINITY))
            continue
        if term.undefined is not None:  # whatever it is compared with
            cases.append((where, term))
            continue
        leaf = term.scaled(sign).single
        if not isinstance(leaf, Max):
            return None
        rest = [g for g in leaf.generators if g.body != me or g.variables]
        mine = [g for g in leaf.generators if g not in rest]
        if len(mine) != 1 or not mine[0].domain.is_universe or not rest:
            return None
        other = maximum_of_generators(known.world, rest)
        names = carried_in(other)
        if one.name in names or not known.has(names):
            return None
        cases.append((where, other))
        some = True
    return cases if some else None


def _gained_whole(
    known: KnownForms, one: Recurrence, op: Operation, sign: int
) -> Cases | None:
    """What is compared with a whole number that is carried, times a sign."""
    me = Integer.atom(Applied(CARRIED + one.name, integers(one.axes)))
    cases: Cases = []
    some = False
    for where, x in one.yielded.integers:
        if one.name in carried_in(where):
            return None
        if x == me:
            cases.append((where, MINUS_INFINITY))
            continue
        atom = x.single
        if not isinstance(atom, Opaque) or atom.op != op or me not in atom.args:
            return None
        (other,) = [y for y in atom.args if y != me]
        gained = cast(known.world, Value.whole(other), "real")
        names = carried_in(gained)
        if one.name in names or not known.has(names):
            return None
        cases += [(where & held, term.scaled(sign)) for held, term in gained.terms]
        some = True
    return cases if some else None
