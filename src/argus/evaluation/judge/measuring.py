"""On a GPU, in the candidate's own process: is it right, and how fast is it?

The candidate was checked and built before, in another process; here it comes out of the
disk cache. It is launched on inputs of several distributions and compared with the fp64
oracle (`launching.py`), then on what the host has planned (`replaying.py`). Then it is
timed beside the baselines, with new inputs and other poison each round; the results of
some rounds, which nobody knows beforehand, and one more run are compared, too. Others
may compute on the GPU meanwhile, but not while it is timed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from statistics import median

from argus.compiler import build
from argus.diagnostics import ArgusError
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.device import device_uuid, torch_module
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import Clock
from argus.evaluation.judge.executor import failed
from argus.evaluation.judge.gpu_lock import GpuLock
from argus.evaluation.judge.inputs import DISTRIBUTIONS, fill
from argus.evaluation.judge.launching import DeviceCandidate, correct, placed_at
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.plans import PlannedTrial, in_turns
from argus.evaluation.judge.replaying import Replay
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.speed import speed_limit
from argus.evaluation.judge.subject import Subject, own_request, subject_of
from argus.evaluation.judge.tolerance import derived, sensitivity
from argus.evaluation.oracle import Inputs, compared, expected, reads
from argus.evaluation.timing import median_interval, sample_interleaved, working
from argus.requests import tile_program
from argus.runs.records import JudgeVerdict, Measured
from argus.runtime.driver import cuda_driver
from argus.runtime.launch import LoadedKernel

_HEAVY = 2e12
"""Operations of a reference above which not every distribution is tried each time: an
H200 does about 5e13 a second in fp64."""
_COMPARED = 0.1
"""Share of the timed rounds whose results are compared."""
CANDIDATE = "candidate"


def measure(job: Job, clock: Clock) -> JudgeVerdict:
    """The verdict of a candidate that passed its checks.

    Raises ArgusError for a problem that cannot be judged, and without a GPU.
    """
    clock.begin("run", "run")
    torch = torch_module()
    with GpuLock(device_uuid()) as lock:
        try:
            made = _measured(job, clock, lock)
        except torch.OutOfMemoryError:
            # Perhaps because of the others.
            torch.cuda.empty_cache()
            made = _measured_exclusively(job, clock, lock)
    clock.end()
    return made.model_copy(update={"seconds": dict(clock.seconds)})


def _measured_exclusively(job: Job, clock: Clock, lock: GpuLock) -> JudgeVerdict:
    with clock.waiting("run"):
        lock.exclusive()
    torch = torch_module()
    try:
        return _measured(job, clock, lock, shared=False)
    except torch.OutOfMemoryError as error:
        why = "inputs and reference do not fit the memory of the device"
        return failed(clock.stage, why, (str(error).splitlines()[0],))


def _measured(
    job: Job, clock: Clock, lock: GpuLock, shared: bool = True
) -> JudgeVerdict:
    if shared:
        with clock.waiting("run"):
            lock.shared()
    clock.begin("run", "run")
    subject = subject_of(job.problem)
    request = request_of(job.candidate, subject)
    built = build(request)
    loaded = LoadedKernel(built.spec, built.cubin.image)
    seed = int.from_bytes(os.urandom(4), "little")
    library = TorchArrays(seed)
    try:
        placed = placed_at(subject, subject.case, loaded, library, seed)
    except ArgusError as error:
        return say.verdict("rejected", "run", say.findings_of(error))
    words = ""
    try:
        bad, error = correct(placed, clock, own_trials(subject, seed))
        if bad is not None:
            return bad
        if job.plan is not None:
            programs = tile_program(request), tile_program(own_request(subject))
            replay = Replay(subject, programs, loaded, library, clock, seed)
            bad, words = replay.run(job.plan)
            if bad is not None:
                return bad
        with clock.waiting("time"):
            lock.exclusive()
        rounds = Rounds(placed)
        samples = _timed(job, clock, rounds, placed.prepared)
        if rounds.bad is not None:
            return rounds.bad
        if shared:
            with clock.waiting("compare"):
                lock.shared()
        # Once more, with other numbers: what ran while it was timed is what is right.
        once = in_turns(subject.case.sizes, ("normal",))
        bad, again = correct(placed, clock, once)
    except ArgusError as fault:
        if fault.code not in ("AG0811", "AG0810"):
            raise
        return say.verdict("crashed", clock.stage, say.findings_of(fault))
    if bad is not None:
        return bad
    made = _believed(subject, samples, max(error, again))
    return made.model_copy(update={"summary": made.summary + words})


def _believed(
    subject: Subject, samples: Mapping[str, list[float]], error: float
) -> JudgeVerdict:
    """The verdict of a right candidate: "correct", or too fast to be true."""
    device = cuda_driver().info(0).name
    own = samples[CANDIDATE]
    low, high = median_interval(own)
    measured = Measured(
        microseconds=median(own),
        low=low,
        high=high,
        samples=len(own),
        baselines={n: median(s) for n, s in samples.items() if n != CANDIDATE},
        device=device,
    )
    limit = speed_limit(subject, device)
    told = {"measured": measured, "limit_microseconds": limit, "error": error}
    if limit is not None and measured.microseconds < limit:
        why = f"{measured.microseconds:.2f} µs are less than {limit:.2f} µs"
        made = say.verdict("quarantined", "time", (say.said("AG1016", why),))
        return made.model_copy(update=told)
    against = "; ".join(
        f"{time / measured.microseconds:.3f} of {name}"
        for name, time in measured.baselines.items()
    )
    summary = f"{measured.microseconds:.1f} µs on {device}"
    made = JudgeVerdict(
        status="correct",
        stage="done",
        summary=f"{summary}; {against}" if against else summary,
    )
    return made.model_copy(update=told)


# ------------------------------------------------------------------------- correctness


def own_trials(subject: Subject, seed: int) -> tuple[PlannedTrial, ...]:
    """At the problem's own sizes: all distributions, or three if the oracle is dear."""
    some = DISTRIBUTIONS
    if subject.entry.work(subject.case).flops >= _HEAVY:
        some = ("normal", *random.Random(seed).sample(DISTRIBUTIONS[1:], 2))
    return in_turns(subject.case.sizes, some)


# -------------------------------------------------------------------------------- time


class Rounds:
    """The rounds of a timing: what they are given, and whether it comes out right.

    Every round has new inputs, and outputs that hold other finite numbers. Of some, by
    chance, the results are compared with the oracle; ``bad`` is what was wrong.
    """

    def __init__(self, placed: DeviceCandidate, share: float = _COMPARED) -> None:
        self.bad: JudgeVerdict | None = None
        self.compared = 0
        self.placed = placed
        self._share = share
        self._chance = random.Random(placed.seed ^ int.from_bytes(os.urandom(4)))
        # Two rounds are not timed; at least five are.
        self._sure, self._number = self._chance.randrange(3, 8), 0
        self._inputs: Inputs | None = None
        self._passed: dict[str, float] | None = None
        subject = placed.subject
        fill(subject, subject.case, placed.library, placed.arrays, "normal")

    def refresh(self) -> None:
        """Before a round."""
        placed = self.placed
        arguments = placed.subject.arguments()
        for argument in arguments:
            array = placed.arrays[argument.name]
            if argument.draw == "output":
                array.copy_(placed.library.littered(argument.dtype, argument.shape))
            elif argument.draw == "normal" and argument.dtype.is_float:
                array.normal_(generator=placed.library.generator)
        self._inputs = None
        self._number += 1
        chosen = self._number == self._sure or self._chance.random() < self._share
        if self.bad is None and chosen:
            copy = placed.library.copy
            kept = {a.name: copy(placed.arrays[a.name]) for a in arguments if reads(a)}
            self._inputs = Inputs(placed.library, arguments, placed.arrays, kept)

    def inspect(self) -> None:
        """After a round, when nothing runs."""
        inputs, subject = self._inputs, self.placed.subject
        if inputs is None:
            return
        reference = expected(subject.entry, subject.case, inputs)
        if self._passed is None:
            self._passed = sensitivity(subject, subject.case, inputs, reference)
        tolerances = derived(subject, inputs, reference, self._passed)
        found = compared(inputs, reference, tolerances)
        self.compared += 1
        self.bad = wrong(found, inputs, "in a round that was timed")


def _timed(
    job: Job, clock: Clock, rounds: Rounds, prepared: Callable[[], object]
) -> dict[str, list[float]]:
    """Microseconds of the candidate and of the baselines, in turns."""
    clock.begin("time", "run")
    placed = rounds.placed
    # A baseline may write where the candidate does, whose results are looked at later.
    outputs = [a.name for a in placed.subject.arguments() if a.draw == "output"]
    copies = {name: placed.library.copy(placed.arrays[name]) for name in outputs}
    baselines = placed.subject.entry.baselines(
        {**placed.arrays, **copies}, placed.subject.case
    )
    return sample_interleaved(
        {CANDIDATE: prepared, **working(baselines)},
        seconds=job.limits.timing,
        rounds=job.limits.rounds,
        fewest=job.limits.fewest,
        refresh=rounds.refresh,
        inspect=rounds.inspect,
    )
