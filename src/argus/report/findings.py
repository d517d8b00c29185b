"""Counterexamples that a run met, and how each was fixed.

A finding of a trial's verdict is shown as `argus check --html` shows it: source, case,
pictures and order of events, from the record of the run. What fixed it is the next
kernel that was accepted for the same proposal, and how that differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argus.diagnostics import CATALOGUE, ArgusError, Span
from argus.evaluation.judge.candidate import written
from argus.report.attempts import Try
from argus.report.kernel import Compiled
from argus.report.sources import DiffLine, KnobDifference, difference, knobs
from argus.runs.history import RunTrial
from argus.runs.records import Candidate, Finding, JudgeVerdict
from argus.verify.render.data import counterexample_of
from argus.verify.render.page import FindingView as View
from argus.verify.render.page import finding_of
from argus.verify.verdict import Obligation
from argus.verify.verdict import Verdict as Proved

DRAWN = 12
"""Findings that are shown with pictures; others as the text of the terminal."""
_OF_ONE = 2
"""Findings of one verdict that are shown with pictures."""
_DIFF_LINES = 160


@dataclass(frozen=True)
class Fix:
    """The kernel that was accepted next; no difference where its source is the same."""

    text: str
    trial: int | None
    knobs: tuple[KnobDifference, ...] = ()
    diff: tuple[DiffLine, ...] = ()


@dataclass(frozen=True)
class Met:
    """What was found in one kernel, and what became of it.

    ``views``: findings with a picture; ``texts``: others as (code, message, text).
    """

    anchor: str
    title: str
    trial: int
    status: str
    views: tuple[View, ...]
    texts: tuple[tuple[str, str, str], ...]
    fix: Fix


def met(
    trials: Sequence[RunTrial],
    candidates: Mapping[int, Candidate],
    attempts: Callable[[RunTrial], Sequence[Try]],
    compiled: Callable[[Candidate], Compiled],
) -> list[Met]:
    """Refused kernels of a run in order, those of inner loops before their trial's."""
    found: list[Met] = []
    left = DRAWN
    for trial in trials:
        mine = attempts(trial)
        for i, one in enumerate(mine):
            if not one.verdict.findings:
                continue
            fix = _within(trial, i, mine, candidates.get(trial.number))
            title = f"attempt {i + 1} of trial {trial.number}"
            made = _met(title, trial, one, compiled, fix, left)
            left -= len(made.views)
            found.append(made)
        verdict = trial.verdict
        if verdict is None or verdict.status in ("correct", "duplicate"):
            continue
        if not verdict.findings:
            continue
        last = Try(verdict, candidates.get(trial.number))
        fix = _later(trial, trials, candidates)
        made = _met(f"trial {trial.number}", trial, last, compiled, fix, left)
        left -= len(made.views)
        found.append(made)
    return found


def _met(
    title: str,
    trial: RunTrial,
    one: Try,
    compiled: Callable[[Candidate], Compiled],
    fix: Fix,
    left: int,
) -> Met:
    anchor = "met-" + re.sub(r"\W+", "-", title)
    verdict = one.verdict
    views: list[View] = []
    texts: list[tuple[str, str, str]] = []
    for i, finding in enumerate(verdict.findings):
        view = None
        if one.candidate is not None and i < min(_OF_ONE, left):
            name = f"{anchor}-{i}"
            view = _view(name, finding, verdict, one.candidate, compiled)
        if view is not None:
            views.append(view)
        else:
            texts.append((finding.code, finding.message, local(finding.text)))
    return Met(
        anchor, title, trial.number, verdict.status, tuple(views), tuple(texts), fix,
    )  # fmt: skip


def _view(
    anchor: str,
    finding: Finding,
    verdict: JudgeVerdict,
    candidate: Candidate,
    compiled: Callable[[Candidate], Compiled],
) -> View | None:
    """The finding as on the verifier's page; None where the record has not enough."""
    if finding.counterexample is None or finding.line is None:
        return None
    if finding.code not in CATALOGUE:
        return None
    state = Proved.UNKNOWN if verdict.status == "unknown" else Proved.REFUTED
    try:
        file = str(written(candidate.source))
        evidence = counterexample_of(_of_file(finding.counterexample, file))
        span = _line(candidate.source, file, finding.line)
        obligation = Obligation(
            finding.code, finding.message, span, state, "", "", evidence
        )
        return finding_of(anchor, obligation, compiled(candidate).program)
    except (ArgusError, LookupError, TypeError, ValueError):
        # Found by another version, maybe: the text of that time is shown instead.
        return None


def _line(source: str, file: str, number: int) -> Span:
    lines = source.splitlines()
    text = lines[number - 1] if 0 < number <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    return Span(file, number, indent + 1, number, max(len(text), indent) + 1)


def _of_file(data: Mapping[str, Any], file: str) -> dict[str, Any]:
    """A record whose places are in ``file``: it was found on another machine, maybe."""

    def moved(value: Any) -> Any:
        match value:
            case dict():
                pairs: dict[str, Any] = {**value}
                return {k: file if k == "file" else moved(v) for k, v in pairs.items()}
            case list() | tuple():
                items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
                return [moved(v) for v in items]
            case _:
                return value

    return moved(dict(data))


def local(text: str) -> str:
    """A rendered diagnostic without the folder of the candidate's file."""
    return re.sub(r"(?:[A-Za-z]:)?[/\\][^\s:]*[/\\](kernel\.py)", r"\1", text)


# ------------------------------------------------------------------------- fixes


def _within(
    trial: RunTrial, place: int, attempts: Sequence[Try], last: Candidate | None
) -> Fix:
    """What came after an attempt: the next one, or what was handed in."""
    mine = attempts[place].candidate
    if place + 1 < len(attempts):
        after, number = attempts[place + 1].candidate, None
        text = f"attempt {place + 2} followed"
    elif trial.candidate is None:
        failure = trial.lowered.failure if trial.lowered else "the trial is still open"
        return Fix(f"not fixed: {failure or 'no kernel was handed in'}", None)
    else:
        after, number = last, trial.number
        status = trial.verdict.status if trial.verdict else "not judged"
        text = f"the kernel of trial {trial.number} followed, which is {status}"
    if mine is None or after is None:
        return Fix(f"{text}; this attempt's source is not known", number)
    diff = difference(mine.source, after.source, _DIFF_LINES)
    return Fix(text, number, knobs(mine, after), diff)


def _later(
    trial: RunTrial, trials: Sequence[RunTrial], candidates: Mapping[int, Candidate]
) -> Fix:
    mine = candidates.get(trial.number)
    wanted = trial.proposal.optimisation if trial.proposal else None
    accepted = [
        t
        for t in trials
        if t.number > trial.number
        and t.verdict is not None
        and t.verdict.status == "correct"
        and t.proposal is not None
        and t.proposal.optimisation == wanted
    ]
    if mine is None or not accepted:
        return Fix(f"not fixed: no later kernel for {wanted} was accepted", None)
    best = min(accepted, key=lambda t: (t.parent != trial.parent, t.number))
    other = candidates.get(best.number)
    if other is None:
        return Fix(f"trial {best.number} was accepted for {wanted}", best.number)
    return Fix(
        f"trial {best.number} tries {wanted} again and is correct",
        best.number,
        knobs(mine, other),
        difference(mine.source, other.source, _DIFF_LINES),
    )
