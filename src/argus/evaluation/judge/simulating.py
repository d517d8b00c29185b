"""Correctness without a GPU: small sizes, then chosen blocks of the problem itself.

Each small case is run through the interpreter, with inputs of another distribution and
other poison; faults (races, deadlocks, accesses out of bounds) and outputs are judged.
Then the candidate is compared with the problem's own kernel on blocks that drive the
conditions of both (`driving.py`). The time is the predicted one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from argus.diagnostics import ArgusError
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.agreeing import usable_tolerance
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.inputs import allocated, fill
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.planning import ended, is_equal, on_tiles, unrepresented
from argus.evaluation.judge.plans import PlannedTrial, trials
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.small import Unrepresented, small_cases
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import Inputs, compared, expected
from argus.evaluation.simulate import SM_COUNT
from argus.interpret import ArgumentError, Fault, run
from argus.ir.program import Program
from argus.kernels.library import Case
from argus.runs.records import JudgeVerdict


def simulated(job: Job, checked: CandidateCheck, clock: Clock) -> JudgeVerdict:
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
        return ended(clock, given, unrepresented(why))
    error, seed = 0.0, int.from_bytes(os.urandom(3), "little")
    tolerances: dict[str, float] = {}
    by_sizes = {small.case.name: small.case for small in cases}
    for position, trial in enumerate(trials(cases, job.limits.seeds)):
        case = next(c for c in by_sizes.values() if c.sizes == trial.sizes)
        try:
            made, off = _run(program, subject, case, trial, seed + position, tolerances)
        except ArgusError as refused:
            if refused.code != "AG0808":
                raise
            found = say.findings_of(refused)
            return ended(clock, given, say.verdict("wrong", "run", found))
        if made is not None:
            return ended(clock, given, made)
        error = max(error, off)
    summary = f"{given.summary}; right in the interpreter at {'; '.join(by_sizes)}"
    request = checked.request
    assert request is not None
    known = usable_tolerance(subject, tolerances)
    whole = all(small.whole for small in cases)
    shown = on_tiles(subject, request, known, lambda: whole, is_equal(given))
    if shown.bad is not None:
        return ended(clock, given, shown.bad)
    clock.end()
    return given.model_copy(
        update={
            "stage": "compare",
            "error": error,
            "summary": summary + shown.words,
            "not_driven": shown.not_driven,
            "seconds": dict(clock.seconds),
        }
    )


def _run(
    program: Program,
    subject: Subject,
    case: Case,
    trial: PlannedTrial,
    seed: int,
    widest: dict[str, float],
) -> tuple[JudgeVerdict | None, float]:
    """What is wrong with one trial, or None; and the error of its outputs.

    ``widest``: the largest tolerances so far, which it raises.
    """
    library = NumpyArrays(seed)
    arrays = allocated(subject.entry.arguments(case), library)
    inputs = fill(
        subject, case, library, arrays, trial.distribution, finite=trial.finite
    )
    faults = _interpreted(program, subject, inputs, seed, trial.number)
    where = f"at {case.name}, {trial.distribution} inputs of seed {seed}"
    if faults:
        found = say.of_faults(faults)
        summary = f"{faults[0].kind} in the interpreter {where}"
        return say.verdict("wrong", "run", found, summary), 0.0
    reference = expected(subject.entry, case, inputs)
    if not representable(inputs, reference):
        return None, 0.0
    passed = sensitivity(subject, case, inputs, reference)
    tolerances = derived(subject, inputs, reference, passed)
    for name, tolerance in tolerances.items():
        widest[name] = max(widest.get(name, 0.0), tolerance)
    verdict = compared(inputs, reference, tolerances)
    return wrong(verdict, inputs, where), verdict.error


def _interpreted(
    program: Program, subject: Subject, inputs: Inputs, seed: int, number: int
) -> Sequence[Fault]:
    """Run a case; its faults. Raises ArgusError AG0808 for what it refuses."""
    try:
        done = run(
            program,
            inputs.arrays,
            dict(subject.scalars),
            sm_count=SM_COUNT,
            seed=seed,
            schedule="in_order" if number % 2 else "random",
            collect=True,
        )
    except ArgumentError as error:
        raise error.told() from error
    return done.errors
