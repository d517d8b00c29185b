"""Large kernels of maps: which further maps are tried at once.

To try each map by itself lowers all of a kernel each time, which takes the square of
their number: an image that is read between its elements has hundreds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from argus.programs.planning.kernel_group import KernelGroup
from argus.programs.planning.worth import is_of_computed, is_recomputed
from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
)
from argus.programs.tiles.tile_axes import GroupTiling

_LARGE = 24
"""Values of a kernel that more than one may join at a time."""


def maps_to_try(
    kernel: KernelGroup,
    inside: Collection[ProgramValue],
    values: Sequence[ProgramValue],
    readers: Mapping[ProgramValue, Sequence[ProgramValue]],
    stored: Collection[ProgramValue],
) -> list[ProgramValue]:
    """The first of ``values``, in reverse order, which a kernel alone reads.

    As many as it has ``inside``, at most, and more than one, or none. A kernel without
    reductions, for which it makes no difference what else it computes.
    """
    group = kernel.lowered
    if len(inside) < _LARGE or not isinstance(kernel.form, GroupTiling):
        return []
    if group is None or group.columns:
        return []
    known = {*inside, kernel.stored}
    found: list[ProgramValue] = []
    for value in values[: len(inside)]:
        plain = MapPrimitive | FilledPrimitive | PositionPrimitive
        reading = readers.get(value, ())
        if not isinstance(value.made, plain) or value in stored or not reading:
            break
        if not all(r in known for r in reading):
            break
        if is_of_computed(value) or is_recomputed(value, kernel):
            break
        known.add(value)
        found.append(value)
    return found if len(found) > 1 else []
