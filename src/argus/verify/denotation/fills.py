"""Which fill of a slot a drain reads: the fill whose number it has.

A fill is what a role puts into a slot at once: between acquire and publish of a ring,
or one write to a stage of a buffer that turns. Drain n reads fill n, whichever role,
loop and iteration made it. So the fill's counter, an expression over the loops around
it, is set equal to n and solved for these loops.

    one counter       a fill has c*j + r for its loop's j: j = (n - r) / c
    digits            c is a product of trip counts: quotients and remainders by them
    loops alike       the drain stands in loops of its own whose counters give the same
                      number when they take the place of the fill's

The first two are all solutions in a block, or in one tile of a persistent loop. The
third is one. One is the only one if no two fills have one number: where the number
differs by a constant from a count of the fills that were made before (`Fill.counted`).

A solution exists where the loops' ranges and the branches around the fill admit it.
Where they leave part of the drains without a fill, the drain is Unknown. That the fill
is complete, and not yet overwritten, when it is read is shown by `argus.verify.order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.ir.memory import Ring, SharedAlloc
from argus.terms import IndexSet, Integer, Unknown, Value, Variable, World, union
from argus.verify.denotation.cases import chosen, same_value
from argus.verify.denotation.shared import found_in
from argus.verify.denotation.state import Context, Fill, Held, Write

__all__ = ["drained"]

Solution = dict[Variable, Integer]


@dataclass(frozen=True)
class _Found:
    """A fill, the iteration of it that a drain reads, and where that is so."""

    fill: Fill
    at: Solution
    where: IndexSet


def drained(
    context: Context,
    key: Ring | SharedAlloc,
    alloc: SharedAlloc,
    number: Integer,
    coords: Sequence[Integer],
) -> Value:
    """The element at coordinates of a buffer, in drain ``number``. Raises Unknown."""
    world, rest = context.world, context.state.where
    found: list[_Found] = []
    fills = context.earlier.fills.get(key, [])
    if key in context.earlier.unfilled:
        raise context.earlier.unfilled[key]
    if not fills:
        raise Unknown(f"which fill of `{key.name}` is read: none is known")
    for fill in fills:
        if alloc not in fill.writes:
            continue
        one = _solved(context, fill, number)
        if one is None:
            raise Unknown(f"which fill of `{key.name}` drain {number} reads")
        if not world.is_empty(one.where & context.state.where):
            found.append(one)
    for i, one in enumerate(found):
        for other in found[:i]:
            if not world.is_empty(one.where & other.where & context.state.where):
                raise Unknown(f"several fills of `{key.name}` have number {number}")
        rest = rest - one.where
    if not world.is_empty(rest):
        raise Unknown(f"drain {number} of `{key.name}` may have no fill")
    cases = [(f.where, _content(context, f, alloc, coords)) for f in found]
    return _merged(context, number, cases, found)


def _content(
    context: Context, found: _Found, alloc: SharedAlloc, coords: Sequence[Integer]
) -> Value:
    """What a fill puts at coordinates of a buffer, in the drain's terms."""
    writes = [_moved(context.world, w, found.at) for w in found.fill.writes[alloc]]
    where = context.state.where & found.where
    name = alloc.name
    return found_in(context, name, writes, None, coords, where, apart=True)


def _moved(world: World, write: Write, at: Solution) -> Write:
    if not at:
        return write
    held = write.held
    if isinstance(held, Held):
        held = Held(held.axes, world.substitute(held.value, at))
    return Write(
        world.substitute(write.stage, at),
        tuple(world.substitute(x, at) for x in write.origin),
        write.axes,
        write.shape,
        held,
        world.substitute(write.where, at),
    )


def _merged(
    context: Context,
    number: Integer,
    cases: list[tuple[IndexSet, Value]],
    found: Sequence[_Found],
) -> Value:
    """The cases, of which those that one formula says are one.

    Fills ahead of a loop are usually the loop's formula at an earlier iteration: then
    the formula holds for them, too.
    """
    world = context.world
    if len(cases) > 1 and found[-1].at:
        general, formula = cases[-1]
        left: list[tuple[IndexSet, Value]] = []
        for where, value in cases[:-1]:
            point = _point(context, where, number)
            if point is None:
                left.append((where, value))
                continue
            variable, at = point
            there = world.substitute(formula, {variable: at})
            here = where & context.state.where
            if same_value(world, there, value, here):
                general = general | where
            else:
                left.append((where, value))
        cases = [*left, (general, formula)]
    # Together the cases are all there are, so that the last is what the others leave.
    *first, (_, value) = cases
    rest = ~union(where for where, _ in first)
    return chosen(world, [*first, (rest, value)])


def _point(
    context: Context, where: IndexSet, number: Integer
) -> tuple[Variable, Integer] | None:
    """The loop counter of the drain that has one constant value in a set."""
    world = context.world
    inside = where & context.state.where
    for variable in reversed(context.state.scope):
        if number.coefficient(variable) not in (1, -1):
            continue
        sample = world.sample(inside)
        if sample is None or variable not in sample:
            return None
        value = Integer.of(sample[variable])
        same = world.compare(Integer.atom(variable), "==", value)
        if world.is_subset(inside, same):
            return variable, value
    return None


# --------------------------------------------------------------------- solving


def _solved(context: Context, fill: Fill, number: Integer) -> _Found | None:
    """The iteration in which a fill has a number, and where there is one."""
    world = context.world
    own = tuple(v for v in fill.scope if v not in context.common)
    if not fill.counted and any(v in context.tiles for v in fill.scope):
        return None  # the fill of another tile may have the number as well
    at = _alike(context, fill, own, number)
    if at is None:
        at = _digits(world, list(own), fill.number, number)
    if at is None:
        return None
    where = world.compare(world.substitute(fill.number, at), "==", number)
    where = where & world.substitute(fill.where, at)
    for variable in own:
        if variable.lower is not None:
            low = world.substitute(variable.lower, at)
            where = where & world.compare(at[variable], ">=", low)
        if variable.upper is not None:
            high = world.substitute(variable.upper, at)
            where = where & world.compare(at[variable], "<", high)
    return _Found(fill, at, where)


def _alike(
    context: Context, fill: Fill, own: tuple[Variable, ...], number: Integer
) -> Solution | None:
    """Loops of the drain, in order, whose counters take the place of the fill's."""
    if not fill.counted:
        return None
    theirs = [v for v in context.state.scope if v not in context.common]
    for first in range(len(theirs) - len(own) + 1):
        chosen_loops = theirs[first : first + len(own)]
        at = {v: Integer.atom(w) for v, w in zip(own, chosen_loops, strict=True)}
        if context.world.substitute(fill.number, at) == number:
            return at
    return None


def _digits(
    world: World, own: list[Variable], counter: Integer, number: Integer
) -> Solution | None:
    """All solutions of ``counter == number``, of counters in mixed radix.

    The innermost variable stands by itself in the counter, or times a constant if it is
    the only one; the others in multiples of its trip count.
    """
    moving = set(own)
    if not own:
        return {}
    for variable in reversed(own):
        step = counter.coefficient(variable)
        rest = counter - Integer.atom(variable) * (step or 0)
        if not step or variable in rest.variables():
            continue
        outer = [v for v in own if v != variable]
        if not rest.variables() & moving:
            if outer:
                return None
            difference = number - rest
            if step < 0:
                difference, step = -difference, -step
            return {variable: world.quotient(difference, step)}
        upper = variable.upper
        if step != 1 or variable.lower is None or variable.lower.constant != 0:
            continue
        if upper is None or upper.variables() & moving:
            continue
        fixed = _without(rest, moving)
        whole = rest - fixed
        high = world.quotient(whole, upper)
        if high * upper != whole:
            continue
        target = number - fixed
        found = _digits(world, outer, high, world.quotient(target, upper))
        if found is None:
            return None
        return {**found, variable: world.remainder(target, upper)}
    return None


def _without(value: Integer, variables: set[Variable]) -> Integer:
    """The part of an integer that does not depend on variables."""
    return Integer(
        {
            monomial: coefficient
            for monomial, coefficient in value.terms.items()
            if not any(atom.variables & variables for atom in monomial)
        }
    )
