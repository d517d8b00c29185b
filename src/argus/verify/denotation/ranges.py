"""Ranges of whole numbers that wrap around soon.

Those of 8 and 16 bits, those without sign, and those of types that do not hold what is
converted to them.

What a table holds is in the range of its type. What is made of such numbers wraps
around (`argus.terms.narrowing`).
"""

from __future__ import annotations

from argus.ir.dtypes import DType
from argus.ir.memory import GlobalTensor
from argus.terms import IndexSet, Integer, World

__all__ = ["assume_range", "range_of"]


def range_of(dtype: DType, source: DType | None = None) -> tuple[int, int] | None:
    """The least and the greatest number; None where it is not asked.

    ``source``: the type from which numbers are converted.
    """
    if dtype.kind != "int":
        return None
    narrows = source is not None and (
        not dtype.holds(source) if source.kind == "int" else source.bits > dtype.bits
    )
    asked = dtype.bits < 32 or not dtype.signed or narrows
    return dtype.integers if asked else None


def assume_range(world: World, tensor: GlobalTensor) -> None:
    """Tell a world what the entries of a tensor can be."""
    if tensor.dtype.kind == "int":
        world.tables[tensor.name] = tensor.dtype.integers
    found = range_of(tensor.dtype)
    if found is None:
        return
    low, high = found

    def fact(_: tuple[Integer, ...], entry: Integer) -> IndexSet:
        return world.compare(entry, ">=", low) & world.compare(entry, "<=", high)

    world.assume_entries(tensor.name, fact)
