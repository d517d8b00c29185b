"""Records of a run as the answers show them. Nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from argus import knowledge
from argus.agent.budget import BETTER
from argus.agent.session.results import (
    Article,
    Idea,
    Judgement,
    Kind,
    Mistake,
    Row,
    Source,
    Taken,
    Time,
)
from argus.agent.state import RunState
from argus.agent.writing import as_file
from argus.runs.history import RunTrial, taken_out
from argus.runs.records import (
    Candidate,
    Finding,
    JudgeVerdict,
    Proposal,
    Proposed,
    Value,
    factor,
)

_NOTE = 200
"""Characters of an agent's note in a row."""


def kind_of(verdict: JudgeVerdict) -> Kind:
    """Whether a verdict's time was measured."""
    return "measured" if verdict.measured is not None else "predicted"


def time_of(verdict: JudgeVerdict | None) -> Time | None:
    """The time of a correct candidate."""
    if verdict is None or verdict.microseconds is None:
        return None
    measured = verdict.measured
    if measured is None:
        return Time(microseconds=verdict.microseconds, kind="predicted")
    return Time(
        microseconds=measured.microseconds,
        kind="measured",
        low=measured.low,
        high=measured.high,
        device=measured.device,
    )


def judgement(verdict: JudgeVerdict) -> Judgement:
    """A verdict, without what only matters to the record."""
    return Judgement(
        status=verdict.status,
        stage=verdict.stage,
        summary=verdict.summary,
        findings=tuple(mistake(f) for f in verdict.findings),
        error=verdict.error,
        time=time_of(verdict),
        predicted=verdict.predicted,
        equality=verdict.equality,
        resources=verdict.resources,
        baselines=dict(verdict.measured.baselines) if verdict.measured else {},
        limit_microseconds=verdict.limit_microseconds,
    )


def mistake(finding: Finding) -> Mistake:
    """A finding."""
    return Mistake(
        code=finding.code,
        message=finding.message,
        line=finding.line,
        text=finding.text,
        counterexample=finding.counterexample,
    )


def ideas(proposed: Proposed) -> tuple[Idea, ...]:
    """All proposals of a trial, in their order, with what they were drawn with."""
    pairs = zip(proposed.proposals, proposed.probabilities, strict=True)
    return tuple(idea(p, probability) for p, probability in pairs)


def idea(proposal: Proposal, probability: float) -> Idea:
    """A proposal; gains as factors, which is what people compare."""
    return Idea(
        optimisation=proposal.optimisation,
        where=proposal.where,
        edit=dict(proposal.edit),
        invariants=proposal.invariants,
        predicted_speedup=factor(proposal.predicted_gain),
        depends_on=proposal.depends_on,
        reason=proposal.reason,
        probability=probability,
    )


def article(
    entry: knowledge.KnowledgeEntry,
    features: Mapping[str, Value],
    *,
    score: float = 0.0,
    whole: bool = False,
) -> Article:
    """An entry of the knowledge base; ``whole``: with its text."""
    outcome = knowledge.applicability(entry, features)
    gain = entry.gain
    return Article(
        id=entry.id,
        title=entry.title,
        applies=outcome.value,
        why=outcome.why,
        score=score,
        knobs=entry.knobs,
        requires=entry.requires,
        conflicts=entry.conflicts,
        invariants=entry.invariants,
        typical_speedup=(math.exp(gain.low), math.exp(gain.high)),
        basis=gain.basis,
        body=entry.body if whole else "",
    )


def source_of(candidate: Candidate, title: str) -> Source:
    """A candidate as a file, with what the file cannot carry beside it."""
    rest: dict[str, Value] = {
        k: v for k, v in candidate.statics.items() if isinstance(v, str)
    }
    return Source(
        kernel=candidate.kernel, source=as_file(candidate, title), statics=rest
    )


def row(trial: RunTrial) -> Row:
    """A trial in a few words."""
    verdict = trial.verdict
    note = trial.lowered.note or trial.lowered.failure if trial.lowered else ""
    timed = verdict is not None and verdict.microseconds is not None
    return Row(
        trial=trial.number,
        parent=trial.parent,
        optimisation=trial.proposal.optimisation if trial.proposal else "start",
        status=verdict.status if verdict else None,
        microseconds=verdict.microseconds if verdict else None,
        kind=kind_of(verdict) if verdict is not None and timed else None,
        reward=trial.learned.reward if trial.learned else None,
        note=note[:_NOTE],
    )


def rows(state: RunState) -> tuple[Row, ...]:
    """All complete trials."""
    return tuple(row(t) for t in state.done)


def ablation(state: RunState) -> tuple[Taken, ...]:
    """What the best kernel is without each of its optimisations."""
    best = state.best.microseconds if state.best else None
    found: list[Taken] = []
    for one in taken_out(state.ablations.values()):
        took = one.verdict.microseconds
        found.append(
            Taken(
                without=one.names,
                status=one.verdict.status,
                microseconds=took,
                slower=took / best if took and best else None,
            )
        )
    return tuple(found)


def changed(trial: RunTrial) -> Iterable[str]:
    """What a trial changed in the policy, a line for each."""
    for change in trial.changes:
        before = "nothing" if change.before is None else _short(change.before)
        cited = ", ".join(map(str, change.trials))
        yield f"{change.key}: {before} -> {_short(change.after)} (trials {cited})"


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:+.3f}"


def is_better(trial: RunTrial, earlier: float | None) -> bool:
    """Whether a trial is faster than the best before it, by what counts."""
    time = trial.microseconds
    return time is not None and (earlier is None or time < (1 - BETTER) * earlier)
