"""A candidate of a run, compiled again: what pictures and sources are made from.

Nothing is executed: a library problem needs no reference here, and a user's reference
is not called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argus.compiler import cuda_source
from argus.evaluation.judge.candidate import environment, request_of
from argus.evaluation.judge.subject import Subject, subject_of
from argus.ir.program import Program
from argus.requests import Request, placed_program
from argus.runs.records import Candidate, Problem


@dataclass(frozen=True)
class Compiled:
    """A candidate, its placed program, and the values of a launch by name."""

    candidate: Candidate
    request: Request
    program: Program
    arguments: Mapping[str, int | float]

    def cuda(self) -> str:
        """The generated CUDA C++. Raises ArgusError where it cannot be printed."""
        return cuda_source(self.request).text

    @property
    def file(self) -> str:
        """The name that spans and comments of the CUDA have for the source."""
        return Path(self.program.file).name


@dataclass(frozen=True)
class Used:
    """Registers of the machine code, for the performance model."""

    registers: int


class Compiler:
    """Compiles candidates of one problem. Raises ArgusError for a broken problem."""

    def __init__(self, problem: Problem) -> None:
        self.subject: Subject = subject_of(problem, reference=False)

    def __call__(self, candidate: Candidate) -> Compiled:
        """Parse and place. Raises ArgusError for what that finds."""
        subject = self.subject
        request = request_of(candidate, subject)
        program = placed_program(request)
        values = environment(program, subject.arguments(), subject)
        return Compiled(candidate, request, program, {**subject.case.sizes, **values})
