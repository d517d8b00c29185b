"""Where a run of an external agent stands: questions to its record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from argus.agent.assemble import space_of
from argus.agent.budget import StoppingRules, enough, spent
from argus.agent.session.judges import NAME
from argus.agent.session.results import Left
from argus.agent.session.sources import candidate_of
from argus.agent.state import RunState
from argus.diagnostics import fail
from argus.kernels.space import DesignSpace
from argus.runs.history import History, RunTrial, history
from argus.runs.records import Candidate, Task, Value
from argus.runs.store import Run

DRY_RUNS = 8
"""Calls of `bench` for a proposal: it is no trial, and a run is to end."""


@dataclass
class At:
    """Where a run stands. ``now`` is the time for which ``minutes`` are counted."""

    run: Run
    state: RunState
    history: History
    last: float
    now: float = field(default_factory=lambda: time.time())

    @staticmethod
    def of(run: Run) -> At:
        """From the record. Raises ArgusError AG1030 for another agent's run."""
        stamped = run.stamped()
        if not stamped:
            raise fail("AG1003", None, f"{run.id} has no beginning")
        found = history(stamped)
        if found.started.agent != NAME:
            raise fail(
                "AG1030",
                None,
                f"{run.id} is a run of the agent `{found.started.agent}`",
                help=f"argus optimize --resume {run.id}",
            )
        state = RunState.rebuild([s.event for s in stamped], run.get)
        return At(run, state, found, stamped[-1].time)

    @property
    def task(self) -> Task:
        """What the run is for."""
        return self.state.started.task

    @cached_property
    def space(self) -> DesignSpace:
        """The task's design space."""
        return space_of(self.task)

    @property
    def minutes(self) -> float:
        """Wall-clock time of the run so far, the agent's own included."""
        since = 0.0 if self.state.finished else max(0.0, self.now - self.last)
        return (self.history.seconds + since) / 60

    @property
    def open(self) -> RunTrial | None:
        """The trial whose proposal awaits an answer."""
        found = [t for t in self.state.open if t.judged is None]
        return found[0] if found else None

    @property
    def reason(self) -> str:
        """Why the run should end; "" while it may go on."""
        limit = spent(self.state.budget, self.state, self.minutes)
        return limit or enough(self.state, StoppingRules()) or ""

    @property
    def dry_runs(self) -> int:
        """How many dry runs are left for the open proposal."""
        number = self.open.number if self.open else None
        used = sum(
            p.operation == "bench" and p.trial == number for p in self.state.probes
        )
        return max(0, DRY_RUNS - used)

    @property
    def left(self) -> Left:
        """What is left of every budget, never below 0."""
        budget, cost = self.state.budget, self.state.spent
        done = len(self.state.done)

        def rest(limit: float | None, used: float) -> float | None:
            return None if limit is None else max(0.0, limit - used)

        return Left(
            trials=None if budget.trials is None else max(0, budget.trials - done),
            minutes=rest(budget.minutes, self.minutes),
            gpu_seconds=rest(budget.gpu_seconds, cost.gpu_seconds),
            tokens=None
            if budget.tokens is None
            else max(0, budget.tokens - cost.tokens),
            usd=rest(budget.usd, cost.usd),
            dry_runs=self.dry_runs,
        )

    def parent(self) -> int:
        """The trial whose kernel is to be changed: the proposal's, else the best."""
        trial = self.open
        if trial is not None and trial.parent is not None:
            return trial.parent
        return self.state.best.number if self.state.best else 0

    def base(self) -> Candidate:
        """The kernel to change."""
        return self.state.candidates.get(self.parent(), self.task.start)

    def draft(self) -> Candidate | None:
        """What the open proposal's edit gives by itself; None if it has no edit."""
        trial = self.open
        if trial is None or trial.proposal is None or not trial.proposal.edit:
            return None
        parent = self.state.design(self.parent())
        if parent is None:
            return None
        design = self.space.apply(parent, trial.proposal.edit)
        return self.space.candidate(design, self.task.problem)

    def candidate(
        self,
        source: str,
        kernel: str | None = None,
        statics: Mapping[str, Value] | None = None,
    ) -> Candidate:
        """The candidate that a source is in this run. Raises ArgusError AG0011."""
        draft = self.draft()
        return candidate_of(
            source,
            self.task,
            self.space,
            self.base(),
            kernel,
            statics,
            wanted=draft.kernel if draft else "",
        )

    def features(self) -> dict[str, Value]:
        """Facts of the task and of the kernel to change, for knowledge entries."""
        own = self.task.start.design
        found = {k: v for k, v in self.task.features.items() if k not in own}
        found |= self.state.design(self.parent()) or {}
        verdict = self.state.verdict_of(self.parent())
        if verdict is None:
            return found
        if verdict.predicted:
            found["bottleneck"] = verdict.predicted.bottleneck
        if verdict.resources:
            found["shared_bytes"] = verdict.resources.shared_bytes
            if verdict.resources.registers is not None:
                found["registers"] = verdict.resources.registers
        return found
