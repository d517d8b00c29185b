"""Steps of a loop whose sum over earlier iterations has a form of its own."""

from __future__ import annotations

from collections.abc import Sequence

from argus.terms import IndexSet, Integer, Opaque, World
from argus.verify.denotation.trips import Trips

__all__ = ["cut_short", "lasts"]

Steps = Sequence[tuple[IndexSet, Integer]]
"""What an iteration adds to what it carries, by cases."""


def cut_short(
    world: World, here: IndexSet, trips: Trips, steps: Steps
) -> tuple[Integer, int] | None:
    """``(n, c)`` where iteration j adds ``min(c, n - c*j)``, the last one less.

    The sum of those before j is ``min(c*j, n)``: as long as something is left, all were
    whole. ``here``: where the loop stands.
    """
    atom = steps[0][1].single if len(steps) == 1 else None
    if not isinstance(atom, Opaque) or atom.op != "min":
        return None
    if trips.counter is None or trips.count is None:
        return None
    left, size = atom.args[0], atom.args[1].constant
    if size is None:
        left, size = atom.args[1], atom.args[0].constant
    if size is None or size < 1:
        return None
    counter = Integer.atom(trips.counter)
    whole = left + counter * size
    if trips.counter in whole.variables():
        return None
    runs = world.compare(counter, ">=", 0) & world.compare(counter, "<", trips.count)
    none_left = runs & world.compare(left, "<=", 0)
    none = world.compare(whole, "<", 0)
    return (whole, size) if world.is_empty(here & (none | none_left)) else None


def lasts(world: World, trips: Trips, steps: Steps) -> tuple[IndexSet, Integer] | None:
    """A case that, where it holds in an iteration, held in all before; its step."""
    counter = trips.counter
    if counter is None:
        return None
    j = Integer.atom(counter)
    for where, step in steps:
        if step.constant == 0:
            continue
        following = world.substitute(where, {counter: j + 1})
        following = following & world.compare(j, ">=", 0)
        if counter not in step.variables() and world.is_subset(following, where):
            return where, step
    return None
