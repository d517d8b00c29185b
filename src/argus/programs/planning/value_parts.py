"""Values that several launches write, each a part of its own.

A recurrence writes its states step by step; tensors that are put together lie in one,
and each is written there by the kernel that makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from argus.programs.tensors.recurrent_calls import RecurrentCall
from argus.programs.tensors.tensor_program import (
    JoinedPrimitive,
    ProgramValue,
    TorchPrimitive,
    WrittenPrimitive,
)


def parts_of(value: ProgramValue) -> tuple[int, ...]:
    """Where the parts of a value end that several launches write; () for another one.

    Element e belongs to the first part whose end is above ``e % ends[-1]``.
    """
    match value.made:
        case TorchPrimitive(call=RecurrentCall()):
            part = prod(value.shape[1:])
            return tuple(part * (n + 1) for n in range(value.shape[0]))
        case JoinedPrimitive(sizes=sizes, dim=dim):
            return tuple(n * value.strides[dim] for n in accumulate(sizes))
        case WrittenPrimitive(bounds=bounds):
            return bounds
        case _:
            return ()


def part_at(value: ProgramValue, start: int) -> int:
    """The part of a value that an element belongs to; 0 of a whole or empty one."""
    ends = parts_of(value)
    return touched(ends, start, ())[0] if any(ends) else 0


def touched(ends: Sequence[int], start: int, pairs: Sequence[tuple[int, int]]) -> range:
    """The parts in which elements at ``start`` with extents and strides may lie."""
    whole = ends[-1]
    steps = [(n - 1) * s for n, s in pairs if s % whole]
    low = start % whole + sum(min(0, s) for s in steps)
    high = start % whole + sum(max(0, s) for s in steps)
    if low < 0 or high >= whole:
        return range(len(ends))
    first, last = (next(i for i, e in enumerate(ends) if n < e) for n in (low, high))
    return range(first, last + 1)
