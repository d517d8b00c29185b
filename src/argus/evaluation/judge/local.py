"""Jobs on this machine: a process for each, workers in parallel, a few on each GPU.

The stages without a GPU of a batch run side by side; what passes them queues for a GPU,
where results are compared side by side, too, and times are taken alone (`gpu_lock.py`).
After a hang or a fault a GPU is used again only when a known kernel works on it.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from argus.evaluation.judge import findings as say
from argus.evaluation.judge.executor import failed, job_key, known_to_hang
from argus.evaluation.judge.limits import Job, Limits
from argus.evaluation.judge.plans import Plan
from argus.evaluation.judge.process import Outcome, attempt, context, limit_of
from argus.evaluation.judge.worker import Task
from argus.files.settings import installed
from argus.runs.records import JudgeVerdict

_RESTARTS = (0.5, 2.0)
"""Seconds before another try to start a process: a fork server that was killed takes
some to be gone."""
_SIDE_BY_SIDE = 3
"""Candidates on one GPU. Most of their time is spent on the host."""
_HEALTH_TRIES = 3
_HEALTH_PAUSE = 2.0
"""Seconds between tries: the driver needs some to reset a channel after a fault."""


class LocalExecutor:
    """Jobs in processes of this machine.

    ``workers``: jobs without a GPU at a time (default: the processors). ``gpus``: what
    CUDA_VISIBLE_DEVICES would name, () for none; None takes all there are. Safe to use
    from several threads.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        gpus: Sequence[str | int] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.workers = workers or max(1, len(os.sched_getaffinity(0)))
        if gpus is None and not _driver():
            gpus = ()
        context(torch=gpus is None or len(gpus) > 0)
        found = _probe(self.limits) if gpus is None else [(str(g), "") for g in gpus]
        self._names = dict(found)
        self._free: queue.Queue[str] = queue.Queue()
        for _ in range(_SIDE_BY_SIDE):
            for gpu, _ in found:
                self._free.put(gpu)
        self._usable = {gpu for gpu, _ in found}
        self._hung: set[str] = set()
        self._stop = threading.Event()
        self._cpu = threading.Semaphore(self.workers)
        self._threads = ThreadPoolExecutor(
            self.workers + self._free.qsize(), thread_name_prefix="argus-judge"
        )

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the GPUs, or their numbers where no one asked for names."""
        return tuple(name or gpu for gpu, name in self._names.items())

    def run(self, jobs: Sequence[Job]) -> list[JudgeVerdict]:
        """A verdict for each job, in order.

        An exception of the caller's (Ctrl-C) kills what runs and goes on.
        """
        futures = [self._threads.submit(self._judged, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            self._stop.set()
            for future in futures:
                future.cancel()
            for future in futures:
                if not future.cancelled():
                    future.exception()
            self._stop.clear()
            raise

    def inspect(self, job: Job) -> Mapping[str, Any]:
        """The view ``job.view`` of a candidate; with "findings" if there is none."""
        refused = _unreadable(job)
        if refused is None:
            with self._cpu:
                outcome = self._attempt("inspect", job)
            if outcome.ending == "done" and outcome.told is not None:
                return outcome.told
            refused = _without_verdict(outcome, job.limits)
        return {"findings": [f.model_dump(mode="json") for f in refused.findings]}

    def close(self) -> None:
        """End what runs, and the threads."""
        self._stop.set()
        self._threads.shutdown(cancel_futures=True)

    # ---------------------------------------------------------------------- one job

    def _judged(self, job: Job) -> JudgeVerdict:
        refused = _unreadable(job)
        if refused is not None:
            return refused
        key = job_key(job)
        if key in job.hung or key in self._hung:
            return known_to_hang("parse", "")
        # Also when no GPU is left: a predicted time must not pass for a measured one.
        on_gpu = job.kind == "evaluate" and bool(self._names)
        task: Task = "plan" if on_gpu else "simulate"
        if job.kind == "check" or (on_gpu and not job.prove):
            task = "check"
        with self._cpu:
            outcome = self._attempt(task, job)
            if outcome.within == "equal" and outcome.ending in ("late", "died"):
                # Comparing terms is the judge's work, and no fault of the candidate's.
                why = f"comparing terms ended with {_ending(outcome.code)}"
                if outcome.ending == "late":
                    why = f"comparing terms took {limit_of(job.limits, 'equal'):g} s"
                job = job.model_copy(update={"undecided": why})
                outcome = self._attempt(task, job)
        made = _verdict(outcome, job.limits)
        if made.status == "hung":
            self._hung.add(key)
        if not on_gpu or made.status != "correct":
            return made
        if made.program in job.hung or made.program in self._hung:
            return _joined(known_to_hang("run", made.program), made)
        told = (outcome.told or {}).get("plan")
        plan = None if told is None else Plan.model_validate(told)
        return self._measured(job.model_copy(update={"plan": plan}), made)

    def _attempt(self, task: Task, job: Job, gpu: str | None = None) -> Outcome:
        """One process; another one if it could not even be started."""
        outcome = attempt(task, job, job.limits, gpu=gpu, stop=self._stop)
        for pause in _RESTARTS:
            if outcome.ending != "unstarted":
                break
            self._stop.wait(pause)
            outcome = attempt(task, job, job.limits, gpu=gpu, stop=self._stop)
        return outcome

    def _measured(self, job: Job, checked: JudgeVerdict) -> JudgeVerdict:
        gpu = self._take()
        if gpu is None:
            return _joined(failed("run", "no GPU of this machine answers"), checked)
        healthy = True
        try:
            # It may have hung while this one waited for the GPU.
            if checked.program in self._hung:
                return _joined(known_to_hang("run", checked.program), checked)
            outcome = self._attempt("measure", job, gpu)
            made = _verdict(outcome, job.limits)
            if made.status == "hung":
                self._hung.update((checked.program, job_key(job)))
            if made.status in ("hung", "crashed"):
                healthy = self._healthy(gpu)
            return _joined(made, checked)
        finally:
            self._give(gpu, healthy)

    # ------------------------------------------------------------------------- GPUs

    def _take(self) -> str | None:
        """A free GPU, waiting for one; None when none is left that works."""
        while self._usable and not self._stop.is_set():
            try:
                gpu = self._free.get(timeout=0.2)
            except queue.Empty:
                continue
            if gpu in self._usable:
                return gpu
        return None

    def _give(self, gpu: str, healthy: bool) -> None:
        if healthy:
            self._free.put(gpu)
            return
        self._usable.discard(gpu)

    def _healthy(self, gpu: str) -> bool:
        """Whether a known kernel still gives the right result on the GPU."""
        for number in range(_HEALTH_TRIES):
            outcome = attempt("health", None, self.limits, gpu=gpu, stop=self._stop)
            if outcome.told is not None and outcome.told.get("healthy") is True:
                return True
            if number + 1 < _HEALTH_TRIES:
                time.sleep(_HEALTH_PAUSE)
        return False


def _driver() -> bool:
    """Whether there is a CUDA driver and torch, without initialising either."""
    if not installed("torch"):
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _probe(limits: Limits) -> list[tuple[str, str]]:
    """The GPUs that a process sees: what names them to CUDA, and their names.

    A list in CUDA_VISIBLE_DEVICES is kept: the processes get one entry of it each.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "":
        return []
    outcome = attempt("probe", None, limits, gpu=visible)
    names: list[str] = list((outcome.told or {}).get("devices", ()))
    entries = visible.split(",") if visible else [str(i) for i in range(len(names))]
    return list(zip(entries, names, strict=False))


# ------------------------------------------------------------------- what became of it


def _unreadable(job: Job) -> JudgeVerdict | None:
    """Refuse what no process needs to see: too long, or no text."""
    length = len(job.candidate.source)
    if length > job.limits.source:
        most = job.limits.source
        why = f"the source has {length} characters, at most {most} are read"
        return say.verdict("rejected", "parse", (say.said("AG0001", why),))
    try:
        job.candidate.model_dump_json()
    except ValueError:  # pydantic's error of serialising: half of a character
        why = "the candidate has characters that are not text"
        return say.verdict("rejected", "parse", (say.said("AG0001", why),))
    return None


def _verdict(outcome: Outcome, limits: Limits) -> JudgeVerdict:
    """The verdict of a process, or what its end says of the candidate."""
    if outcome.ending == "done" and outcome.verdict is not None:
        return outcome.verdict
    made = _without_verdict(outcome, limits)
    return made.model_copy(update={"seconds": {outcome.stage: outcome.seconds}})


def _without_verdict(outcome: Outcome, limits: Limits) -> JudgeVerdict:
    stage, within = outcome.stage, outcome.within
    log = outcome.log.splitlines()[-12:]
    match outcome.ending:
        case "stopped":
            return failed(stage, "the judge was stopped")
        case "unstarted":
            return failed(stage, "the candidate's process could not be started", log)
        case "late" if within == "start":
            return failed(stage, "the candidate's process did not start", log)
        case "late" if within == "wait":
            why = f"others used the GPU for {limits.wait:g} s"
            return failed(stage, why, log)
        case "late" if within == "run" and stage != "time":
            seconds = limit_of(limits, within)
            why = f"inputs and reference took more than {seconds:g} s on the GPU"
            return failed(stage, why, log)
        case "late":
            seconds = limit_of(limits, within)
            why = f"killed after {seconds:g} s in stage {stage}"
            return say.verdict("hung", stage, (say.said("AG1012", why, log),))
        case _:
            why = f"the process ended with {_ending(outcome.code)} in stage {stage}"
            return say.verdict("crashed", stage, (say.said("AG1013", why, log),))


def _ending(code: int | None) -> str:
    if code is None:
        return "no code"
    if code >= 0:
        return f"code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _joined(made: JudgeVerdict, checked: JudgeVerdict) -> JudgeVerdict:
    """A verdict from the GPU with what was known before."""
    seconds = dict(checked.seconds)
    for stage, spent in made.seconds.items():
        seconds[stage] = seconds.get(stage, 0.0) + spent
    return made.model_copy(
        update={
            "predicted": checked.predicted,
            "equality": checked.equality,
            "resources": checked.resources,
            "program": checked.program,
            "not_driven": checked.not_driven,
            "limit_microseconds": made.limit_microseconds or checked.limit_microseconds,
            "seconds": seconds,
        }
    )
