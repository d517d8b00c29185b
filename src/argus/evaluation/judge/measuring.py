"""On a GPU, in the candidate's own process: is it right, and how fast is it?

The candidate was checked and built before, in another process; here it comes out of the
disk cache. It is launched on inputs of several distributions, each time with poisoned
outputs and between guards, and compared with the fp64 oracle, which is computed after
it ran. Then it is timed beside the baselines, with new inputs and other poison each
round; the results of some rounds, which nobody knows beforehand, and one more run are
compared, too. Others may compute on the GPU meanwhile, but not while it is timed.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from argus.compiler import build
from argus.diagnostics import ArgusError
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.device import device_uuid, launch_and_wait, torch_module
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.candidate import request_of
from argus.evaluation.judge.checking import Clock
from argus.evaluation.judge.executor import failed
from argus.evaluation.judge.gpu_lock import GpuLock
from argus.evaluation.judge.inputs import DISTRIBUTIONS, Distribution, fill
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.results import wrong
from argus.evaluation.judge.speed import speed_limit
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.judge.tolerance import derived, representable, sensitivity
from argus.evaluation.oracle import Inputs, compared, expected, reads
from argus.evaluation.timing import median_interval, sample_interleaved, working
from argus.ir.dtypes import DType
from argus.kernels.library import Argument
from argus.runs.records import Measured, Verdict
from argus.runtime.driver import cuda_driver
from argus.runtime.launch import Loaded

GUARD = 1 << 20
"""Bytes before and after each tensor that nobody may write."""
_PATTERN = 0x5A
_HEAVY = 2e12
"""Operations of a reference above which not every distribution is tried each time: an
H200 does about 5e13 a second in fp64."""
_COMPARED = 0.1
"""Share of the timed rounds whose results are compared."""
CANDIDATE = "candidate"


@dataclass(frozen=True)
class Placed:
    """A candidate on the device: its arrays, what surrounds them, and its launch."""

    subject: Subject
    library: TorchArrays
    arrays: dict[str, Any]
    guards: tuple[Any, ...]
    launch: Callable[[], object]
    seed: int

    def intact(self) -> bool:
        """Whether nobody wrote around the arrays."""
        return all(bool((guard == _PATTERN).all()) for guard in self.guards)


def measure(job: Job, clock: Clock) -> Verdict:
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


def _measured_exclusively(job: Job, clock: Clock, lock: GpuLock) -> Verdict:
    with clock.waiting("run"):
        lock.exclusive()
    torch = torch_module()
    try:
        return _measured(job, clock, lock, shared=False)
    except torch.OutOfMemoryError as error:
        why = "inputs and reference do not fit the memory of the device"
        return failed(clock.stage, why, (str(error).splitlines()[0],))


def _measured(job: Job, clock: Clock, lock: GpuLock, shared: bool = True) -> Verdict:
    if shared:
        with clock.waiting("run"):
            lock.shared()
    clock.begin("run", "run")
    subject = subject_of(job.problem)
    request = request_of(job.candidate, subject)
    built = build(request)
    loaded = Loaded(built.spec, built.cubin.image)
    seed = int.from_bytes(os.urandom(4), "little")
    library = TorchArrays(seed)
    arrays, guards = guarded(subject.arguments(), library)
    try:
        prepared = loaded.prepare(**arrays, **subject.scalars)
    except ArgusError as error:
        return say.verdict("rejected", "run", say.findings_of(error))
    placed = Placed(
        subject, library, arrays, guards, lambda: launch_and_wait(prepared), seed
    )
    try:
        bad, error = correct(placed, clock, chosen(subject, seed))
        if bad is not None:
            return bad
        with clock.waiting("time"):
            lock.exclusive()
        rounds = Rounds(placed)
        samples = _timed(job, clock, rounds, prepared)
        if rounds.bad is not None:
            return rounds.bad
        if shared:
            with clock.waiting("compare"):
                lock.shared()
        # Once more, with other numbers: what ran while it was timed is what is right.
        bad, again = correct(placed, clock, ("normal",))
    except ArgusError as fault:
        if fault.code not in ("AG0811", "AG0810"):
            raise
        return say.verdict("crashed", clock.stage, say.findings_of(fault))
    if bad is not None:
        return bad
    return _believed(subject, samples, max(error, again))


def _believed(
    subject: Subject, samples: Mapping[str, list[float]], error: float
) -> Verdict:
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
    made = Verdict(
        status="correct",
        stage="done",
        summary=f"{summary}; {against}" if against else summary,
    )
    return made.model_copy(update=told)


# ------------------------------------------------------------------------- correctness


def chosen(subject: Subject, seed: int) -> tuple[Distribution, ...]:
    """Distributions to try: all, or three of them where the reference is dear."""
    if subject.entry.work(subject.case).flops < _HEAVY:
        return DISTRIBUTIONS
    return ("normal", *random.Random(seed).sample(DISTRIBUTIONS[1:], 2))


def correct(
    placed: Placed, clock: Clock, distributions: tuple[Distribution, ...]
) -> tuple[Verdict | None, float]:
    """What is wrong, or None; and the largest error.

    Raises ArgusError AG0811 for a fault of the device, AG1018 for one of the reference.
    """
    subject, case = placed.subject, placed.subject.case
    error = 0.0
    passed: dict[str, float] | None = None
    # The last run has finite poison, so that one that is alone has it, too.
    for left, distribution in zip(
        range(len(distributions), 0, -1), distributions, strict=True
    ):
        finite = left % 2 == 1
        inputs = fill(
            subject, case, placed.library, placed.arrays, distribution, finite=finite
        )
        clock.begin("run", "launch")
        placed.launch()
        clock.begin("compare", "run")
        where = f"{distribution} inputs of seed {placed.seed}"
        if not placed.intact():
            why = "memory outside the candidate's tensors was written"
            return say.verdict("wrong", "compare", (say.said("AG1020", why),)), error
        reference = expected(subject.entry, case, inputs)
        if not representable(inputs, reference):
            continue
        if passed is None:
            passed = sensitivity(subject, case, inputs, reference)
        tolerances = derived(subject, inputs, reference, passed)
        found = compared(inputs, reference, tolerances)
        bad = wrong(found, inputs, where)
        if bad is not None:
            return bad, error
        error = max(error, found.error)
    return None, error


def guarded(
    arguments: tuple[Argument, ...], library: TorchArrays
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Arrays for the arguments, by name in order, and the bytes around them."""
    torch = library.module
    arrays: dict[str, Any] = {}
    guards: list[Any] = []
    for argument in arguments:
        length = math.prod(argument.shape) * argument.dtype.bytes
        # The guard behind begins at the first byte after the tensor.
        whole = torch.full(
            (2 * GUARD + length,), _PATTERN, dtype=torch.uint8, device=library.device
        )
        inner = whole[GUARD : GUARD + length]
        arrays[argument.name] = _typed(library, inner, argument.dtype).view(
            argument.shape
        )
        guards += [whole[:GUARD], whole[GUARD + length :]]
    return arrays, tuple(guards)


def _typed(library: TorchArrays, raw: Any, dtype: DType) -> Any:
    return raw.view(library.poisoned(dtype, (1,)).dtype)


# -------------------------------------------------------------------------------- time


class Rounds:
    """The rounds of a timing: what they are given, and whether it comes out right.

    Every round has new inputs, and outputs that hold other finite numbers. Of some, by
    chance, the results are compared with the oracle; ``bad`` is what was wrong.
    """

    def __init__(self, placed: Placed, share: float = _COMPARED) -> None:
        self.bad: Verdict | None = None
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
