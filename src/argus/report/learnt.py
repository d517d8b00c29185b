"""What a run taught the policy: numbers over the trials, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.runs.history import RunTrial
from argus.runs.records import Change

PREFERENCE, EFFECT, ADVICE = "preference", "effect", "advice"
_SERIES = 8
_EFFECTS = 40


@dataclass(frozen=True)
class PolicyChange:
    """A change of a number: its key in words, before ("" if new), after, trials."""

    trial: int
    name: str
    before: str
    after: str
    cited: tuple[int, ...]


@dataclass(frozen=True)
class Sentence:
    """A piece of advice. ``gone``: it was replaced by a later one."""

    trial: int
    about: str
    text: str
    cited: tuple[int, ...]
    gone: bool


@dataclass(frozen=True)
class Learnt:
    """The history of a run's policy. ``left_out``: effects that are not listed."""

    series: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]
    preferences: tuple[PolicyChange, ...]
    effects: tuple[PolicyChange, ...]
    left_out: int
    advice: tuple[Sentence, ...]
    notes: tuple[tuple[int, str], ...]

    @property
    def empty(self) -> bool:
        """Whether the run taught nothing."""
        return not (self.preferences or self.effects or self.advice)


def learnt(trials: Sequence[RunTrial]) -> Learnt:
    """All changes of the policy, in the order of trials."""
    changes = [(t.number, c) for t in trials for c in t.changes]
    numbers = [(n, c) for n, c in changes if not isinstance(c.after, str)]
    preferences = [(n, c) for n, c in numbers if _part(c) == PREFERENCE]
    effects = [(n, c) for n, c in numbers if _part(c) == EFFECT]
    moved = sorted(effects, key=lambda x: -_moved(x[1]))[:_EFFECTS]
    kept = [pair for pair in effects if pair in moved]
    return Learnt(
        _series(preferences),
        tuple(_entry(n, c) for n, c in preferences),
        tuple(_entry(n, c) for n, c in kept),
        len(effects) - len(kept),
        _sentences([(n, c) for n, c in changes if isinstance(c.after, str)]),
        tuple(
            (t.number, t.learned.note) for t in trials if t.learned and t.learned.note
        ),
    )


def _part(change: Change) -> str:
    return change.key.partition("/")[0]


def _name(change: Change) -> str:
    """The key without its first part: "tma at memory", "BM=128 in roles"."""
    parts = change.key.split("/")[1:]
    if _part(change) == PREFERENCE and len(parts) == 2:
        return f"{parts[1]} at {parts[0]}" if parts[0] else parts[1]
    if _part(change) == EFFECT and len(parts) == 4:
        return f"{parts[3]} in {parts[1]}"
    return "/".join(parts)


def _number(value: float | str | None) -> str:
    return f"{value:+.3f}" if isinstance(value, int | float) else str(value or "")


def _moved(change: Change) -> float:
    before = change.before if isinstance(change.before, int | float) else 0.0
    return abs(float(change.after) - before)


def _entry(trial: int, change: Change) -> PolicyChange:
    return PolicyChange(
        trial, _name(change), _number(change.before), _number(change.after),
        change.trials,
    )  # fmt: skip


def _series(
    preferences: Sequence[tuple[int, Change]],
) -> tuple[tuple[str, tuple[tuple[int, float], ...]], ...]:
    """The preferences that changed most often, as points over trials."""
    found: dict[str, list[tuple[int, float]]] = {}
    for trial, change in preferences:
        found.setdefault(_name(change), []).append((trial, float(change.after)))
    often = sorted(found.items(), key=lambda item: -len(item[1]))[:_SERIES]
    return tuple((name, tuple(points)) for name, points in often)


def _sentences(changes: Sequence[tuple[int, Change]]) -> tuple[Sentence, ...]:
    last = {c.key: n for n, c in changes}
    return tuple(
        Sentence(n, _name(c), str(c.after), c.trials, last[c.key] != n)
        for n, c in changes
    )
