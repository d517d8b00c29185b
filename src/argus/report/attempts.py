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
from argus.runs.history import History, Trial
from argus.runs.records import Candidate, Verdict

_FINE = ("correct", "duplicate")


@dataclass(frozen=True)
class Try:
    """A verdict that went back to the agent, and the kernel that it is about."""

    verdict: Verdict
    candidate: Candidate | None


def tries(
    found: History, trial: Trial, fetch: Callable[[str], bytes]
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
        return tuple(
            Try(p.verdict, Candidate.model_validate_json(fetch(p.candidate)))
            for p in probes
        )
    kernel = found.started.task.start.kernel
    if trial.candidate is not None:  # a model cannot choose the name
        kernel = Candidate.model_validate_json(fetch(trial.candidate)).kernel
    candidates = _of_conversation(trial, len(attempts), kernel, fetch)
    return tuple(map(Try, attempts, candidates))


def _of_conversation(
    trial: Trial, count: int, kernel: str, fetch: Callable[[str], bytes]
) -> list[Candidate | None]:
    """Kernels in the answers of a model, for that many attempts."""
    unknown: list[Candidate | None] = [None] * count
    name = trial.lowered.conversation if trial.lowered else None
    if name is None or not count:
        return unknown
    try:
        told: Any = json.loads(fetch(name))
        answers = [str(t["answer"]) for t in told["turns"] if t["answer"]]
    except (ArgusError, ValueError, KeyError, TypeError):
        return unknown
    # Each answer was an attempt, but for the one that was accepted, if one was.
    if len(answers) - count not in (0, 1):
        return unknown
    return [_candidate(text, kernel) for text in answers[:count]]


def _candidate(answer: str, kernel: str) -> Candidate | None:
    """What a model handed in; None where its answer holds no kernel."""
    begin, end = answer.find("{"), answer.rfind("}")
    try:
        told: Any = json.loads(answer[begin : end + 1])
        source = told["source"]
        statics = {s["name"]: s["value"] for s in told.get("statics") or ()}
        if not isinstance(source, str) or not source.strip():
            return None
        return Candidate(source=source, kernel=kernel, statics=statics)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
