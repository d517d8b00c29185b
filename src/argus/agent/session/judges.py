"""Who judges for a session, and what stands for the agent outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from argus.agent.interfaces import CandidateJudge as Judging
from argus.agent.interfaces import Lowering, ProposalOrder
from argus.evaluation.judge.limits import View
from argus.runs.records import Candidate, JudgeVerdict, Problem

NAME = "external"
"""The agent's name in records."""


class Bench(Judging, Protocol):
    """What a session asks of a judge (``argus.evaluation.judge.LocalJudge``)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the GPUs; empty where times are predicted."""
        ...

    def simulate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """Check, then correctness in the interpreter."""
        ...

    def inspect(
        self, problem: Problem, candidate: Candidate, view: View
    ) -> Mapping[str, Any]:
        """What can be shown of a candidate."""
        ...

    def refuse(self, hung: Iterable[str]) -> None:
        """Never run these programs."""
        ...

    def close(self) -> None:
        """Give processes and devices back."""
        ...


def _local(gpu: bool) -> Bench:
    from argus.evaluation.judge import LocalJudge

    return LocalJudge() if gpu else LocalJudge(gpus=())


class Judges:
    """The judge, made when it is first needed. Several threads may ask for it."""

    def __init__(self, make: Callable[[bool], Bench] = _local) -> None:
        self._make = make
        self._made: dict[bool, Bench] = {}
        self._lock = threading.Lock()

    def get(self, *, gpu: bool) -> Bench:
        """A judge. ``gpu``: for what needs one, if there is one."""
        with self._lock:
            if not gpu and True in self._made:
                return self._made[True]  # it can do this, too
            if gpu not in self._made:
                self._made[gpu] = self._make(gpu)
            return self._made[gpu]

    def close(self) -> None:
        """End all of them."""
        for judge in self._made.values():
            judge.close()
        self._made.clear()


class External:
    """Stands for the agent outside: it is not called, it calls."""

    name = NAME

    def lower(self, order: ProposalOrder, judge: Judging) -> Lowering:
        """Never asked for: a session hands in what the agent has submitted."""
        raise AssertionError("an external agent is not called")


class Deferred:
    """The judge for the loop: started only when it is asked."""

    def __init__(self, judges: Judges, hung: frozenset[str]) -> None:
        self._judges = judges
        self._hung = hung

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """See ``argus.agent.interfaces.CandidateJudge``. Looks for no GPU."""
        return self._judge(gpu=False).check(problem, candidates)

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """See ``argus.agent.interfaces.CandidateJudge``."""
        return self._judge(gpu=True).evaluate(problem, candidates)

    def _judge(self, *, gpu: bool) -> Bench:
        found = self._judges.get(gpu=gpu)
        found.refuse(self._hung)
        return found
