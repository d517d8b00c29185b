"""Correctness without a GPU: the candidate at small sizes through the interpreter.

Each small case is run with inputs of another distribution; faults (races, deadlocks,
accesses out of bounds) and outputs are judged. The time is the predicted one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from argus.diagnostics import ArgusError, fail
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.candidate import environment
from argus.evaluation.judge.checking import Checked, Clock
from argus.evaluation.judge.inputs import Distribution, allocated, fill
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.small import Small, Unrepresented, small_cases
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import Inputs, compared, expected
from argus.evaluation.simulate import SM_COUNT
from argus.interpret import ArgumentError, Fault, run
from argus.ir.expr import evaluate
from argus.ir.program import SM_COUNT as MULTIPROCESSORS
from argus.ir.program import Program
from argus.runs.records import Verdict

_DISTRIBUTIONS: tuple[Distribution, ...] = (
    "normal",
    "scaled",
    "steps",
    "shifted",
    "sparse",
    "constant",
)
_MARK = -1234.5
_RUNS = 3
"""Least runs of a candidate."""


def simulated(job: Job, checked: Checked, clock: Clock) -> Verdict:
    """The verdict of a candidate that passed its checks.

    Raises ArgusError AG1018 where the reference fails.
    """
    program, given = checked.program, checked.verdict
    assert program is not None
    clock.begin("run", "simulate")
    subject = subject_of(job.problem)
    try:
        cases = small_cases(program, subject)
    except Unrepresented as why:
        found = say.said("AG1019", f"no small case stands for the problem: {why}")
        return _ended(clock, given, say.verdict("unknown", "run", (found,)))
    error = 0.0
    # Each case once, and the one with tails again with other seeds and inputs.
    again = [s for s in cases if not s.few][-1]
    more = max(job.limits.seeds - 1, _RUNS - len(cases))
    runs = [(s, 0) for s in cases] + [(again, n) for n in range(1, more + 1)]
    for position, (small, number) in enumerate(runs):
        try:
            made, off = _run(program, subject, small, number, position)
        except ArgusError as refused:
            if refused.code != "AG0808":
                raise
            found = say.findings_of(refused)
            return _ended(clock, given, say.verdict("wrong", "run", found))
        if made is not None:
            return _ended(clock, given, made)
        error = max(error, off)
    clock.end()
    names = "; ".join(dict.fromkeys(s.case.name for s in cases))
    return given.model_copy(
        update={
            "stage": "compare",
            "error": error,
            "summary": f"{given.summary}; right in the interpreter at {names}",
            "seconds": dict(clock.seconds),
        }
    )


def _run(
    program: Program, subject: Subject, small: Small, number: int, position: int
) -> tuple[Verdict | None, float]:
    """What is wrong with one run, or None; and the error of its outputs."""
    library = NumpyArrays(1 + position)
    # Other inputs in each run, and normal ones in the first.
    distribution = _DISTRIBUTIONS[position % len(_DISTRIBUTIONS)]
    arrays = allocated(subject.entry.arguments(small.case), library)
    inputs = fill(subject, small.case, library, arrays, distribution)
    faults = _interpreted(program, subject, small, inputs, position, number)
    where = f"at {small.case.name}, {distribution} inputs"
    if faults:
        found = say.of_faults(faults)
        summary = f"{faults[0].kind} in the interpreter {where}"
        return say.verdict("wrong", "run", found, summary), 0.0
    reference = expected(subject.entry, small.case, inputs)
    if not representable(inputs, reference):
        return None, 0.0
    if small.few:
        _leave_out(inputs, reference)
    passed = sensitivity(subject, small.case, inputs, reference)
    tolerances = derived(subject, inputs, reference, passed)
    verdict = compared(inputs, reference, tolerances)
    return wrong(verdict, inputs, where), verdict.error


def _interpreted(
    program: Program,
    subject: Subject,
    small: Small,
    inputs: Inputs,
    seed: int,
    number: int,
) -> Sequence[Fault]:
    """Run a case; its faults. Raises ArgusError AG0808 for what it refuses.

    Of a case of few blocks the last one, or the first if the last writes nothing.
    """

    def once(blocks: list[int] | None, multiprocessors: int) -> Sequence[Fault]:
        try:
            done = run(
                program,
                inputs.arrays,
                dict(subject.scalars),
                sm_count=multiprocessors,
                blocks=blocks,
                seed=seed,
                schedule="in_order" if number % 2 else "random",
                collect=True,
            )
        except ArgumentError as error:
            raise fail("AG0808", program.span, str(error)) from error
        return done.errors

    if not small.few:
        return once(None, SM_COUNT)
    # As if there were a multiprocessor for each tile: blocks that do one each.
    many = 1 << 20
    env = environment(program, inputs.arguments, subject)
    grid = int(evaluate(program.grid, {**env, MULTIPROCESSORS.name: many}))
    for name, mark in _marks(inputs).items():
        inputs.arrays[name][...] = mark
    faults = once([grid - 1], many)
    untouched = all(
        bool((inputs.arrays[name] == mark).all())
        for name, mark in _marks(inputs).items()
    )
    return once([0], many) if untouched and not faults else faults


def _marks(inputs: Inputs) -> dict[str, Any]:
    """What outputs hold where only some blocks are run: one number for each.

    Not NaN, which could not be told from what a wrong kernel writes.
    """
    library = inputs.library
    return {
        a.name: library.rounded(np.full(1, _MARK), a.dtype)
        if a.dtype.is_float
        else library.poisoned(a.dtype, (1,))
        for a in inputs.arguments
        if a.draw == "output"
    }


def _leave_out(inputs: Inputs, reference: Mapping[str, Any]) -> None:
    """Where nothing was written, take the reference: only some blocks were run.

    Where nothing was written at all, nothing is left out.
    """
    library = inputs.library
    types = {a.name: a.dtype for a in inputs.arguments}
    marks = _marks(inputs)
    empty = {name: inputs.arrays[name] == mark for name, mark in marks.items()}
    if all(bool(places.all()) for places in empty.values()):
        return
    for name, places in empty.items():
        exact, dtype = reference[name], types[name]
        right = library.rounded(exact, dtype) if dtype.is_float else exact
        inputs.arrays[name][places] = right[places]


def _ended(clock: Clock, given: Verdict, made: Verdict) -> Verdict:
    """A verdict with what was known of the candidate before."""
    clock.end()
    return made.model_copy(
        update={
            "predicted": given.predicted,
            "resources": given.resources,
            "limit_microseconds": given.limit_microseconds,
            "program": given.program,
            "seconds": dict(clock.seconds),
        }
    )
