"""Maps of few elements stand right behind what they read.

They take a launch and no more where they are alone. Behind a reduction whose results
they read, they are results of its kernel (`merging.py`), which others may read at once.
"""

from __future__ import annotations

from dataclasses import replace

from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    GivenPrimitive,
    JoinedPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    TensorProgram,
    operands_of,
)

TINY = 1 << 16
"""Elements up to which a kernel takes no longer than its launch."""


def with_early_maps(program: TensorProgram) -> TensorProgram:
    """The program with its values in such an order."""
    places: dict[ProgramValue, tuple[int, int]] = {}
    free: set[ProgramValue] = set()
    """What could stand anywhere: it is made of what is given, and of numbers."""

    def bring(value: ProgramValue, behind: int) -> None:
        """Let it stand there or before, and what it reads."""
        at, own = places[value]
        if at > behind:
            places[value] = behind, own
            for operand in operands_of(value):
                bring(operand.value, behind)

    for i, value in enumerate(program.values):
        places[value] = (i, i)
        read = [o.value for o in operands_of(value)]
        match value.made:
            case GivenPrimitive() | FilledPrimitive() | PositionPrimitive():
                free.add(value)
            case MapPrimitive() if _early(value, read):
                if free.issuperset(read):
                    free.add(value)
                    continue
                behind = max(places[v][0] for v in read if v not in free)
                places[value] = (behind, i)
                for v in read:
                    bring(v, behind)
            case _:
                pass
    return replace(program, values=tuple(sorted(places, key=places.__getitem__)))


def _early(value: ProgramValue, read: list[ProgramValue]) -> bool:
    """Whether a map may stand elsewhere, which parts of others may not."""
    if value.size > TINY or value.home is not None:
        return False
    return all(v.home is None and not isinstance(v.made, JoinedPrimitive) for v in read)
