"""A case through placing and the interpreter, compared with the reference. No GPU.

What this says of a kernel: its placed program computes the right thing, in one
interleaving per seed, with asynchronous operations completing late. It says nothing of
time, and nothing of the printed CUDA C++.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import Inputs, OracleVerdict, judge, make_inputs
from argus.evaluation.requests import request_for, with_statics
from argus.interpret import ArgumentError, Fault, run
from argus.interpret.machine import Schedule
from argus.ir.program import Program
from argus.kernels.library import Case, LibraryEntry
from argus.requests import placed_program

SM_COUNT = 4
"""Multiprocessors that persistent kernels see: few, so that a block does some tiles."""


@dataclass(frozen=True)
class Simulation:
    """What the interpreter found. ``seconds`` are those of the interpreter itself."""

    verdict: OracleVerdict
    faults: tuple[Fault, ...]
    blocks: int
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong and the outputs are right."""
        return not self.faults and self.verdict.ok

    def why(self) -> list[str]:
        """What is wrong; faults of the run first."""
        return [str(fault) for fault in self.faults] + self.verdict.why()


def simulate(
    entry: LibraryEntry,
    case: Case,
    target: str,
    *,
    seed: int = 0,
    statics: Mapping[str, object] | None = None,
    schedule: Schedule = "random",
    sm_count: int = SM_COUNT,
) -> Simulation:
    """Place a case for ``target``, interpret all its blocks, judge the outputs.

    Faults (races, deadlocks, reads of what was never written) are collected and not
    raised. Raises ArgusError where the kernel cannot be placed, and AG0808 where the
    placed program's requirements do not admit the case.
    """
    request, choice = request_for(entry, case, target)
    program = placed_program(with_statics(request, statics or {}))
    inputs = make_inputs(entry, case, NumpyArrays(seed))
    done = interpret(
        program,
        inputs,
        choice.scalars,
        seed=seed,
        schedule=schedule,
        sm_count=sm_count,
    )
    verdict = judge(entry, case, inputs)
    return Simulation(verdict, done.faults, done.blocks, done.seconds)


@dataclass(frozen=True)
class Interpretation:
    """A run without a verdict: its faults, number of blocks and time."""

    faults: tuple[Fault, ...]
    blocks: int
    seconds: float


def interpret(
    program: Program,
    inputs: Inputs,
    scalars: Mapping[str, int | float],
    *,
    seed: int = 0,
    schedule: Schedule = "random",
    sm_count: int = SM_COUNT,
) -> Interpretation:
    """Run all blocks of a placed program on inputs, which it changes.

    Raises ArgusError AG0808 for arguments that its requirements do not admit.
    """
    begin = time.perf_counter()
    try:
        result = run(
            program,
            inputs.arrays,
            dict(scalars),
            sm_count=sm_count,
            seed=seed,
            schedule=schedule,
            collect=True,
        )
    except ArgumentError as error:
        raise error.told() from error
    seconds = time.perf_counter() - begin
    return Interpretation(tuple(result.errors), result.grid, seconds)
