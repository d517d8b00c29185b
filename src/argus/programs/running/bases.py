"""Tensors of a program's call by numbers, and where each value is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from argus.programs.planning.plan import ProgramPlan
from argus.programs.running.memory import (
    ProgramMemory,
    check_memory,
    extent_of,
    memory_of,
)
from argus.programs.tensors.tensor_program import ProgramValue

if TYPE_CHECKING:
    from torch import Tensor


class PlannedMemory:
    """Where values are in the tensors of a call, which are numbered as bases.

    First what is given, then what is made, what torch makes, what is kept, and the
    workspace.
    """

    def __init__(self, plan: ProgramPlan) -> None:
        self.plan = plan
        self.layout: ProgramMemory = memory_of(plan)
        check_memory(plan, self.layout)
        layout = self.layout
        own = (*layout.given, *layout.made, *layout.torch, *layout.kept)
        self.base = {value: i for i, value in enumerate(own)}
        self.workspace = len(own)

    def place(self, value: ProgramValue) -> tuple[int, int]:
        """The base of a value, and bytes from there to its first element."""
        if value in self.base:
            return self.base[value], 0
        return self.workspace, self.layout.offsets[value]

    def tensor(self, value: ProgramValue, memory: Sequence[Tensor]) -> Tensor:
        """A value as a tensor."""
        base, offset = self.place(value)
        whole = memory[base]
        if base == self.workspace:
            size = extent_of(value) * value.dtype.bytes
            line = whole[offset : offset + size].view(torch_type(value))
            return line.as_strided(value.shape, value.strides)
        return whole.as_strided(value.shape, value.strides)


def torch_type(value: ProgramValue) -> Any:
    """The element type of a value in torch."""
    import torch

    return getattr(torch, value.dtype.foreign)


class StoredValues(Mapping[ProgramValue, "Tensor"]):
    """Values as tensors, for what stays in torch."""

    def __init__(self, planned: PlannedMemory, memory: Sequence[Tensor]) -> None:
        self.planned, self.memory = planned, memory

    def __getitem__(self, value: ProgramValue) -> Tensor:
        return self.planned.tensor(value, self.memory)

    def __iter__(self) -> Any:
        return iter(self.planned.base)

    def __len__(self) -> int:
        return len(self.planned.base)
