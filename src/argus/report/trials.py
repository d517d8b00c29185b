"""The trials of a run as rows of a table, each with what lies behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.report.findings import local
from argus.report.sources import DiffLine, KnobDifference, difference, knobs
from argus.report.words import duration, factor
from argus.runs.history import RunTrial
from argus.runs.records import Candidate, Change, Finding, JudgeVerdict
from argus.runs.records import factor as speed_up

GROUPS = (
    ("better", "new best"),
    ("correct", "correct, no better"),
    ("refused", "refused or refuted"),
    ("failed", "wrong or failed"),
    ("open", "not finished"),
)
"""Sorts of trials that the table can be narrowed to, and their names."""
_OFFERS = 5
_DIFF_LINES = 80
_CHANGES = 8


@dataclass(frozen=True)
class OfferedProposal:
    """A proposal of the planner: its chance of being drawn, and its worth."""

    optimisation: str
    where: str
    gain: str
    chance: str
    chosen: bool


@dataclass(frozen=True)
class TrialRow:
    """One trial. Times are texts, "" where there is none."""

    number: int
    group: str
    what: str
    where: str
    status: str
    predicted: str
    measured: str
    reward: str
    expected: str
    gained: str
    why: str
    reason: str
    parent: int | None
    invariants: tuple[str, ...]
    offers: tuple[OfferedProposal, ...]
    more_offers: int
    knobs: tuple[KnobDifference, ...]
    diff: tuple[DiffLine, ...]
    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]
    more_changes: int
    note: str
    attempts: int
    resources: str
    equality: str
    met: bool


def rows(
    trials: Sequence[RunTrial], candidates: Mapping[int, Candidate], met: set[int]
) -> list[TrialRow]:
    """All trials in order. ``met``: trials that the section of findings shows."""
    found: list[TrialRow] = []
    best = math.inf
    for trial in trials:
        group = group_of(trial, best)
        time = trial.microseconds
        best = min(best, time if time is not None else math.inf)
        found.append(_row(trial, group, candidates, trial.number in met))
    return found


def group_of(trial: RunTrial, best: float) -> str:
    """Which of `GROUPS` a trial is of; ``best``: microseconds until then."""
    verdict = trial.verdict
    if verdict is None:
        return "open" if trial.learned is None else "failed"
    match verdict.status:
        case "correct":
            time = verdict.microseconds
            return "better" if time is not None and time < best else "correct"
        case "rejected" | "refuted" | "unknown" | "unbuildable" | "duplicate":
            return "refused"
        case _:
            return "failed"


def _row(
    trial: RunTrial, group: str, candidates: Mapping[int, Candidate], met: bool
) -> TrialRow:
    proposal, verdict, learned = trial.proposal, trial.verdict, trial.learned
    mine = candidates.get(trial.number)
    parent = candidates.get(trial.parent) if trial.parent is not None else None
    offers = _offers(trial)
    changes = trial.changes
    return TrialRow(
        trial.number,
        group,
        proposal.optimisation if proposal else "start",
        proposal.where if proposal else "",
        _status(trial),
        _predicted(verdict),
        duration(verdict.measured.microseconds) if verdict and verdict.measured else "",
        f"{learned.reward:+.2f}" if learned else "",
        _gain(proposal.predicted_gain) if proposal and trial.parent is not None else "",
        _gain(learned.actual_gain) if learned and trial.parent is not None else "",
        _why(trial),
        proposal.reason if proposal else "",
        trial.parent,
        proposal.invariants if proposal else (),
        offers[:_OFFERS],
        max(0, len(offers) - _OFFERS),
        knobs(parent, mine) if parent and mine else (),
        difference(parent.source, mine.source, _DIFF_LINES) if parent and mine else (),
        () if met or verdict is None else tuple(map(_short, verdict.findings)),
        changes[:_CHANGES],
        max(0, len(changes) - _CHANGES),
        trial.lowered.note if trial.lowered else "",
        len(trial.lowered.attempts) if trial.lowered else 0,
        _resources(verdict),
        verdict.equality.words if verdict and verdict.equality else "",
        met,
    )


def _short(finding: Finding) -> Finding:
    return finding.model_copy(update={"text": local(finding.text)})


def _status(trial: RunTrial) -> str:
    if trial.verdict is not None:
        return trial.verdict.status
    if trial.lowered is not None and trial.lowered.candidate is None:
        return "no kernel"
    return "not judged"


def _predicted(verdict: JudgeVerdict | None) -> str:
    if verdict is None or verdict.predicted is None or verdict.status != "correct":
        return ""
    return duration(verdict.predicted.microseconds)


def _gain(value: float | None) -> str:
    """A log speed-up as a factor."""
    return "" if value is None else factor(speed_up(value))


def _why(trial: RunTrial) -> str:
    """What is most worth knowing of its end: the first finding, or what was said."""
    if trial.lowered is not None and trial.lowered.failure:
        return trial.lowered.failure
    verdict = trial.verdict
    if verdict is None:
        return ""
    if verdict.findings and verdict.status != "correct":
        first = verdict.findings[0]
        return f"{first.code}: {first.message}"
    if verdict.status != "correct" and verdict.summary:
        return verdict.summary
    if verdict.predicted is not None:
        return f"bound by {verdict.predicted.bottleneck}"
    return verdict.summary


def _offers(trial: RunTrial) -> tuple[OfferedProposal, ...]:
    proposed = trial.proposed
    if proposed is None or trial.parent is None:
        return ()
    chances = [*proposed.probabilities, *([0.0] * len(proposed.proposals))]
    found = [
        OfferedProposal(
            p.optimisation,
            p.where,
            _gain(p.predicted_gain),
            f"{100 * chances[i]:.0f} %",
            i == proposed.chosen,
        )
        for i, p in enumerate(proposed.proposals)
    ]
    # The chosen one is always shown, at its place.
    first = found[:_OFFERS]
    if not any(o.chosen for o in first):
        first = [*first[:-1], *(o for o in found if o.chosen)]
    return (*first, *(o for o in found if o not in first))


def _resources(verdict: JudgeVerdict | None) -> str:
    used = verdict.resources if verdict else None
    if used is None:
        return ""
    parts = [f"{used.threads} threads", f"{used.shared_bytes / 1024:.1f} KiB shared"]
    if used.registers is not None:
        parts.append(f"{used.registers} registers")
    if used.spill_bytes:
        parts.append(f"{used.spill_bytes} B spilled")
    return ", ".join(parts)
