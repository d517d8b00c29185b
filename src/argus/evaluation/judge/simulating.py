"""Correctness without a GPU: small sizes, then chosen blocks of the problem itself.

Each small case is run through the interpreter, with inputs of another distribution and
other poison; faults (races, deadlocks, accesses out of bounds) and outputs are judged.
Then the candidate is compared with the problem's own kernel on blocks that drive the
conditions of both (`driving.py`). The time is the predicted one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from argus.compiler import Request
from argus.diagnostics import ArgusError, fail
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.agreeing import least_tolerance
from argus.evaluation.judge.checking import Checked, Clock
from argus.evaluation.judge.driving import driven
from argus.evaluation.judge.inputs import Distribution, allocated, fill
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.small import Small, Unrepresented, small_cases
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import Inputs, compared, expected
from argus.evaluation.simulate import SM_COUNT
from argus.interpret import ArgumentError, Fault, run
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
    error, seed = 0.0, int.from_bytes(os.urandom(3), "little")
    tolerances: dict[str, float] = {}
    # Each case once, and the one with tails again with other seeds and inputs.
    more = max(job.limits.seeds - 1, _RUNS - len(cases))
    runs = [(s, 0) for s in cases] + [(cases[-1], n) for n in range(1, more + 1)]
    for position, (small, number) in enumerate(runs):
        try:
            made, off = _run(
                program, subject, small, number, position, seed, tolerances
            )
        except ArgusError as refused:
            if refused.code != "AG0808":
                raise
            found = say.findings_of(refused)
            return _ended(clock, given, say.verdict("wrong", "run", found))
        if made is not None:
            return _ended(clock, given, made)
        error = max(error, off)
    names = "; ".join(dict.fromkeys(s.case.name for s in cases))
    summary = f"{given.summary}; right in the interpreter at {names}"
    request = checked.request
    assert request is not None
    made, notes, not_driven = _driven(subject, request, tolerances, cases)
    if made is not None:
        return _ended(clock, given, made)
    clock.end()
    return given.model_copy(
        update={
            "stage": "compare",
            "error": error,
            "summary": summary + notes,
            "not_driven": not_driven,
            "seconds": dict(clock.seconds),
        }
    )


def _driven(
    subject: Subject,
    request: Request,
    tolerances: Mapping[str, float],
    cases: Sequence[Small],
) -> tuple[Verdict | None, str, tuple[str, ...]]:
    """What the problem's own sizes show: a verdict, or words, and what was not driven.

    Without blocks of the problem itself only a problem that was run whole is known.
    """
    least = least_tolerance(subject)
    known = {n: max(2 * tolerances.get(n, 0.0), t) for n, t in least.items()}
    made = driven(subject, request, known)
    if made.found is not None:
        found = say.said("AG0815", made.found.why(), (made.where,))
        return say.verdict("wrong", "compare", (found,)), "", ()
    whole = all(small.whole for small in cases)
    if made.why and not whole:
        found = say.said("AG1019", f"no block of the problem was compared: {made.why}")
        return say.verdict("unknown", "compare", (found,)), "", ()
    if made.missed:
        notes = [*made.missed[1:], f"tried: {'; '.join(made.runs[-8:])}"]
        found = say.said("AG1019", f"not driven: {made.missed[0]}", notes)
        bad = say.verdict("unknown", "compare", (found,))
        told = {"not_driven": (*made.missed, *made.own)}
        return bad.model_copy(update=told), "", ()
    not_driven = made.own
    if made.why:
        not_driven = (f"blocks of the problem: {made.why}", *not_driven)
    own = ", ".join(f"{k}={v}" for k, v in subject.case.sizes.items())
    words = (
        f"; agrees with the problem's own kernel on {made.elements} elements, of "
        f"blocks at {own} and all of smaller sizes"
    )
    if not_driven:
        words += f"; not driven: {'; '.join(not_driven)}"
    return None, words, not_driven


def _run(
    program: Program,
    subject: Subject,
    small: Small,
    number: int,
    position: int,
    seed: int,
    widest: dict[str, float],
) -> tuple[Verdict | None, float]:
    """What is wrong with one run, or None; and the error of its outputs.

    ``widest``: the largest tolerances so far, which it raises.
    """
    library = NumpyArrays(seed + position)
    # Other inputs in each run, and normal ones in the first.
    distribution = _DISTRIBUTIONS[position % len(_DISTRIBUTIONS)]
    arrays = allocated(subject.entry.arguments(small.case), library)
    inputs = fill(
        subject, small.case, library, arrays, distribution, finite=position % 2 == 1
    )
    faults = _interpreted(program, subject, inputs, seed + position, number)
    where = f"at {small.case.name}, {distribution} inputs of seed {seed + position}"
    if faults:
        found = say.of_faults(faults)
        summary = f"{faults[0].kind} in the interpreter {where}"
        return say.verdict("wrong", "run", found, summary), 0.0
    reference = expected(subject.entry, small.case, inputs)
    if not representable(inputs, reference):
        return None, 0.0
    passed = sensitivity(subject, small.case, inputs, reference)
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
        raise fail("AG0808", program.span, str(error)) from error
    return done.errors


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
