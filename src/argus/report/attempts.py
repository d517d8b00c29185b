"""Attempts of a lowering agent, with their kernels where the record has them.

An external agent asks about kernels before it submits one; each is an event. Of a
language model's attempts the conversation is kept, in which its answers are. Answers
that cannot be told apart for certain are left out: an attempt then has no kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from argus.diagnostics import ArgusError
from argus.runs.artefacts import candidate_in
from argus.runs.conversations import read
from argus.runs.history import History, RunTrial
from argus.runs.records import Candidate, JudgeVerdict

_FINE = ("correct", "duplicate")


@dataclass(frozen=True)
class Try:
    """A verdict that went back to the agent, and the kernel that it is about."""

    verdict: JudgeVerdict
    candidate: Candidate | None


def tries(
    found: History, trial: RunTrial, fetch: Callable[[str], bytes]
) -> tuple[Try, ...]:
    """The attempts of a trial, in order. ``fetch`` gives artefacts.

    Raises ArgusError AG1003 where the record is damaged.
    """
    probes = [
        p
        for p in found.probes
        if p.trial == trial.number and p.verdict.status not in _FINE
    ]
    attempts = trial.lowered.attempts if trial.lowered else ()
    if probes:
        return tuple(Try(p.verdict, candidate_in(fetch(p.candidate))) for p in probes)
    kernel = found.started.task.start.kernel
    if trial.candidate is not None:  # a model cannot choose the name
        kernel = candidate_in(fetch(trial.candidate)).kernel
    candidates = _of_conversation(trial, len(attempts), kernel, fetch)
    return tuple(map(Try, attempts, candidates))


def _of_conversation(
    trial: RunTrial, count: int, kernel: str, fetch: Callable[[str], bytes]
) -> list[Candidate | None]:
    """Kernels in the answers of a model, for that many attempts."""
    unknown: list[Candidate | None] = [None] * count
    name = trial.lowered.conversation if trial.lowered else None
    if name is None or not count:
        return unknown
    try:
        said = read(fetch(name))
    except ArgusError:
        return unknown
    answers = [t.answer for t in said.turns if t.came] if said else []
    # Each answer was an attempt, but for the one that was accepted, if one was.
    if len(answers) - count not in (0, 1):
        return unknown
    return [_candidate(text, kernel) for text in answers[:count]]


def _candidate(answer: str, kernel: str) -> Candidate | None:
    """What a model handed in; None where its answer holds no kernel."""
    told = form(answer)
    if told is None or not told.source.strip():
        return None
    try:
        return Candidate(
            source=told.source, kernel=kernel, statics=dict[str, Any](told.statics)
        )
    except ValueError:
        return None


@dataclass(frozen=True)
class FormedAnswer:
    """An answer of a model that has the form which it was asked for.

    ``said``: its reason, or its advice; ``source`` "" where it hands in no kernel.
    """

    said: str
    source: str
    statics: tuple[tuple[str, object], ...] = ()
    invariants: tuple[str, ...] = ()
    applies: bool = True


def form(answer: str) -> FormedAnswer | None:
    """What stands in an answer; None where it has not the form."""
    begin, end = answer.find("{"), answer.rfind("}")
    try:
        told: Any = json.loads(answer[begin : end + 1])
        if "text" in told and "rationale" not in told:
            about = f" (about {told['about']}, from trials {told['trials']})"
            return FormedAnswer(f"{told['text']}{about}", "")
        source = told.get("source") or ""
        if not isinstance(source, str):
            return None
        statics = ((str(s["name"]), s["value"]) for s in told.get("statics") or ())
        invariants = (str(i) for i in told.get("invariants") or ())
        said = str(told.get("rationale") or "")
        applies = bool(told.get("applies", True))
        return FormedAnswer(said, source, tuple(statics), tuple(invariants), applies)
    # Brackets in brackets without end are what a RecursionError is for.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
