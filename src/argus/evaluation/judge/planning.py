"""What the host finds out about a candidate before it is launched: blocks on tiles.

    shown = on_tiles(subject, request, tolerances, excused)

Candidate and problem's own kernel are compared on blocks that drive the conditions of
both (`driving.py`): a verdict, or what was not driven. Without a GPU that is the end of
it (`simulating.py`). With one, what was run becomes a plan of what is launched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from argus.diagnostics import ArgusError
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.agreeing import declared_tolerance, usable_tolerance
from argus.evaluation.judge.checking import CandidateCheck, Clock
from argus.evaluation.judge.driving import driven
from argus.evaluation.judge.inputs import allocated, fill
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.plans import Drive, Plan, PlannedTrial, chosen, trials
from argus.evaluation.judge.settings import case_of
from argus.evaluation.judge.small import Unrepresented, small_cases
from argus.evaluation.judge.subject import Subject, own_request, subject_of
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import expected
from argus.requests import Request
from argus.runs.records import JudgeVerdict


@dataclass(frozen=True)
class Shown:
    """What blocks on tiles have shown: a verdict, or words and what was not driven."""

    bad: JudgeVerdict | None = None
    words: str = ""
    not_driven: tuple[str, ...] = ()
    drives: tuple[Drive, ...] = ()


def on_tiles(
    subject: Subject,
    request: Request,
    tolerances: Mapping[str, float],
    excused: Callable[[], bool],
    equal: bool,
) -> Shown:
    """Compare a candidate with the problem's own kernel.

    ``equal``: whether it is proved to be right in real arithmetic, for all sizes.
    ``excused`` is asked where no block can be compared: whether what is run besides,
    with the oracle, is enough. If not the candidate is "unknown".
    """
    made = driven(subject, request, tolerances, equal=equal)
    if made.found is not None:
        found = say.said("AG0815", made.found.why(), (made.where,))
        return Shown(say.verdict("wrong", "compare", (found,)))
    if made.why and not excused():
        found = say.said("AG1019", f"no block of the problem was compared: {made.why}")
        return Shown(say.verdict("unknown", "compare", (found,)))
    if made.missed:
        notes = [*made.missed[1:], f"tried: {'; '.join(made.tried[-8:])}"]
        found = say.said("AG1019", f"not driven: {made.missed[0]}", notes)
        bad = say.verdict("unknown", "compare", (found,))
        told = {"not_driven": (*made.missed, *made.own)}
        return Shown(bad.model_copy(update=told))
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
    return Shown(None, words, not_driven, tuple(made.runs))


def planned(
    job: Job, checked: CandidateCheck, clock: Clock
) -> tuple[JudgeVerdict, Plan | None]:
    """The verdict of a candidate that passed its checks and will be launched.

    With what to launch besides the problem itself, where it is still "correct".
    """
    program, request, given = checked.program, checked.request, checked.verdict
    assert program is not None and request is not None
    clock.begin("run", "simulate")
    subject = subject_of(job.problem)
    try:
        cases = small_cases(program, subject)
    except Unrepresented as why:
        return ended(clock, given, unrepresented(why)), None
    wanted = trials(cases, job.limits.seeds)
    note = ""
    try:
        tolerances = usable_tolerance(subject, widest(subject, wanted))
    except ArgusError as error:
        if error.code != "AG1018":
            raise
        # It may need a GPU, where it will be asked.
        note = "; the reference fails on the host: tolerances are the declared ones"
        tolerances = declared_tolerance(subject)

    def own_neither() -> bool:
        """Not the candidate's fault, if its problem cannot be run on tiles at all."""
        return bool(driven(subject, own_request(subject), tolerances).why)

    equal = is_equal(given)
    shown = on_tiles(subject, request, tolerances, own_neither, equal)
    if shown.bad is not None:
        return ended(clock, given, shown.bad), None
    clock.end()
    plan = Plan(
        trials=wanted,
        drives=chosen(shown.drives),
        tolerances=tolerances,
    )
    told = {
        "summary": given.summary + shown.words + note,
        "not_driven": shown.not_driven,
        "seconds": dict(clock.seconds),
    }
    return given.model_copy(update=told), plan


def widest(subject: Subject, wanted: Sequence[PlannedTrial]) -> dict[str, float]:
    """The largest tolerance of each output, of trials that are not run.

    Raises ArgusError AG1018 where the reference fails.
    """
    found: dict[str, float] = {}
    for trial in wanted:
        case = case_of(subject, trial.sizes)
        assert case is not None
        library = NumpyArrays(len(found))
        arrays = allocated(subject.entry.arguments(case), library)
        inputs = fill(subject, case, library, arrays, trial.distribution)
        reference = expected(subject.entry, case, inputs)
        if not representable(inputs, reference):
            continue
        passed = sensitivity(subject, case, inputs, reference)
        for name, tolerance in derived(subject, inputs, reference, passed).items():
            found[name] = max(found.get(name, 0.0), tolerance)
    return found


def is_equal(given: JudgeVerdict) -> bool:
    """Whether a candidate is proved to be equal to a kernel that is right."""
    return given.equality is not None and given.equality.verdict == "equal"


def unrepresented(why: Unrepresented) -> JudgeVerdict:
    """The verdict where no small sizes are taken."""
    found = say.said("AG1019", f"no small case stands for the problem: {why}")
    return say.verdict("unknown", "run", (found,))


def ended(clock: Clock, given: JudgeVerdict, made: JudgeVerdict) -> JudgeVerdict:
    """A verdict with what was known of the candidate before."""
    clock.end()
    summary = made.summary
    if made.status == "wrong" and is_equal(given):
        summary += "; in real arithmetic it is right: rounding or overflow is not"
    return made.model_copy(
        update={
            "summary": summary,
            "predicted": given.predicted,
            "equality": given.equality,
            "resources": given.resources,
            "limit_microseconds": given.limit_microseconds,
            "program": given.program,
            "seconds": dict(clock.seconds),
        }
    )
