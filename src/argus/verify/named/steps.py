"""Sets that change with a number only where a tile ends."""

from __future__ import annotations

from argus.terms import IndexSet, Integer, Variable, World

__all__ = ["granularity", "steps"]

_LARGE = 1 << 12
"""From here on no set is as it is for the first few tiles."""
_DIVISORS = (64, 32, 16, 8, 4, 2)


def granularity(world: World, number: Variable) -> int:
    """A number that is known to divide a size: it changes by multiples of that."""
    size = Integer.atom(number)
    for divisor in _DIVISORS:
        rest = world.remainder(size, divisor)
        if rest.constant == 0 or world.is_empty(world.compare(rest, "!=", 0)):
            return divisor
    return 1


def steps(
    world: World,
    where: IndexSet,
    number: Variable,
    tile: int,
    within: IndexSet = IndexSet.universe,
    by: int = 1,
) -> dict[Variable, int] | None:
    """A point at which a set changes with a number, if it does so where tiles end only.

    The set at ``number`` and that at ``number + by`` are the same wherever no tile of
    size ``tile`` ends (or begins: at a size, the last tile may be left out), and differ
    somewhere else. ``within``: where both are looked at. None where this is not shown.
    """
    if by >= tile:
        return None
    value = Integer.atom(number)
    after = world.substitute(where, {number: value + by})
    differing = ((where - after) | (after - where)) & within
    rest = world.remainder(value, tile)
    for residue in (tile - by, 0):
        at = world.compare(rest, "==", residue)
        if world.is_empty(differing - at):
            large = world.compare(value, ">=", _LARGE)
            return world.sample(differing & at & large) or world.sample(differing & at)
    return None
