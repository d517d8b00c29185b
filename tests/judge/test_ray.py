"""The same verdicts from a local Ray cluster, also when its workers are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ray")

from argus.evaluation.judge import Judge, Limits
from argus.evaluation.judge.ray_executor import RayExecutor
from argus.runs.records import Candidate, JudgeVerdict
from judge.problems import AFFINE, TASK
from judge.test_judge import SLOW

# Ray speaks of its own future on import.
pytestmark = pytest.mark.filterwarnings("ignore")

GOOD = Candidate(source=TASK, kernel="affine")
LIMITS = Limits(simulate=1)
SETTINGS = {
    "num_cpus": 2,
    "num_gpus": 0,
    "object_store_memory": 80 << 20,
    "logging_level": "ERROR",
}


@pytest.fixture
def executor() -> Iterator[RayExecutor]:
    made = RayExecutor(workers=2, limits=LIMITS, settings=dict(SETTINGS))
    yield made
    made.close()


def _judged(judge: Judge, candidate: Candidate) -> tuple[threading.Thread, list[Any]]:
    found: list[JudgeVerdict] = []
    run = threading.Thread(
        target=lambda: found.extend(judge.evaluate(AFFINE, [candidate]))
    )
    run.start()
    return run, found


def test_workers_and_their_loss(executor: RayExecutor) -> None:
    import ray

    judge = Judge(executor, limits=LIMITS)
    assert judge.devices == ()
    wrong = GOOD.model_copy(update={"source": TASK.replace("x * alpha", "x")})
    made = judge.evaluate(AFFINE, [GOOD, wrong, GOOD])
    assert [v.status for v in made] == ["correct", "refuted", "correct"], made

    # A worker is killed: its job is done by another, which finds that it hangs.
    first = executor.actors()[0]
    pid: int = ray.get(first.__ray_call__.remote(lambda self: os.getpid()))
    run, found = _judged(judge, SLOW)
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)
    run.join(60)
    assert [v.status for v in found] == ["hung"]
    assert executor.actors()[0] is not first

    # Every worker that gets the job is lost: it is given up, and the others go on.
    slow = SLOW.model_copy(update={"source": SLOW.source + "\n# another\n"})
    run, found = _judged(judge, slow)
    lost: list[Any] = []
    while run.is_alive():
        actor = executor.actors()[0]  # of idle ones the first gets the job
        if actor not in lost:
            lost.append(actor)
            ray.kill(actor)
        time.sleep(0.1)
    assert [v.status for v in found] == ["failed"]
    assert found[0].findings[0].code == "AG1017"
    assert judge.evaluate(AFFINE, [GOOD])[0].status == "correct"
