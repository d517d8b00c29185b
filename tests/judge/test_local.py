"""What the local executor makes of processes and GPUs, with processes made up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from argus.evaluation.judge import Judge, LocalExecutor, local
from argus.evaluation.judge.limits import Job, Limits
from argus.evaluation.judge.plans import Plan
from argus.evaluation.judge.process import Outcome
from argus.runs.records import Candidate, JudgeVerdict, Measured, Predicted
from judge.problems import AFFINE, TASK

GOOD = Candidate(source=TASK, kernel="affine")
CHECKED = JudgeVerdict(
    status="correct",
    stage="build",
    predicted=Predicted(microseconds=7.0, bottleneck="memory"),
    program="a" * 64,
    seconds={"build": 1.0},
)
MEASURED = JudgeVerdict(
    status="correct",
    stage="done",
    measured=Measured(
        microseconds=5, low=4, high=6, samples=9, baselines={}, device="card"
    ),
    seconds={"run": 0.5},
)
DONE = Outcome("done", "build", "build", 1.0, CHECKED)
HEALTHY = Outcome("done", "run", "run", 1.0, told={"healthy": True})
SICK = Outcome("done", "run", "run", 1.0, told={"healthy": False})


class Processes:
    """In the place of `attempt`: outcomes by task, and what was asked for."""

    def __init__(self, measure: Outcome, health: Outcome = HEALTHY) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.jobs: dict[str, Job | None] = {}
        self.measure = measure
        self.health = health
        self.check = [DONE]
        self._lock = threading.Lock()

    def __call__(
        self,
        task: str,
        job: Job | None,
        limits: Limits,
        *,
        gpu: str | None = None,
        stop: object = None,
    ) -> Outcome:
        with self._lock:
            self.asked.append((task, gpu))
            self.jobs[task] = job
            if task in ("check", "plan"):
                return self.check.pop(0) if len(self.check) > 1 else self.check[0]
        return {"measure": self.measure, "health": self.health}[task]


Made = Callable[..., tuple[Judge, Processes]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    def make(
        measure: Outcome, health: Outcome = HEALTHY, gpus: Any = (0,)
    ) -> tuple[Judge, Processes]:
        processes = Processes(measure, health)
        monkeypatch.setattr(local, "attempt", processes)
        monkeypatch.setattr(local, "_HEALTH_PAUSE", 0.0)
        monkeypatch.setattr(local, "_RESTARTS", (0.0, 0.0))
        return Judge(LocalExecutor(workers=2, gpus=gpus)), processes

    return make


def other(number: int) -> Candidate:
    return GOOD.model_copy(update={"source": f"{TASK}\n# {number}\n"})


def test_a_measured_candidate_keeps_what_was_known(made: Made) -> None:
    judge, processes = made(Outcome("done", "done", "run", 1.0, MEASURED))
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert verdict.status == "correct" and verdict.microseconds == 5
    assert verdict.predicted == CHECKED.predicted
    assert verdict.program == CHECKED.program
    assert verdict.seconds == {"build": 1.0, "run": 0.5}
    assert processes.asked == [("plan", None), ("measure", "0")]
    judge.check(AFFINE, [GOOD])
    assert processes.asked[2:] == [("check", None)]


def test_a_hang_on_the_gpu(made: Made) -> None:
    judge, processes = made(Outcome("late", "run", "launch", 3.0))
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert (verdict.status, verdict.stage) == ("hung", "run")
    assert verdict.program == CHECKED.program
    assert ("health", "0") in processes.asked
    assert CHECKED.program in judge.hung
    # Another file with the same program is checked, and not run.
    processes.asked.clear()
    (verdict,) = judge.evaluate(AFFINE, [other(1)])
    assert verdict.status == "hung" and "not run again" in verdict.summary
    assert processes.asked == [("plan", None)]
    # Nor by the judge of a resumed run.
    resumed = Judge(judge.executor.__class__(gpus=(0,)), hung=[CHECKED.program])
    (verdict,) = resumed.evaluate(AFFINE, [other(2)])
    assert verdict.status == "hung"
    assert ("measure", "0") not in processes.asked


def test_a_fault_on_the_gpu(made: Made) -> None:
    judge, processes = made(Outcome("died", "run", "launch", 1.0, code=-11))
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert verdict.status == "crashed" and "SIGSEGV" in verdict.summary
    assert processes.asked[-1] == ("health", "0")
    processes.measure = Outcome("done", "done", "run", 1.0, MEASURED)
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "correct"


def test_a_gpu_that_does_not_recover_is_given_up(made: Made) -> None:
    judge, processes = made(Outcome("late", "run", "launch", 3.0), SICK)
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "hung"
    assert processes.asked.count(("health", "0")) == 3
    processes.measure = Outcome("done", "done", "run", 1.0, MEASURED)
    processes.check = [
        Outcome(
            "done", "build", "build", 1.0, CHECKED.model_copy(update={"program": p})
        )
        for p in ("b", "c")
    ]
    (verdict,) = judge.evaluate(AFFINE, [other(1)])
    # It must not be called right, and not predicted in silence either.
    assert verdict.status == "failed"
    assert verdict.findings[0].code == "AG1017"


def test_the_other_gpu_goes_on(made: Made) -> None:
    judge, processes = made(Outcome("late", "run", "launch", 3.0), SICK, (0, 1))
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "hung"
    processes.measure = Outcome("done", "done", "run", 1.0, MEASURED)
    fine = CHECKED.model_copy(update={"program": "b"})
    processes.check = [Outcome("done", "build", "build", 1.0, fine)]
    made_now = judge.evaluate(AFFINE, [other(i) for i in range(4)])
    assert [v.status for v in made_now] == ["correct"] * 4
    used = {gpu for task, gpu in processes.asked if task == "measure"}
    assert used == {"0", "1"}
    last = [gpu for task, gpu in processes.asked if task == "measure"][1:]
    assert set(last) == {"1"}


def test_both_gpus_are_used(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, processes = made(Outcome("done", "done", "run", 1.0, MEASURED), gpus=(2, 3))
    assert judge.devices == ("2", "3")
    barrier = threading.Barrier(2, timeout=20)
    whole = processes.__call__

    class Meeting(Processes):
        def __call__(self, task: str, *rest: Any, **named: Any) -> Outcome:
            if task == "measure":
                barrier.wait()  # passed only by two at a time
            return whole(task, *rest, **named)

    monkeypatch.setattr(local, "attempt", Meeting(processes.measure))
    made_now = judge.evaluate(AFFINE, [other(i) for i in range(4)])
    assert [v.status for v in made_now] == ["correct"] * 4


def test_a_slow_reference_is_no_fault_of_the_candidate(made: Made) -> None:
    judge, processes = made(Outcome("late", "compare", "run", 90.0))
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert verdict.status == "failed"
    assert not judge.hung
    assert ("health", "0") not in processes.asked


def test_a_process_that_cannot_be_started_is_started_again(made: Made) -> None:
    judge, processes = made(Outcome("done", "done", "run", 1.0, MEASURED))
    gone = Outcome("unstarted", "parse", "start", 0.1, log="Connection refused")
    processes.check = [gone, gone, DONE]
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "correct"
    processes.check = [gone]
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert verdict.status == "failed" and "could not be started" in verdict.summary


def test_what_is_refused_does_not_reach_the_gpu(made: Made) -> None:
    judge, processes = made(Outcome("done", "done", "run", 1.0, MEASURED))
    refused = CHECKED.model_copy(update={"status": "refuted"})
    processes.check = [Outcome("done", "verify", "verify", 1.0, refused)]
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "refuted"
    assert processes.asked == [("plan", None)]


def test_what_was_planned_is_what_is_measured(made: Made) -> None:
    plan = Plan(trials=(), drives=(), tolerances={"Y": 0.5})
    judge, processes = made(Outcome("done", "time", "time", 1.0, MEASURED))
    checked = CHECKED.model_copy(update={"not_driven": ("a condition",)})
    told = {"plan": plan.model_dump(mode="json")}
    processes.check = [Outcome("done", "build", "build", 1.0, checked, told)]
    (verdict,) = judge.evaluate(AFFINE, [GOOD])
    assert [task for task, _ in processes.asked] == ["plan", "measure"]
    measured = processes.jobs["measure"]
    assert measured is not None and measured.plan == plan
    assert verdict.not_driven == ("a condition",) and verdict.measured is not None


def test_without_proofs_nothing_is_planned(made: Made) -> None:
    """Tests want wrong kernels to reach the device."""
    judge, processes = made(Outcome("done", "time", "time", 1.0, MEASURED))
    bare = Judge(judge.executor, prove=False)
    bare.evaluate(AFFINE, [GOOD])
    assert [task for task, _ in processes.asked] == ["check", "measure"]
    measured = processes.jobs["measure"]
    assert measured is not None and measured.plan is None
