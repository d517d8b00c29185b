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
    where: IndexSet = IndexSet.universe,
) -> Value:
    """``value << amount`` without an end to the left, or ``value >> amount``.

    ``where``: where it is asked for. Raises Unknown for an amount that is not shown to
    be one of the ``width`` places of a bit there.
    """
    if amount.kind == "real":
        raise Unknown("a shift by what is no whole number")
    parts = [
        (held, apply(world, "mul" if left else "floordiv", value, _power(number)))
        for there, count in to_integer(world, amount).integers
        for held, number in _amounts(world, there, where, count, width)
    ]
    return parts[0][1] if len(parts) == 1 else joined(world, parts)


def _power(number: int) -> Value:
    return Value.whole(1 << number)


def _amounts(
    world: World, there: IndexSet, where: IndexSet, count: Integer, width: int
) -> Iterator[tuple[IndexSet, int]]:
    """The numbers that an amount is, each with where it is that."""
    constant = count.constant
    if constant is not None and 0 <= constant < width:
        yield there, constant
        return
    outside = world.compare(count, "<", 0) | world.compare(count, ">=", width)
    if not world.is_empty(there & where & outside):
        raise Unknown(f"a shift by {count}, which may be no place of a bit")
    for number in range(width):
        held = there & world.compare(count, "==", number)
        if not world.is_empty(held & where):
            yield held, number
