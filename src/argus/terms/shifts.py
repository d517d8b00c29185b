"""Whole numbers of which bits are moved: products with powers of two, and quotients."""

from __future__ import annotations

from collections.abc import Iterator

from argus.terms.apply import apply
from argus.terms.cast import to_integer
from argus.terms.integers import Integer
from argus.terms.sets import IndexSet
from argus.terms.unknown import Unknown
from argus.terms.value import Value, joined
from argus.terms.world import World

__all__ = ["shifted"]


def shifted(
    world: World,
    value: Value,
    amount: Value,
    width: int,
    *,
    left: bool,
    beyond: bool,
    where: IndexSet = IndexSet.universe,
) -> Value:
    """``value << amount`` without an end to the left, or ``value >> amount``.

    ``where``: where it is asked for. ``beyond``: an amount that is none of the
    ``width`` places of a bit leaves nothing, or the sign of a number of so many bits.
    Raises Unknown for one that may be none, if not.
    """
    if amount.kind == "real":
        raise Unknown("a shift by what is no whole number")
    name = "mul" if left else "floordiv"
    parts = [
        (held, _beyond(world, value, width, left))
        if number is None
        else (held, apply(world, name, value, _power(number)))
        for there, count in to_integer(world, amount).integers
        for held, number in _amounts(world, there, where, count, width, beyond)
    ]
    return parts[0][1] if len(parts) == 1 else joined(world, parts)


def _beyond(world: World, value: Value, width: int, left: bool) -> Value:
    if left:
        return Value.whole(0)
    return apply(world, "floordiv", value, _power(width))


def _power(number: int) -> Value:
    return Value.whole(1 << number)


def _amounts(
    world: World,
    there: IndexSet,
    where: IndexSet,
    count: Integer,
    width: int,
    beyond: bool,
) -> Iterator[tuple[IndexSet, int | None]]:
    """The numbers that an amount is, each with where it is that; None: no place."""
    constant = count.constant
    if constant is not None and 0 <= constant < width:
        yield there, constant
        return
    outside = world.compare(count, "<", 0) | world.compare(count, ">=", width)
    if not world.is_empty(there & where & outside):
        if not beyond:
            raise Unknown(f"a shift by {count}, which may be no place of a bit")
        yield there & outside, None
    for number in range(width):
        held = there & world.compare(count, "==", number)
        if not world.is_empty(held & where):
            yield held, number
