"""What can be said of a candidate without running it: parse, prove, build, predict.

To prove is twofold: that its data flow and its order are right (`verify`), and that it
is equal to a kernel that is right (`equality.py`). A witness that it is not ends it;
where neither is shown, tests decide, and the verdict says why.

    checked = check(job, Clock(enter))

``enter`` is called before each stage, which is how the process outside knows what it
waits for. Cheap before dear: the first stage that objects ends it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from argus.compiler import build, prove
from argus.diagnostics import ArgusError, fail
from argus.equivalence.programs import programs_of
from argus.equivalence.settling import is_wrong, settled_by
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.candidate import (
    CANDIDATE,
    check_program,
    check_requirements,
    environment,
    request_of,
)
from argus.evaluation.judge.equality import compared, undecided
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.speed import speed_limit
from argus.evaluation.judge.subject import Subject, check_silent, subject_of
from argus.ir.program import Program
from argus.model import predict
from argus.requests import Request
from argus.runs.records import (
    EqualityRecord,
    Finding,
    JudgeVerdict,
    Predicted,
    Resources,
    Stage,
    Status,
)
from argus.runtime.build import ResourceUsage
from argus.verify.expectations import Usage
from argus.verify.verdict import Verdict as Proved


class Enter(Protocol):
    """Told which stage begins, and the name of its limit if that is another."""

    def __call__(self, stage: Stage, within: str = "") -> None:
        """Tell the process outside."""
        ...


@dataclass
class Clock:
    """Seconds of each stage, told to the process outside as they begin."""

    enter: Enter
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    stage: Stage = "parse"
    _since: float = field(default_factory=time.perf_counter)

    def begin(self, stage: Stage, within: str = "") -> None:
        """The next stage begins; ``within`` names its limit if that is another."""
        self.end()
        self.stage = stage
        self.enter(stage, within)

    @contextmanager
    def waiting(self, stage: Stage) -> Generator[None]:
        """Wait for others at the beginning of a stage; that is nobody's time."""
        self.begin(stage, "wait")
        yield
        self._since = time.perf_counter()

    def end(self) -> None:
        """Count what the present stage took."""
        now = time.perf_counter()
        spent = now - self._since
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + spent
        self._since = now


@dataclass(frozen=True)
class CandidateCheck:
    """A verdict, and what later stages need where it is "correct"."""

    verdict: JudgeVerdict
    subject: Subject | None = None
    request: Request | None = None
    program: Program | None = None


def check(job: Job, clock: Clock) -> CandidateCheck:
    """The verdict on a candidate before it is run. Raises only for a broken problem.

    Raises ArgusError where the problem itself is wrong (AG1018, AG0909, AG0602).
    """
    clock.begin("parse")
    # The reference is not needed yet, and it is somebody's program.
    subject = subject_of(job.problem, reference=False)
    try:
        request = request_of(job.candidate, subject)
        programs = programs_of(request)
        program = programs.placed
        if job.prove:
            check_program(program, subject)
        check_requirements(program, subject)
        check_silent(program)
    except ArgusError as error:
        return _ended(clock, "rejected", say.findings_of(error))
    except (RecursionError, MemoryError) as error:
        what = type(error).__name__
        gave_up = say.said("AG1013", f"the compiler gave up: {what}")
        return _ended(clock, "rejected", (gave_up,))

    clock.begin("verify")
    assumptions, equality = "", None
    if job.prove:
        report = prove(request, CANDIDATE, program=program).report
        if not is_wrong(report):
            clock.begin("verify", "equal")
            if job.undecided:
                known = undecided(subject, job.undecided)
            else:
                known = compared(request, programs, subject)
            equality = known.record
            if known.witness is not None:
                # What data flow shows says more of the cause than a wrong number.
                found = say.of_report(report, Proved.REFUTED)
                found += say.of_witness(known.witness, request, programs.typed)
                return _ended(clock, "refuted", found, equality)
            clock.begin("verify")
            report = settled_by(report, programs, known.other, known.decided)
        match report.verdict:
            case Proved.REFUTED | Proved.UNKNOWN as verdict:
                found = say.of_report(report, verdict)
                status = "refuted" if verdict is Proved.REFUTED else "unknown"
                return _ended(clock, status, found, equality)
            case Proved.PROVED | Proved.EQUAL:
                assumptions = "; ".join(a.text for a in report.assumptions)

    clock.begin("build")
    resources = Resources(threads=program.threads, shared_bytes=program.shared_bytes)
    try:
        built = build(request)
    except ArgusError as error:
        ended = _ended(clock, "unbuildable", say.findings_of(error), equality)
        told = {"resources": resources}
        return CandidateCheck(ended.verdict.model_copy(update=told))
    usage = built.cubin.usage
    resources = resources.model_copy(
        update={"registers": usage.registers, "spill_bytes": usage.spill_stores}
    )
    unknown: tuple[Finding, ...] = ()
    time_predicted: Predicted | None = None
    try:
        time_predicted = predicted(program, subject, usage)
    except ArgusError as error:  # the model does not know something in it
        unknown = say.findings_of(error)
    clock.end()
    proved = "proved" if job.prove else "not proved (switched off)"
    if assumptions:
        proved += f", assuming {assumptions}"
    if equality is not None:
        proved += f"; {equality.words}"
    verdict = JudgeVerdict(
        status="correct",
        stage="build",
        findings=unknown,
        summary=f"{proved}; builds with {usage.registers} registers",
        predicted=time_predicted,
        resources=resources,
        limit_microseconds=speed_limit(subject, ""),
        equality=equality,
        program=program_hash(built.cubin.source),
        seconds=dict(clock.seconds),
    )
    return CandidateCheck(verdict, subject, request, program)


def program_hash(cuda: str) -> str:
    """What names a program: its CUDA C++ without lines that say where it is from.

    So an edit that moves lines, or changes a comment, is seen to change nothing.
    """
    lines = (line for line in cuda.splitlines() if not line.lstrip().startswith("//"))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _ended(
    clock: Clock,
    status: Status,
    found: tuple[Finding, ...],
    equality: EqualityRecord | None = None,
) -> CandidateCheck:
    clock.end()
    made = say.verdict(status, clock.stage, found)
    told = {"seconds": dict(clock.seconds), "equality": equality}
    return CandidateCheck(made.model_copy(update=told))


def predicted(program: Program, subject: Subject, usage: ResourceUsage) -> Predicted:
    """What the performance model says. Raises ArgusError for what it does not know."""
    if usage.spill_stores:
        raise fail(
            "AG0506",
            None,
            f"{usage.spill_stores} bytes of registers are spilled per thread: the "
            "performance model does not know what that costs",
            help="measure it on a GPU, or make the tile smaller",
        )
    arguments = environment(program, subject.arguments(), subject)
    said = predict(
        program,
        {**subject.case.sizes, **arguments},
        usage=Usage(usage.registers, usage.spill_stores),
    )
    parts = {str(k): float(v) for k, v in said.parts.items()}
    return Predicted(
        microseconds=said.microseconds, bottleneck=said.bottleneck, parts=parts
    )
