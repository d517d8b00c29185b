"""A kernel of a plan as the values that it computes."""

from __future__ import annotations

from dataclasses import dataclass

from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.planning.forms import KernelForm
from argus.programs.tensors.tensor_program import ProgramValue


@dataclass(frozen=True, eq=False)
class KernelGroup:
    """A kernel: what it stores, what it computes on the way, and how it is walked.

    ``beside``: what it stores besides; the kernel is launched where ``stored`` stands
    in the program. ``why`` it is none: then torch computes ``stored``.
    """

    stored: ProgramValue
    inside: frozenset[ProgramValue]
    lowered: LoweredGroup | None
    form: KernelForm | None
    why: str = ""
    beside: tuple[ProgramValue, ...] = ()
