"""The numbers of a run as plots. Where there are none, a sentence says why."""

from __future__ import annotations

import math

from argus.evaluation.judge.speed import DEFAULT_DEVICE
from argus.evaluation.judge.subject import Subject
from argus.model.peaks import peak_of
from argus.report import plots
from argus.report.figure import Plot
from argus.report.trials import group_of
from argus.runs.history import History, RunTrial, taken_out
from argus.runs.records import JudgeVerdict

_FAR = 0.05
"""A speed of light that is less of the best time is not drawn: it would be all."""


def kind_of(found: History) -> str:
    """What the times of a run are."""
    return "measured" if found.measured else "predicted"


def _time(found: History, trial: RunTrial) -> float | None:
    """A trial's time, if it is of the run's kind."""
    verdict = trial.verdict
    if verdict is None or verdict.status != "correct":
        return None
    if found.measured and verdict.measured is None:
        return None
    return verdict.microseconds


def trajectory_of(found: History) -> Plot | str:
    """The time of every trial."""
    attempts: list[plots.Attempt] = []
    best = math.inf
    for trial in found.trials:
        time = _time(found, trial)
        mark: plots.Mark = "failed"
        if time is not None:
            better = group_of(trial, best) == "better"
            mark = "better" if better else "correct"
            mark = "start" if trial.parent is None else mark
            best = min(best, time)
        proposal = trial.proposal
        what = proposal.optimisation if proposal else "start"
        if time is None and trial.verdict is not None:
            what = f"{what}, {trial.verdict.status}"
        attempts.append(plots.Attempt(trial.number, mark, time, what))
    if not any(a.microseconds for a in attempts):
        return "No trial has a time yet: no kernel was correct."
    levels: list[plots.Level] = []
    verdict = found.best.verdict if found.best else None
    if verdict is not None:
        if verdict.measured is not None:
            levels += [
                plots.Level(name, took)
                for name, took in verdict.measured.baselines.items()
            ]
        limit, least = verdict.limit_microseconds, verdict.microseconds
        if limit and least and limit > _FAR * least:
            levels.append(plots.Level("speed of light", limit))
    return plots.trajectory(attempts, levels, kind_of(found))


def ablation_of(found: History) -> Plot | str:
    """The best kernel without each optimisation."""
    best = found.best.microseconds if found.best else None
    if best is None:
        return "There is no correct kernel to take apart."
    if not found.ablations:
        why = (
            "it ended before that" if found.finished is None else "nothing to take out"
        )
        return f"The best kernel was not taken apart: {why}, or it was switched off."
    bars = [
        plots.Bar(one.title, _slowdown(one.verdict, found, best), one.verdict.status)
        for one in taken_out(found.ablations)
    ]
    return plots.ablation(bars, kind_of(found))


def _slowdown(verdict: JudgeVerdict, found: History, best: float) -> float | None:
    time = verdict.microseconds
    if time is None or (found.measured and verdict.measured is None):
        return None
    return time / best


def roofline_of(found: History, subject: Subject) -> Plot | str:
    """Rates of all correct trials under what the device can do."""
    work = subject.entry.work(subject.case)
    device = _device(found)
    peak = peak_of(device)
    if peak is None:
        return f"The peak rates of {device} are not known."
    best = found.best
    points: list[plots.RooflinePoint] = []
    per = work.flops if work.flops else work.bytes
    for trial in found.trials:
        time = _time(found, trial)
        if time is None or (best is not None and trial.number == best.number):
            continue
        name, link = f"trial {trial.number}", f"#trial-{trial.number}"
        sort = "start" if trial.parent is None else "trial"
        points.append(plots.RooflinePoint(name, per / time / 1e6, sort, link))
    verdict = best.verdict if best else None
    if best is None or verdict is None or not best.microseconds:
        return "There is no correct kernel, so that no rate is known."
    if verdict.measured is not None:
        points += [
            plots.RooflinePoint(name, per / took / 1e6, "baseline")
            for name, took in verdict.measured.baselines.items()
        ]
    points.append(
        plots.RooflinePoint(
            f"the best, trial {best.number}", per / best.microseconds / 1e6, "best",
            f"#trial-{best.number}",
        )
    )  # fmt: skip
    kind = kind_of(found)
    if not work.bytes:
        return "How many bytes this problem moves at least is not known."
    if not work.flops:
        return plots.bandwidth(peak.bytes / 1e12, points, kind)
    roof = plots.Roof(peak.flops / 1e12, peak.bytes / 1e12, work.flops / work.bytes)
    return plots.roofline(roof, points, kind)


def against_of(found: History) -> Plot | None:
    """The model beside the measurements; None where fewer than three were measured."""
    points: list[tuple[int, float, float]] = []
    for trial in found.trials:
        verdict = trial.verdict
        if verdict is None or verdict.status != "correct":
            continue
        if verdict.measured is not None and verdict.predicted is not None:
            pair = verdict.predicted.microseconds, verdict.measured.microseconds
            points.append((trial.number, *pair))
    if len(points) < 3:
        return None
    return plots.against(points, found.best.number if found.best else -1)


def _device(found: History) -> str:
    verdict = found.best.verdict if found.best else None
    if verdict is not None and verdict.measured is not None:
        return verdict.measured.device
    return DEFAULT_DEVICE
