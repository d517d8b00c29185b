"""What happened in a run: its events, joined by trial.

Readers of runs (command line, reports, the loop when it goes on with a run) agree on
what the events say through this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from argus.diagnostics import fail
from argus.runs.records import (
    Ablated,
    Asked,
    Budget,
    Change,
    Cost,
    Event,
    Finished,
    Judged,
    JudgeVerdict,
    Learned,
    Lowered,
    Probed,
    Proposal,
    Proposed,
    Resumed,
    Started,
)
from argus.runs.store import Stamped


@dataclass(frozen=True)
class RunTrial:
    """One round, as far as it got. The start kernel's trial has no parent.

    ``candidate`` names the artefact with the candidate's JSON. ``asked`` are requests
    to a language model, also of processes that were killed.
    """

    number: int
    proposed: Proposed | None = None
    lowered: Lowered | None = None
    judged: Judged | None = None
    learned: Learned | None = None
    asked: tuple[Asked, ...] = ()

    @property
    def proposal(self) -> Proposal | None:
        """What was tried; None for the start kernel."""
        if self.proposed is None or not self.proposed.proposals:
            return None
        return self.proposed.proposals[self.proposed.chosen]

    @property
    def parent(self) -> int | None:
        """The trial whose kernel was changed."""
        return self.proposed.parent if self.proposed else None

    @property
    def candidate(self) -> str | None:
        """The artefact that holds what the lowering agent made."""
        return self.lowered.candidate if self.lowered else None

    @property
    def verdict(self) -> JudgeVerdict | None:
        """What the judge said, if it got so far."""
        return self.judged.verdict if self.judged else None

    @property
    def verdicts(self) -> tuple[JudgeVerdict, ...]:
        """All that the judge said, first of what the agent tried on its way."""
        attempts = self.lowered.attempts if self.lowered else ()
        return attempts if self.verdict is None else (*attempts, self.verdict)

    @property
    def microseconds(self) -> float | None:
        """Time of a correct candidate, measured or else predicted."""
        return self.judged.verdict.microseconds if self.judged else None

    @property
    def changes(self) -> tuple[Change, ...]:
        """What it taught."""
        return self.learned.changes if self.learned else ()

    @property
    def finished(self) -> bool:
        """Whether nothing of it is missing."""
        return self.learned is not None

    @property
    def cost(self) -> Cost:
        """What asking, lowering, judging and learning took together."""
        events = (*self.asked, self.lowered, self.judged, self.learned)
        return total(e.cost for e in events if e is not None)


@dataclass(frozen=True)
class History:
    """A run. ``seconds`` is the wall-clock time in which processes worked on it.

    ``cost`` counts everything: also work that was done again, and the end of the run.
    ``cold``: it teaches nothing, whoever goes on with it.
    """

    started: Started
    trials: tuple[RunTrial, ...] = ()
    ablations: tuple[Ablated, ...] = ()
    finished: Finished | None = None
    resumed: int = 0
    seconds: float = 0.0
    begin: float = 0.0
    cost: Cost = field(default_factory=Cost)
    limits: Budget | None = None
    probes: tuple[Probed, ...] = ()
    cold: bool = False

    @property
    def budget(self) -> Budget:
        """The limits: those that were given last."""
        return self.limits or self.started.budget

    @property
    def hung(self) -> frozenset[str]:
        """Programs that hung, which no judge should run again."""
        verdicts = [v for t in self.trials for v in t.verdicts]
        verdicts += [p.verdict for p in self.probes]
        return frozenset(v.program for v in verdicts if v.status == "hung") - {""}

    @property
    def best(self) -> RunTrial | None:
        """The fastest correct trial; what was measured counts before predictions.

        Once the run has come to its end, what the loop settled on.
        """
        if self.finished is not None and self.finished.best is not None:
            return self.trial(self.finished.best)
        return fastest(self.trials)

    @property
    def start(self) -> RunTrial | None:
        """The trial of the kernel that the run started from."""
        return next((t for t in self.trials if t.parent is None), None)

    def trial(self, number: int) -> RunTrial | None:
        """The trial of that number, if there is one."""
        return next((t for t in self.trials if t.number == number), None)

    @property
    def measured(self) -> bool:
        """Whether the best kernel was timed on a GPU."""
        best = self.best
        verdict = best.verdict if best else None
        return verdict is not None and verdict.measured is not None


def fastest(trials: Iterable[RunTrial]) -> RunTrial | None:
    """The fastest correct trial; one that was measured beats all that were not."""

    def key(trial: RunTrial) -> tuple[bool, float]:
        verdict = trial.verdict
        measured = verdict is not None and verdict.measured is not None
        time = trial.microseconds
        return (not measured, math.inf if time is None else time)

    correct = [t for t in trials if t.microseconds is not None]
    return min(correct, key=key, default=None)


@dataclass(frozen=True)
class TakenOut:
    """The final kernel without the optimisations of these names, which go together."""

    names: tuple[str, ...]
    candidate: str
    verdict: JudgeVerdict

    @property
    def title(self) -> str:
        """The names as one text."""
        return " + ".join(self.names)


def taken_out(ablations: Iterable[Ablated]) -> list[TakenOut]:
    """What was left without each optimisation, the slowest first.

    Where two leave the same kernel (without TMA there is no warp to do the loads), that
    is one line and not two that happen to be equal. What has no time comes last.
    """
    left: dict[str, list[Ablated]] = {}
    for event in ablations:
        left.setdefault(event.candidate, []).append(event)
    found = [
        TakenOut(tuple(e.optimisation for e in events), name, events[0].verdict)
        for name, events in left.items()
    ]
    return sorted(found, key=lambda one: -(one.verdict.microseconds or 0.0))


def total(costs: Iterable[Cost]) -> Cost:
    """Costs added up."""
    found = list(costs)
    return Cost(
        gpu_seconds=sum(c.gpu_seconds for c in found),
        tokens=sum(c.tokens for c in found),
        usd=sum(c.usd for c in found),
    )


def history(stamped: Sequence[Stamped]) -> History:
    """Join the events of a run.

    Raises ArgusError AG1003 if they do not begin with what a run begins with.
    """
    if not stamped or not isinstance(stamped[0].event, Started):
        raise fail("AG1003", None, "the run has no beginning")
    parts: dict[int, dict[str, Event]] = {}
    asked: dict[int, list[Asked]] = {}
    ablations: dict[str, Ablated] = {}
    finished: Finished | None = None
    resumed = 0
    limits: Budget | None = None
    cold = stamped[0].event.cold
    seconds = 0.0
    costs: list[Cost] = []
    probes: list[Probed] = []
    for earlier, stamp in zip([None, *stamped], stamped, strict=False):
        event = stamp.event
        if earlier is not None and not isinstance(event, Resumed):
            seconds += max(0.0, stamp.time - earlier.time)
        if isinstance(event, Probed | Asked | Lowered | Judged | Learned | Ablated):
            costs.append(event.cost)
        match event:
            case Started():
                pass
            case Resumed():
                resumed += 1
                limits = event.budget or limits
                cold = cold or event.cold
                finished = None
            case Proposed() | Lowered() | Judged() | Learned():
                parts.setdefault(event.trial, {})[event.event] = event
            case Asked():
                parts.setdefault(event.trial, {})
                asked.setdefault(event.trial, []).append(event)
            case Probed():
                probes.append(event)
            case Ablated():
                ablations[event.optimisation] = event
            case Finished():
                finished = event
            case _:
                assert_never(event)
    trials = tuple(
        _trial(number, parts[number], asked.get(number, ())) for number in sorted(parts)
    )
    return History(
        started=stamped[0].event,
        trials=trials,
        ablations=tuple(ablations.values()),
        finished=finished,
        resumed=resumed,
        seconds=seconds,
        begin=stamped[0].time,
        cost=total(costs),
        limits=limits,
        probes=tuple(probes),
        cold=cold,
    )


def _trial(number: int, found: dict[str, Event], asked: Sequence[Asked]) -> RunTrial:
    proposed, lowered = found.get("proposed"), found.get("lowered")
    judged, learned = found.get("judged"), found.get("learned")
    return RunTrial(
        number,
        proposed if isinstance(proposed, Proposed) else None,
        lowered if isinstance(lowered, Lowered) else None,
        judged if isinstance(judged, Judged) else None,
        learned if isinstance(learned, Learned) else None,
        tuple(asked),
    )
