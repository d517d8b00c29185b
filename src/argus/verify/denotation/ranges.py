"""Ranges of whole numbers that wrap around soon: those of 8 bits, and 64 cut to 32.

What a table holds is in the range of its type, and so is what is made of such numbers:
`argus.verify.denotation.registers` asks for it, and claims nothing where it is not.
"""

from __future__ import annotations

from argus.ir.dtypes import DType
from argus.ir.memory import GlobalTensor
from argus.terms import IndexSet, Integer, World

__all__ = ["assume_range", "range_of"]

_RANGES = {"i8": (-128, 128), "u8": (0, 256)}
_CUT = (-(1 << 31), 1 << 31)


def range_of(dtype: DType, source: DType | None = None) -> tuple[int, int] | None:
    """The least number and the first that is too large; None where it is not asked.

    ``source``: the type from which numbers are converted.
    """
    if dtype.name == "i32" and source is not None and source.name == "i64":
        return _CUT
    return _RANGES.get(dtype.name)


def assume_range(world: World, tensor: GlobalTensor) -> None:
    """Tell a world what the entries of a tensor can be."""
    found = range_of(tensor.dtype)
    if found is None:
        return
    low, high = found

    def fact(_: tuple[Integer, ...], entry: Integer) -> IndexSet:
        return world.compare(entry, ">=", low) & world.compare(entry, "<", high)

    world.assume_entries(tensor.name, fact)
