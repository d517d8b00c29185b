"""The place of an extreme that a loop carries beside it.

    x = (tile of iteration j)
    m, a = max(x), argmax(x) + offset
    at = a if m > best else at
    best = max(best, m)

Before iteration J, ``at`` is the first place of the largest number of all iterations
before, where they have one, else what it was before the loop. For: ``best`` begins as
minus infinity and is then the largest number so far, so that ``at`` changes where an
iteration has a larger one, and keeps the earlier of two that are equal. Places grow
from iteration to iteration (shown here): the earlier one is the smaller one.

``best`` and ``at`` may begin as those of a first tile, or of one element, whose places
are no larger than those of the loop: these are an iteration before the others.

An iteration may have one number, x, of which the place is that of the iteration:

    at = j if x > best else at
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.terms import (
    MINUS_INFINITY,
    Applied,
    Carried,
    Fold,
    IndexSet,
    Integer,
    Term,
    Truncated,
    Value,
    Variable,
    World,
    leaf_term,
    union,
)
from argus.terms.cast import truncated
from argus.terms.folds import fold
from argus.terms.integers import variable_of
from argus.terms.maxima import Source, maximum_over, opened
from argus.verify.denotation.cases import chosen
from argus.verify.denotation.dependence import CARRIED, carried_in
from argus.verify.denotation.rescaling import Form, Recurrence
from argus.verify.denotation.state import integers

__all__ = ["Gained", "place_of_extreme"]

Gained = Callable[[int], list[tuple[IndexSet, Term]] | None]
"""The number of an iteration, by cases, of which a carried value is the largest so far
(1), or its negative if it is the smallest (-1); None where it is neither."""


@dataclass(frozen=True)
class _Family:
    """Numbers of an iteration: terms where their sets hold. Places add ``offset``."""

    variable: Variable
    parts: tuple[tuple[IndexSet, Term], ...]
    offset: Integer

    @property
    def domain(self) -> IndexSet:
        """Where there is a number."""
        return union(s for s, _ in self.parts)

    @property
    def sources(self) -> list[Source]:
        """Variables, sets and terms."""
        return [([self.variable], s, x) for s, x in self.parts]

    def at(self, world: World, place: Integer, env: dict[Variable, Integer]) -> _Family:
        """The numbers of another iteration, by their place."""
        offset = world.substitute(self.offset, env)
        both = {**env, self.variable: place - offset}
        parts = tuple(
            (world.substitute(s, both), world.substitute(x, both))
            for s, x in self.parts
        )
        return _Family(variable_of(place), parts, offset)


def place_of_extreme(
    world: World,
    counter: Variable,
    one: Recurrence,
    others: dict[str, tuple[Recurrence, Gained]],
) -> Form | None:
    """The form of such a place; ``others``: what it may be the place of."""
    me = Integer.atom(Applied(CARRIED + one.name, integers(one.axes)))
    taken = [(s, x) for s, x in one.yielded.integers if x != me]
    if len({x for _, x in taken}) != 1 or one.init.kind != "integer":
        return None
    family = _family(world, taken[0][1])
    where = union(s for s, _ in taken)
    if family is None:
        turns = _of_turns(world, counter, one, (where, taken[0][1]), others)
        return None if turns is None else _form(world, counter, one.init, *turns)
    largest = maximum_over(world, family.sources)
    for best, gained in others.values():
        for sign in (1, -1):
            old = leaf_term(Carried(best.name, integers(one.axes))).scaled(sign)
            grows = world.truth_of("gt", largest - old)
            if not world.equal_sets(where, world.told(grows, True)):
                continue
            axes = dict(zip(one.axes, integers(best.axes), strict=True))
            begins = _beginning(world, one, best, sign, family)
            cases = None if begins is None else gained(sign)
            term = world.substitute(largest, axes)
            if begins is None or cases is None or any(x != term for _, x in cases):
                continue
            if world.is_subset(IndexSet.universe, union(s for s, _ in cases)):
                return _form(world, counter, one.init, family, begins)
    return None


def _beginning(
    world: World, one: Recurrence, best: Recurrence, sign: int, family: _Family
) -> _Family | None:
    """The numbers of which both begin as extreme and place: none, a tile, or one."""
    if _begins(best, sign):
        return _Family(family.variable, (), Integer.of(0))
    if len(one.init.integers) != 1:
        return None
    place = one.init.integer
    axes = dict(zip(best.axes, integers(one.axes), strict=True))
    values = [
        (world.substitute(s, axes), world.substitute(x, axes).scaled(sign))
        for s, x in best.init.terms
    ]
    tile = _family(world, place)
    if tile is not None:
        largest = maximum_over(world, tile.sources)
        return tile if all(x == largest for _, x in values) else None
    p = world.fresh("p")
    here, there = world.compare(p, "==", place), {variable_of(p): place}
    bodies = [x for _, x in family.at(world, p, {}).parts]
    parts: list[tuple[IndexSet, Term]] = []
    for where, value in values:
        body = next((x for x in bodies if world.substitute(x, there) == value), None)
        if body is None:
            return None
        parts.append((where & here, body))
    return _Family(variable_of(p), tuple(parts), Integer.of(0))


def _begins(best: Recurrence, sign: int) -> bool:
    """Whether it is larger (smaller) than no number before the loop."""
    return all(x.infinite == -sign for _, x in best.init.terms)


def _of_turns(
    world: World,
    counter: Variable,
    one: Recurrence,
    taken: tuple[IndexSet, Integer],
    others: dict[str, tuple[Recurrence, Gained]],
) -> tuple[_Family, _Family] | None:
    """One number in each iteration, at a place that grows with the counter.

    Also the numbers before the loop.
    """
    where, place = taken
    step = place.coefficient(counter)
    if step is None or step < 1:
        return None
    rest = place - Integer.atom(counter) * step
    if counter in rest.variables():
        return None
    p = world.fresh("p")
    turn = {counter: world.quotient(p - rest, step)}
    for best, gained in others.values():
        axes = dict(zip(best.axes, integers(one.axes), strict=True))
        for sign in (1, -1):
            cases = gained(sign)
            if cases is None or any(carried_in(x) for _, x in cases):
                continue
            old = leaf_term(Carried(best.name, integers(one.axes))).scaled(sign)
            own = [
                (world.substitute(s, axes), world.substitute(x, axes))
                for s, x in cases
                if x != MINUS_INFINITY  # is larger than nothing
            ]
            larger = union(
                s & world.told(world.truth_of("gt", x - old), True) for s, x in own
            )
            if world.equal_sets(where, larger):
                here = world.compare(p, "==", place)
                parts = [(s & here, world.substitute(x, turn)) for s, x in own]
                family = _Family(variable_of(p), tuple(parts), Integer.of(0))
                begins = _beginning(world, one, best, sign, family)
                return None if begins is None else (family, begins)
    return None


def _family(world: World, place: Integer) -> _Family | None:
    """What a place is the first of, without what is added to it."""
    for atom in place.atoms():
        if not isinstance(atom, Truncated) or not isinstance(atom.term, Term):
            continue
        leaf = atom.term.single
        if not isinstance(leaf, Fold) or leaf.function != "argmax":
            continue
        offset = place - Integer.atom(atom)
        if atom in offset.atoms():
            return None
        parts: list[tuple[IndexSet, Term]] = []
        variable = world.fresh("p")
        for generator in leaf.generators:
            source = (generator.variables, generator.domain, generator.body)
            (((name,), domain, body),) = opened(world, [source])
            env = {name: variable}
            parts.append((world.substitute(domain, env), world.substitute(body, env)))
        return _Family(variable_of(variable), tuple(parts), offset)
    return None


def _form(
    world: World, counter: Variable, first: Value, family: _Family, begins: _Family
) -> Form | None:
    """The form, where places grow and the term does not depend on the iteration."""
    p, q = world.fresh("p"), world.fresh("q")
    i, j = world.fresh("i", 0), world.fresh("j", 0)
    early, late = family.at(world, p, {counter: i}), family.at(world, q, {counter: j})
    wrong = early.domain & late.domain & world.compare(i, "<", j)
    if not world.is_empty(wrong & world.compare(p, ">=", q)):
        return None
    if any(variable_of(i) in x.free_variables() for _, x in early.parts):
        return None
    before = begins.at(world, p, {})
    if not _comes_first(world, before, p, late, q):
        return None

    def form(at: Integer) -> Value:
        place, turn = world.fresh("p"), world.fresh("i", 0, at)
        found = family.at(world, place, {counter: turn})
        sources: list[Source] = []
        for own, body in found.parts:
            domain = world.project(world.close(own), [variable_of(turn)])
            sources.append(([variable_of(place)], domain, body))
        sources += begins.at(world, place, {}).sources
        domains = [domain for _, domain, _ in sources]
        some = world.project(union(domains), [variable_of(place)])
        if world.is_empty(some):
            return first
        whole = truncated(world, fold(world, "argmax", sources))
        return chosen(world, [(~some, first), (some, Value.whole(whole))])

    return form


def _comes_first(
    world: World, before: _Family, p: Integer, late: _Family, q: Integer
) -> bool:
    """Whether places p before the loop are less than those q in it.

    One place may be both, where it is one element.
    """
    same = {x for _, x in before.parts} == {
        world.substitute(x, {variable_of(q): p}) for _, x in late.parts
    }
    wrong = world.compare(p, ">" if same and len(before.parts) == 1 else ">=", q)
    return world.is_empty(before.domain & late.domain & wrong)
