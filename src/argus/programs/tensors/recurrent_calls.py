"""A recurrence as a call: a program for one step, and how often it is repeated."""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.programs.tensors.tensor_program import TensorProgram, TorchCall


@dataclass(frozen=True, eq=False)
class RecurrentCall(TorchCall):
    """``body`` is what one of ``steps`` computes, on kernels.

    Given to it are the operands: of the first ``parts`` the part of the step, of the
    next ``states`` the state before, and others whole. Its results are the new states.
    """

    body: TensorProgram = field(default_factory=lambda: TensorProgram((), ()))
    steps: int = 0
    parts: int = 1
    states: int = 0
