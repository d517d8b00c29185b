"""The judge: verdicts on untrusted candidates, through an executor.

    with LocalJudge() as judge:
        verdicts = judge.evaluate(problem, candidates)

It keeps what hung, so that it is never run twice. Oracle, timer and tolerances are out
of a candidate's reach: what it can say is a kernel in the language, and it runs in a
process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from argus.evaluation.judge.executor import Executor, job_key
from argus.evaluation.judge.limits import Job, JobKind, Limits, View
from argus.evaluation.judge.local import LocalExecutor
from argus.runs.records import Candidate, JudgeVerdict, Problem


class Judge:
    """Verdicts in the order of the candidates: a ``CandidateJudge`` of the optimiser.

    ``hung``: programs (``JudgeVerdict.program``) that hung in an earlier run. ``prove``
    is switched off by tests only, which want wrong kernels to reach the device.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        limits: Limits | None = None,
        hung: Iterable[str] = (),
        prove: bool = True,
    ) -> None:
        self.executor = executor
        self.limits = limits or Limits()
        self._hung = set(hung) - {""}
        self._prove = prove

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the GPUs; empty where times are predicted."""
        return self.executor.devices

    @property
    def hung(self) -> frozenset[str]:
        """What is not run again; give it to the judge of a resumed run."""
        return frozenset(self._hung)

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """Parse, place, prove, build, predict; nothing is run."""
        return self._run("check", problem, candidates)

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """:meth:`check`, then correctness and time on a GPU.

        Without one: correctness in the interpreter at small sizes, time predicted.
        """
        return self._run("evaluate", problem, candidates)

    def simulate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """:meth:`check`, then correctness in the interpreter, even where a GPU is."""
        return self._run("simulate", problem, candidates)

    def refuse(self, hung: Iterable[str]) -> None:
        """Never run these programs (``JudgeVerdict.program``), which hung elsewhere."""
        self._hung.update(set(hung) - {""})

    def _run(
        self, kind: JobKind, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        jobs = [
            Job(
                kind=kind,
                problem=problem,
                candidate=candidate,
                limits=self.limits,
                hung=self.hung,
                prove=self._prove,
            )
            for candidate in candidates
        ]
        verdicts = self.executor.run(jobs)
        for job, verdict in zip(jobs, verdicts, strict=True):
            if verdict.status == "hung":
                self._hung.update({verdict.program, job_key(job)} - {""})
        return verdicts

    def close(self) -> None:
        """Give processes and devices back."""
        self.executor.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LocalJudge(Judge):
    """A judge with processes of this machine.

    ``workers``: candidates without a GPU at a time. ``gpus``: which GPUs, () for none,
    None for all there are.
    """

    def __init__(
        self,
        workers: int | None = None,
        gpus: Sequence[str | int] | None = None,
        limits: Limits | None = None,
        *,
        hung: Iterable[str] = (),
        prove: bool = True,
    ) -> None:
        self._local = LocalExecutor(workers=workers, gpus=gpus, limits=limits)
        super().__init__(self._local, limits=limits, hung=hung, prove=prove)

    def inspect(
        self, problem: Problem, candidate: Candidate, view: View
    ) -> Mapping[str, Any]:
        """What can be shown of a candidate; see ``argus.evaluation.judge.inspecting``.

        With the key "findings" where it cannot be shown.
        """
        job = Job(
            kind="check",
            problem=problem,
            candidate=candidate,
            limits=self.limits,
            view=view,
        )
        return self._local.inspect(job)
