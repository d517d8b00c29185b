"""Orders for the small task, and a judge that says what the real one would.

`test_run.py` and `test_malicious.py` ask the real one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from small_kernels import REFUTED, SAME, START, written

from argus.agent.assemble import optimiser_of
from argus.agent.interfaces import BudgetLeft, ProposalOrder
from argus.agent.loop import Options, resume
from argus.agent.model.agent import ModelAgent
from argus.agent.model.settings import settings_of
from argus.agent.tasks import file_task
from argus.runs.records import (
    Candidate,
    Finding,
    JudgeVerdict,
    Predicted,
    Problem,
    Proposal,
    Task,
)
from argus.runs.store import RunStore

WRONG = JudgeVerdict(
    status="refuted",
    stage="verify",
    summary="AG0305: an element is stored at another N than its own",
    findings=(
        Finding(
            code="AG0305",
            message="an element is stored at another N than its own",
            line=11,
            text="error[AG0305]: an element is stored at another N than its own\n"
            "  --> /home/me/.cache/argus/candidates/0123456789abcdef/kernel.py:11:5",
            counterexample={
                "place": {"role": "block", "thread": 7, "block": 0, "iteration": {}},
                "sizes": {"M": 1, "N": 64},
                "operands": [
                    {
                        "label": "stored",
                        "tag": {"M": 0, "N": 1},
                        "coordinate": [0, 0],
                        "chain": [
                            {
                                "text": "loaded from X[0, 1]",
                                "span": {"file": "kernel.py", "line": 10, "column": 9},
                            }
                        ],
                    }
                ],
                "replayed": True,
                "notes": [],
            },
        ),
    ),
)


def program(source: str) -> str:
    """What the judge names a program by; SAME is START in other words."""
    return hashlib.sha256((START if source == SAME else source).encode()).hexdigest()


@dataclass
class KnowingJudge:
    """REFUTED is refuted, what has "import os" is rejected, all else is correct."""

    checked: list[Candidate] = field(default_factory=list)

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        self.checked += candidates
        return [self._verdict(c) for c in candidates]

    evaluate = check

    def _verdict(self, candidate: Candidate) -> JudgeVerdict:
        if candidate.source.startswith(REFUTED):
            return WRONG
        if "import os" in candidate.source:
            finding = Finding(code="AG0022", message="there is no such import", line=1)
            return JudgeVerdict(
                status="rejected",
                stage="parse",
                findings=(finding,),
                summary="AG0022: there is no such import",
            )
        return JudgeVerdict(
            status="correct",
            stage="build",
            predicted=Predicted(
                microseconds=10.0 if candidate.source == START else 8.0,
                bottleneck="memory",
                parts={"memory": 7.5, "launch": 2.5},
            ),
            program=program(candidate.source),
        )


def small_task(folder: Path) -> Task:
    """The task of the small kernel's file."""
    return file_task(written(folder), {"M": 64, "N": 512})


class Desk:
    """`order()` is an order to change the start kernel."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.judge = KnowingJudge()

    def order(
        self,
        optimisation: str = "vectorised-access",
        left: BudgetLeft | None = None,
        tried: Sequence[str] = (),
        verdict: JudgeVerdict | None = None,
        **proposal: object,
    ) -> ProposalOrder:
        given: dict[str, object] = {
            "where": "wider loads",
            "predicted_gain": 0.2,
            "invariants": ("ag.expect(bank_conflicts=0)",),
            "reason": "rows are long",
            **proposal,
        }
        if verdict is None:
            (verdict,) = KnowingJudge().check(self.task.problem, [self.task.start])
        return ProposalOrder(
            task=self.task,
            parent=self.task.start,
            verdict=verdict,
            proposal=Proposal.model_validate({"optimisation": optimisation, **given}),
            advice=("Wider tiles were slower at short rows.",),
            seed=0,
            tried=lambda c: c.source in tried,
            left=left or BudgetLeft(),
        )


def going_on(pipe: Connection, runs: Path, url: str) -> None:
    """What a process does that goes on with the latest run; see `test_run.py`."""
    with RunStore(runs).open("latest") as run:
        if len(run.events()) > 1:
            resume(run, {})
        settings = settings_of("test", url, {"parallel": 1, "timeout": 60})
        with ModelAgent(settings) as agent:
            options = Options(batch=1, ablate=False)
            pipe.send(optimiser_of(run, KnowingJudge(), agent, options).go().reason)
