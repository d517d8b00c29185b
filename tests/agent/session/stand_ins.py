"""A judge whose verdicts are read off the text, and a planner that offers moves.

Neither compiles anything, so that what a session does with verdicts can be tested in
milliseconds. Sources are those of the softmax family.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from argus.agent import session
from argus.agent.session import Desk, Judges, StartRequest
from argus.agent.space import Design, key
from argus.agent.spaces import SPACES
from argus.agent.state import RunState
from argus.diagnostics import ArgusError
from argus.runs.records import (
    Candidate,
    Finding,
    JudgeVerdict,
    Measured,
    Predicted,
    Problem,
    Proposal,
    Proposed,
    Resources,
    Task,
)
from argus.runs.store import Run

WRONG = "# wrong"
"""In a source: it is refuted."""
HANGS = "# hangs"
LIMIT = 1.0


@dataclass
class FakeBench:
    """Times by the knobs; ``gpu``: whether they pass for measured ones.

    ``gate`` is called before a candidate is evaluated, and returns when it may be.
    """

    gpu: bool = False
    delay: float = 0.0
    gate: Callable[[], object] | None = None
    refused: set[str] = field(default_factory=set[str])
    asked: list[str] = field(default_factory=list[str])
    closed: bool = False

    @property
    def devices(self) -> tuple[str, ...]:
        return ("a formula",) if self.gpu else ()

    def _verdict(self, candidate: Candidate) -> JudgeVerdict:
        # Comments make no difference, nor whether a knob stands in the file or beside.
        lines = [x.partition("#")[0].rstrip() for x in candidate.source.splitlines()]
        text = repr(sorted(candidate.design.items()) or [x for x in lines if x])
        program = hashlib.sha256(text.encode()).hexdigest()
        if "import os" in candidate.source or "@ag.kernel" not in candidate.source:
            found = Finding(code="AG0022", message="no program", line=1, text="no, no")
            return JudgeVerdict(status="rejected", stage="parse", findings=(found,))
        if WRONG in candidate.source:
            found = Finding(
                code="AG0310",
                message="elements outside X reach a max",
                line=7,
                text="error[AG0310]: elements outside X reach a max",
                counterexample={"sizes": {"M": 1, "N": 16}},
            )
            return JudgeVerdict(status="refuted", stage="verify", findings=(found,))
        if program in self.refused or HANGS in candidate.source:
            return JudgeVerdict(status="hung", stage="run", program=program)
        number = int(program[:6], 16) / 16**6
        micros = 10.0 - 0.1 * number - 2.0 * candidate.source.count("# faster")
        return JudgeVerdict(
            status="correct",
            stage="build",
            summary="proved",
            predicted=Predicted(microseconds=micros, bottleneck="memory"),
            resources=Resources(threads=128, shared_bytes=0, registers=32),
            limit_microseconds=LIMIT,
            program=program,
        )

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        self.asked += ["check"] * len(candidates)
        return [self._verdict(c) for c in candidates]

    def simulate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        self.asked += ["simulate"] * len(candidates)
        return [self._verdict(c) for c in candidates]

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        self.asked += ["evaluate"] * len(candidates)
        time.sleep(self.delay)
        if self.gate is not None:
            self.gate()
        return [self._measured(self._verdict(c)) for c in candidates]

    def _measured(self, verdict: JudgeVerdict) -> JudgeVerdict:
        if not self.gpu or verdict.predicted is None:
            return verdict
        micros = 1.1 * verdict.predicted.microseconds
        measured = Measured(
            microseconds=micros,
            low=0.99 * micros,
            high=1.01 * micros,
            samples=50,
            baselines={"torch": 20.0},
            device="a formula",
        )
        return verdict.model_copy(
            update={"measured": measured, "stage": "done", "seconds": {"time": 0.5}}
        )

    def inspect(
        self, problem: Problem, candidate: Candidate, view: str
    ) -> Mapping[str, Any]:
        self.asked.append(f"inspect {view}")
        verdict = self._verdict(candidate)
        if verdict.status == "rejected":
            return {"findings": [f.model_dump() for f in verdict.findings]}
        if view == "proof":
            span = {"file": "k.py", "line": 7, "column": 1, "end_line": 7}
            word = "refuted" if verdict.status == "refuted" else "proved"
            one = {
                "rule": "AG0310",
                "claim": "padding does not take part",
                "span": span,
                "verdict": word,
                "method": "enumeration",
                "slow": False,
                "reason": "",
            }
            return {"proof": {"obligations": [one], "assumptions": []}}
        if view == "profile":
            assert verdict.predicted is not None
            assert verdict.resources is not None
            worst = {
                "value": 4,
                "ideal": 1,
                "line": 9,
                "role": "block",
                "what": "ld.shared of x",
                "why": "",
            }
            return {
                "predicted": {
                    "microseconds": 4.0,
                    "bottleneck": "memory",
                    "parts": {"memory": 3.0, "launch": 1.0},
                },
                "not_predicted": "",
                "occupancy": {"blocks": 8, "limited_by": "threads", "limits": {}},
                "resources": verdict.resources.model_dump(),
                "cluster": 1,
                "bank_conflicts": worst,
                "sectors": None,
                "access_bytes": None,
                "uncounted": [],
                "instructions": {"tensor cores": 4},
                "not_counted": "",
            }
        return {"text": f"{view} of {candidate.kernel}\n"}

    def refuse(self, hung: Iterable[str]) -> None:
        self.refused |= set(hung)

    def close(self) -> None:
        self.closed = True


class Moves:
    """Offers the moves of the best design, the first that was not tried."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task = task
        self._space = SPACES[task.family]

    def plan(
        self, state: RunState, trial: int, pending: Sequence[Design]
    ) -> Proposed | None:
        best = next(t for t in reversed(state.done) if state.design(t.number))
        design = state.design(best.number)
        assert design is not None
        problem = self._task.problem
        tried = {key(c.design) for c in state.candidates.values() if c.design}
        moves = [
            m
            for m in self._space.moves(design, problem)
            if key(self._space.apply(design, m.edit)) not in tried
        ][:4]
        if not moves:
            return None
        offers = tuple(
            Proposal(
                optimisation=m.optimisation,
                where=m.where,
                edit=dict(m.edit),
                invariants=("ag.expect(bank_conflicts=0)",),
                predicted_gain=0.1,
                score=-float(i),
            )
            for i, m in enumerate(moves)
        )
        probabilities = tuple(1.0 / len(offers) for _ in offers)
        return Proposed(
            trial=trial,
            parent=best.number,
            bottleneck="memory",
            proposals=offers,
            probabilities=probabilities,
            chosen=trial % len(offers),
        )


@dataclass
class FakePages:
    """Notes what is asked for; ``broken``: why there is no page."""

    folder: Path
    broken: str = ""
    written: list[str] = field(default_factory=list[str])
    ages: dict[str, float] = field(default_factory=dict[str, float])

    def ready(self, run: Run, since: float) -> Path | None:
        path = self.folder / run.id
        return path if self.ages.get(run.id, 0.0) >= since else None

    def write(self, run: Run) -> tuple[Path | None, str]:
        self.written.append(run.id)
        if self.broken:
            return None, f"not written: {self.broken}"
        self.ages[run.id] = time.time()
        return self.folder / run.id, "there"


def desk_at(
    folder: Path, bench: FakeBench | None = None, pages: FakePages | None = None
) -> Desk:
    """A desk whose judge is the given one."""
    made = bench or FakeBench()
    return Desk(folder, Judges(lambda gpu: made), pages=pages)


def begun(desk: Desk, **limits: Any) -> str:
    """A softmax session; returns its run."""
    asked = StartRequest(
        **{"task": "softmax", "shape": "64x256", "cold": True, **limits}
    )
    return session.start(desk, asked).run


def submitting(pipe: Connection, folder: Path, source: str, delay: float) -> None:
    """What a process does that submits once it is told to; see `test_cut_off.py`."""
    bench = FakeBench(delay=delay, gate=None if delay else pipe.recv)
    desk = desk_at(folder, bench)
    pipe.send("ready")
    pipe.recv()
    try:
        pipe.send(str(session.submit(desk, source).trial))
    except ArgusError as error:
        pipe.send(error.diagnostics[0].code)
