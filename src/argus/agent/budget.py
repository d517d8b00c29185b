"""When a run ends: its budget is spent, the kernel is good enough, or nothing helps."""

from __future__ import annotations

from dataclasses import dataclass

from argus.agent.state import RunState
from argus.runs.records import Budget, Cost, JudgeVerdict

PATIENCE = 40
"""Trials without a better kernel after which a run gives up."""
BETTER = 0.003
"""What is faster by a smaller share is not better."""
LIGHT = 0.97
"""At that share of the speed of light, there is nothing left to gain."""

INTERRUPTED = "interrupted"

_ON_DEVICE = ("run", "compare", "time")
"""Stages of a verdict that hold the GPU."""


@dataclass(frozen=True)
class StoppingRules:
    """The rules of a run, beside its budget."""

    patience: int = PATIENCE
    light: float = LIGHT


def spent(budget: Budget, state: RunState, minutes: float) -> str | None:
    """Which limit is reached; None while there is room. ``minutes`` of work so far."""
    cost = state.spent
    limits: tuple[tuple[str, float | None, float], ...] = (
        ("trials", budget.trials, len(state.done)),
        ("minutes", budget.minutes, minutes),
        ("GPU seconds", budget.gpu_seconds, cost.gpu_seconds),
        ("tokens", budget.tokens, cost.tokens),
        ("money", budget.usd, cost.usd),
    )
    for name, limit, used in limits:
        if limit is not None and used >= limit:
            return f"budget: {name}"
    return None


def cost_of(verdict: JudgeVerdict) -> Cost:
    """What judging took: the seconds for which the verdict held the GPU."""
    if verdict.measured is None and verdict.status not in ("wrong", "crashed", "hung"):
        return Cost()
    return Cost(gpu_seconds=sum(verdict.seconds.get(s, 0.0) for s in _ON_DEVICE))


def enough(state: RunState, stop: StoppingRules) -> str | None:
    """Why it is not worth going on; None if it is."""
    best = state.best
    verdict = best.verdict if best else None
    limit = verdict.limit_microseconds if verdict else None
    time = verdict.microseconds if verdict else None
    if limit is not None and time is not None and limit >= stop.light * time:
        return "speed of light"
    if state.done and state.done[-1].number - last_progress(state) >= stop.patience:
        return "no progress"
    return None


def last_progress(state: RunState) -> int:
    """The last trial that was faster than all before it, by what counts."""
    last, fastest = 0, float("inf")
    for trial in state.done:
        time = trial.microseconds
        if time is not None and time < (1 - BETTER) * fastest:
            last, fastest = trial.number, time
    return last
