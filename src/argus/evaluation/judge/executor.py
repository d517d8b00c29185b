"""Where jobs are done: the interface, and what all executors say of lost work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

from argus.evaluation.judge.findings import said, verdict
from argus.evaluation.judge.limits import Job
from argus.runs.records import JudgeVerdict, Stage


class Executor(Protocol):
    """Does jobs, several at a time, on processors and GPUs that it has."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of its GPUs; empty where times are predicted."""
        ...

    def run(self, jobs: Sequence[Job]) -> list[JudgeVerdict]:
        """A verdict for each job, in order. Raises nothing for what a job does."""
        ...

    def close(self) -> None:
        """Give everything back. A closed executor does no more jobs."""
        ...


def job_key(job: Job) -> str:
    """What is judged: the problem and the candidate without its design."""
    candidate = job.candidate.model_copy(update={"design": {}})
    text = job.problem.model_dump_json() + candidate.model_dump_json()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def failed(stage: Stage, why: str, notes: Sequence[str] = ()) -> JudgeVerdict:
    """The judge itself could not work."""
    return verdict("failed", stage, (said("AG1017", why, notes),))


def known_to_hang(stage: Stage, program: str) -> JudgeVerdict:
    """Not run, since the same hung before."""
    why = "the same program hung before, and is not run again"
    made = verdict("hung", stage, (said("AG1012", why),))
    return made.model_copy(update={"program": program})
