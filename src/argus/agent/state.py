"""Where a run stands: what its events say, as the planner and the loop need it.

The state is a function of the events and nothing else. The loop writes an event, then
applies it; a run that was cut off is rebuilt by applying what was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from pydantic import ValidationError

from argus.agent.policy import Policy
from argus.agent.space import Design
from argus.diagnostics import fail
from argus.runs.artefacts import candidate_in
from argus.runs.history import RunTrial, fastest, total
from argus.runs.records import (
    Ablated,
    Asked,
    Budget,
    Candidate,
    Cost,
    Event,
    Finished,
    Judged,
    JudgeVerdict,
    Learned,
    Lowered,
    Probed,
    Proposed,
    Resumed,
    Started,
)

START = "start"
"""The "optimisation" of the first trial: the kernel that the run starts from."""


def same_source(candidate: Candidate) -> str:
    """A text that is equal for candidates with equal source and parameters."""
    plain = candidate.model_copy(update={"design": {}})
    return hashlib.sha256(plain.model_dump_json().encode()).hexdigest()


@dataclass
class RunState:
    """A run in progress. ``base`` is the policy that it began with.

    ``finals`` are the trials of the last measurements, side by side. ``spent`` is what
    all of it took, also work that was done again. ``limits`` are those that were given
    when the run went on. ``cold``: what is learnt stays in the run.
    """

    started: Started
    base: Policy
    policy: Policy
    trials: dict[int, RunTrial] = field(default_factory=dict[int, RunTrial])
    candidates: dict[int, Candidate] = field(default_factory=dict[int, Candidate])
    ablations: dict[str, Ablated] = field(default_factory=dict[str, Ablated])
    finals: set[int] = field(default_factory=set[int])
    finished: Finished | None = None
    spent: Cost = field(default_factory=Cost)
    limits: Budget | None = None
    probes: list[Probed] = field(default_factory=list[Probed])
    cold: bool = False

    @staticmethod
    def begin(started: Started) -> RunState:
        """The state after the first event."""
        try:
            policy = Policy.model_validate(started.policy)
        except ValidationError as error:
            text = (
                f"the record of {started.task.name} begins with a policy that is none"
            )
            raise fail("AG1003", None, text, notes=[str(error)]) from error
        return RunState(started, policy, policy, cold=started.cold)

    @staticmethod
    def rebuild(events: Sequence[Event], fetch: Callable[[str], bytes]) -> RunState:
        """The state after all events; ``fetch`` gives artefacts."""
        first = events[0] if events else None
        if not isinstance(first, Started):
            raise fail("AG1003", None, "the record of the run has no beginning")
        state = RunState.begin(first)
        for event in events[1:]:
            state.apply(event, fetch)
        return state

    def apply(self, event: Event, fetch: Callable[[str], bytes]) -> None:
        """Take an event into account."""
        if isinstance(event, Probed | Asked | Lowered | Judged | Learned | Ablated):
            self.spent = total([self.spent, event.cost])
        match event:
            case Started():
                raise fail("AG1003", None, "the record says twice that the run begins")
            case Resumed():
                self.finished = None
                self.finals.clear()
                self.ablations.clear()
                self.limits = event.budget or self.limits
                self.cold = self.cold or event.cold
            case Proposed():
                # A trial that was cut off may be planned again: what it took, it took.
                asked = self._at(event.trial).asked
                self._update(event.trial, RunTrial(event.trial, event, asked=asked))
            case Asked():
                before = self._at(event.trial)
                after = replace(before, asked=(*before.asked, event))
                self._update(event.trial, after)
            case Probed():
                self.probes.append(event)
            case Lowered():
                self._update(event.trial, replace(self._at(event.trial), lowered=event))
                # An earlier candidate may have been cut off before its verdict.
                self.candidates.pop(event.trial, None)
                if event.candidate is not None:
                    raw = fetch(event.candidate)
                    found = candidate_in(raw)
                    self.candidates[event.trial] = found
            case Judged():
                before = self._at(event.trial)
                if before.learned is not None:
                    self.finals.add(event.trial)
                self._update(event.trial, replace(before, judged=event))
            case Learned():
                self._update(event.trial, replace(self._at(event.trial), learned=event))
                self.policy = self._taught(event)
            case Ablated():
                self.ablations[event.optimisation] = event
            case Finished():
                self.finished = event
            case _:
                assert_never(event)

    def _taught(self, event: Learned) -> Policy:
        try:
            return self.policy.changed(event.changes, self.base)
        except (ValueError, KeyError) as error:
            text = f"trial {event.trial} of the record of the run taught what cannot be"
            raise fail("AG1003", None, text, notes=[str(error)]) from error

    def _at(self, number: int) -> RunTrial:
        return self.trials.get(number) or RunTrial(number)

    def _update(self, number: int, trial: RunTrial) -> None:
        self.trials[number] = trial

    def policy_at(self, trials: int) -> Policy:
        """The policy after that many complete trials."""
        policy = self.base
        for trial in self.done[:trials]:
            policy = policy.changed(trial.changes, self.base)
        return policy

    # ---- questions -------------------------------------------------------------------

    @property
    def done(self) -> list[RunTrial]:
        """Trials that are complete, in order."""
        return [t for _, t in sorted(self.trials.items()) if t.finished]

    @property
    def open(self) -> list[RunTrial]:
        """Trials that were begun and are not complete, in order."""
        return [t for _, t in sorted(self.trials.items()) if not t.finished]

    @property
    def best(self) -> RunTrial | None:
        """The fastest complete trial; among those of the last measurements, if any."""
        if self.finals:
            return fastest(self.trials[n] for n in sorted(self.finals))
        return fastest(self.done)

    @property
    def budget(self) -> Budget:
        """The limits of the run."""
        return self.limits or self.started.budget

    @property
    def measured(self) -> bool:
        """Whether times of this run are measured ones."""
        verdicts = (t.verdict for t in self.done)
        return any(v is not None and v.measured is not None for v in verdicts)

    def design(self, number: int) -> Design | None:
        """The design of a trial's candidate; None where someone wrote the source."""
        candidate = self.candidates.get(number)
        return candidate.design if candidate and candidate.design else None

    def programs(self) -> dict[str, int]:
        """Programs that were judged, with their first trial."""
        found: dict[str, int] = {}
        for trial in self.done:
            verdict = trial.verdict
            if verdict and verdict.program and verdict.status != "failed":
                found.setdefault(verdict.program, trial.number)
        return found

    def time_of(self, number: int | None) -> float | None:
        """Microseconds of a trial's kernel, if it is correct."""
        trial = None if number is None else self.trials.get(number)
        return trial.microseconds if trial else None

    def verdict_of(self, number: int | None) -> JudgeVerdict | None:
        """What the judge said of a trial's kernel."""
        trial = None if number is None else self.trials.get(number)
        return trial.verdict if trial else None
