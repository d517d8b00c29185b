"""A run as one JSON object: what lists, exports and tables show of it.

Everything here is a function of what the events say; times are microseconds.
"""

from __future__ import annotations

import time

from argus.diagnostics import Json
from argus.runs.history import History, RunTrial, taken_out
from argus.runs.records import Value

VERSION = 1
"""Of :func:`record`; grows if a key changes its meaning."""


def summary(name: str, state: str, found: History) -> dict[str, Json]:
    """The run in a few words. ``state`` is what the store says of it."""
    start, best = found.start, found.best
    return {
        "run": name,
        "state": state,
        "task": found.started.task.name,
        "agent": found.started.agent,
        "seed": found.started.seed,
        "cold": found.cold,
        "begin": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.begin)),
        "seconds": found.seconds,
        "trials": len(found.trials),
        "start_microseconds": start.microseconds if start else None,
        "best_trial": best.number if best else None,
        "best_microseconds": best.microseconds if best else None,
        "measured": found.measured,
        "finished": found.finished.reason if found.finished else None,
    }


def row(trial: RunTrial) -> dict[str, Json]:
    """One trial, without its kernel."""
    verdict = trial.verdict
    predicted = verdict.predicted if verdict else None
    measured = verdict.measured if verdict else None
    equality = verdict.equality if verdict else None
    return {
        "trial": trial.number,
        "parent": trial.parent,
        "optimisation": trial.proposal.optimisation if trial.proposal else None,
        "status": verdict.status if verdict else None,
        "equality": equality.verdict if equality else None,
        "predicted_microseconds": predicted.microseconds if predicted else None,
        "measured_microseconds": measured.microseconds if measured else None,
        "reward": trial.learned.reward if trial.learned else None,
        "candidate": trial.candidate,
    }


def record(
    name: str, state: str, found: History, design: dict[str, Value]
) -> dict[str, Json]:
    """The whole run without its kernels, for tables and plots made elsewhere.

    ``design`` is that of the best kernel. In ``ablation``, ``without`` are the
    optimisations that were taken out together.
    """
    best = found.best.verdict if found.best else None
    measured = best.measured if best else None
    return {
        "version": VERSION,
        **summary(name, state, found),
        "problem": found.started.task.problem.model_dump(mode="json"),
        "environment": dict(found.started.environment),
        "budget": found.budget.model_dump(mode="json"),
        "cost": found.cost.model_dump(mode="json"),
        "design": dict(design),
        "limit_microseconds": best.limit_microseconds if best else None,
        "interval_microseconds": [measured.low, measured.high] if measured else None,
        "device": measured.device if measured else None,
        "baselines": dict(measured.baselines) if measured else {},
        "ablation": [
            {
                "without": list(one.names),
                "status": one.verdict.status,
                "microseconds": one.verdict.microseconds,
            }
            for one in taken_out(found.ablations)
        ],
        "rows": [row(trial) for trial in found.trials],
    }
