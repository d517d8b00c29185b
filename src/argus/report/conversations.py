"""What a language model was asked in a run: prompts, answers, what went back to it.

All of it was written by strangers, and may be long. Answers come before prompts where
there is not room for everything, and the best trial before the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from argus.diagnostics import ArgusError
from argus.report.attempts import form
from argus.report.room import Room, Text, weight
from argus.report.sources import DiffLine, difference
from argus.report.words import plural, seconds
from argus.runs.conversations import (
    AGAIN,
    About,
    Said,
    Talk,
    Turn,
    dollars,
    read,
    requests,
    talks,
)
from argus.runs.history import History, RunTrial
from argus.runs.records import Candidate, JudgeVerdict

ANSWERS, PROMPTS = 900_000, 600_000
"""Bytes of a page for what models said, and for what they were asked."""
REQUESTS = 400
"""Requests that a page shows."""
_OF_ONE = 20_000
"""Characters of one text that are shown."""
_DIFF_LINES = 160
_COMPARED = 800
"""Lines of an answer that is compared; the library's longest kernel has 160."""
_LINE_BYTES = 40
"""Bytes of the markup around a line."""
_SHORT, _MANY = 700, 24
"""Characters of what stands in a line, and how many of a kind there are."""


@dataclass(frozen=True)
class Answer:
    """What came back. ``raw`` where it has not the form that was asked for.

    ``changes``: its source against the kernel that was given, or the answer before.
    """

    raw: Text | None = None
    said: Text | None = None
    chips: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()
    changes: tuple[DiffLine, ...] = ()
    source: Text | None = None


@dataclass(frozen=True)
class ModelRequest:
    """One request. ``asked`` None: the same as the one before.

    ``back``: whether ``asked`` is what was wrong with the last answer, and not a new
    prompt. ``verdict`` is what the check said of the answer ("accepted": nothing was
    wrong), ``found`` its findings in a line each, ``met`` the anchor of their pictures.
    """

    number: int
    asked: Text | None
    back: bool
    answer: Answer | None
    error: str
    took: str
    verdict: str = ""
    found: tuple[str, ...] = ()
    met: str = ""


@dataclass(frozen=True)
class ShownConversation:
    """A conversation. ``left_out``: requests that are not on the page."""

    anchor: str
    trial: int
    about: About
    what: str
    took: str
    ended: bool
    end: str
    requests: tuple[ModelRequest, ...]
    left_out: int
    unread: bool = False


@dataclass(frozen=True)
class Conversations:
    """All of a run. ``took`` in words; ``cut``: whether something is left out.

    ``instructions``: what stands before every prompt, by what it is about.
    ``anchors``: where the first conversation of a trial is.
    """

    run: str
    took: str
    all: tuple[ShownConversation, ...]
    instructions: tuple[tuple[str, Text], ...]
    cut: bool
    anchors: Mapping[int, str] = field(default_factory=dict[int, str])


def conversations(
    name: str,
    found: History,
    candidates: Mapping[int, Candidate],
    anchors: Collection[str],
    fetch: Callable[[str], bytes],
) -> Conversations | None:
    """What models were asked; None for a run without a model.

    ``anchors`` are those of counterexamples on the page; ``fetch`` gives artefacts.
    """
    if found.started.agent != "model" and not any(talks(t) for t in found.trials):
        return None
    maker = _ConversationMaker(candidates, anchors, fetch)
    best = found.best.number if found.best else None
    ordered = sorted(found.trials, key=lambda t: (t.number != best, t.number))
    made = [shown for trial in ordered for shown in maker.trial(trial)]
    made.sort(key=lambda s: s.trial)  # stable: those of one trial stay in order
    asked = requests(found, fetch)
    first: dict[int, str] = {}
    for shown in made:
        first.setdefault(shown.trial, shown.anchor)
    return Conversations(
        name,
        asked.words if asked else "",
        tuple(made),
        tuple(maker.instructions.items()),
        maker.cut,
        first,
    )


class _ConversationMaker:
    """Prepares conversations one after the other, while there is room on the page."""

    def __init__(
        self,
        candidates: Mapping[int, Candidate],
        anchors: Collection[str],
        fetch: Callable[[str], bytes],
    ) -> None:
        self._candidates, self._anchors = candidates, anchors
        self._fetch = fetch
        self._answers, self._prompts = Room(ANSWERS), Room(PROMPTS)
        self._left = REQUESTS
        self.instructions: dict[str, Text] = {}
        self.cut = False

    def trial(self, trial: RunTrial) -> list[ShownConversation]:
        """The conversations of a trial."""
        return [
            self._talk(trial, talk, f"asked-{trial.number}-{number}")
            for number, talk in enumerate(talks(trial), 1)
        ]

    def _talk(self, trial: RunTrial, talk: Talk, anchor: str) -> ShownConversation:
        what = "advice"
        if talk.about == "kernel":
            what = trial.proposal.optimisation if trial.proposal else "a kernel"
        end = _end(trial, talk)
        said = _said(talk.artefact, self._fetch)
        if said is None:
            return ShownConversation(
                anchor, trial.number, talk.about, what, "", talk.ended, end, (), 0, True
            )
        if talk.about not in self.instructions and said.instructions:
            self.instructions[talk.about] = self._take(self._prompts, said.instructions)
        turns = said.turns[: max(0, self._left)]
        self._left -= len(turns)
        left_out = len(said.turns) - len(turns)
        self.cut = self.cut or left_out > 0
        return ShownConversation(
            anchor,
            trial.number,
            talk.about,
            what,
            _took_all(said.turns),
            talk.ended,
            end,
            self._requests(trial, talk, said.turns, turns),
            left_out,
        )

    def _requests(
        self, trial: RunTrial, talk: Talk, every: Sequence[Turn], turns: Sequence[Turn]
    ) -> tuple[ModelRequest, ...]:
        verdicts = _verdicts(trial, talk, every)
        parent = self._candidates.get(-1 if trial.parent is None else trial.parent)
        before = parent.source if parent is not None else ""
        prompts: list[str] = []
        found: list[ModelRequest] = []
        for number, turn in enumerate(turns, 1):
            answer, before = self._answer(turn, before)
            asked, back = self._asked(turn, prompts)
            attempt, verdict = verdicts.get(number - 1, (0, None))
            status = verdict.status if verdict else "accepted" if attempt else ""
            met = f"met-attempt-{attempt}-of-trial-{trial.number}"
            found.append(
                ModelRequest(
                    number,
                    asked,
                    back,
                    answer,
                    self._short(turn.error),
                    _took(turn),
                    status,
                    () if turn.error else self._findings(verdict),
                    met if verdict and met in self._anchors else "",
                )
            )
        return tuple(found)

    def _asked(self, turn: Turn, prompts: list[str]) -> tuple[Text | None, bool]:
        """What was asked that is new, and whether that went back after an answer."""
        if turn.prompt == AGAIN and prompts:
            return None, False
        asked = (p for p in prompts if turn.prompt.startswith(p))
        new = turn.prompt[len(max(asked, key=len, default="")) :].strip()
        back = bool(prompts)
        if not new:
            return None, False
        prompts.append(turn.prompt)
        # What went back is as good as an answer; the prompt itself is the long one.
        return self._take(self._answers if back else self._prompts, new), back

    def _answer(self, turn: Turn, before: str) -> tuple[Answer | None, str]:
        """What came, and the source that the next answer is compared with."""
        if not turn.answer:
            return None, before
        told = form(turn.answer)
        if told is None:
            return Answer(raw=self._take(self._answers, turn.answer)), before
        said = told.said if told.applies else f"It does not apply. {told.said}"
        answer = Answer(
            said=self._take(self._answers, said) if said else None,
            chips=self._few([f"{k} {v}" for k, v in told.statics]),
            invariants=self._few(told.invariants),
        )
        if not told.source.strip():
            return answer, before
        changes = self._changes(before, told.source)
        source = self._take(self._answers, told.source)
        return replace(answer, changes=changes, source=source), told.source

    def _changes(self, before: str, source: str) -> tuple[DiffLine, ...]:
        """What differs from the source before; () where that is not to be shown."""
        lines = max(before.count("\n"), source.count("\n"))
        if not before or lines > _COMPARED:
            return ()
        changes = difference(before, source, _DIFF_LINES)
        size = sum(weight(c.text) + _LINE_BYTES for c in changes)
        if size > self._answers.left:
            return ()
        self._answers.left -= size
        return changes

    def _few(self, texts: Sequence[str]) -> tuple[str, ...]:
        shown = tuple(self._short(t) for t in texts[:_MANY])
        more = len(texts) - len(shown)
        self.cut = self.cut or more > 0
        return (*shown, f"and {more} more") if more else shown

    def _short(self, text: str) -> str:
        if len(text) <= _SHORT:
            return text
        self.cut = True
        return text[:_SHORT] + "\u2026"

    def _findings(self, verdict: JudgeVerdict | None) -> tuple[str, ...]:
        if verdict is None:
            return ()
        texts = [f"{f.code}: {f.message}" for f in verdict.findings]
        return self._few(texts or [verdict.summary] * bool(verdict.summary))

    def _take(self, room: Room, text: str) -> Text:
        taken = room.take(text, _OF_ONE)
        self.cut = self.cut or taken.more > 0
        return taken


def _said(name: str, fetch: Callable[[str], bytes]) -> Said | None:
    try:
        return read(fetch(name))
    except ArgusError:
        return None


def _verdicts(
    trial: RunTrial, talk: Talk, turns: Sequence[Turn]
) -> dict[int, tuple[int, JudgeVerdict | None]]:
    """By the place of a turn: the number of the attempt from 1, and its verdict.

    Each answer was an attempt, but for one that was accepted (None), or that says that
    there is nothing to do; where that does not come out even, nothing is known.
    """
    if not talk.ended or talk.about != "kernel" or trial.lowered is None:
        return {}
    came = [i for i, turn in enumerate(turns) if turn.came]
    attempts = trial.lowered.attempts
    if len(came) - len(attempts) not in (0, 1):
        return {}
    verdicts: list[JudgeVerdict | None] = [*attempts]
    if trial.lowered.candidate is not None:
        verdicts.append(None)
    pairs = zip(came, verdicts, strict=False)
    return {place: (n, verdict) for n, (place, verdict) in enumerate(pairs, 1)}


def _end(trial: RunTrial, talk: Talk) -> str:
    """What came of a conversation."""
    if not talk.ended:
        return "none: it was cut off, or is under way"
    if talk.about == "advice":
        note = trial.learned.note if trial.learned else ""
        return note[:_SHORT] or "taken into the policy"
    if (
        trial.lowered is None
        or trial.lowered.failure
        or trial.lowered.candidate is None
    ):
        failure = trial.lowered.failure if trial.lowered else ""
        return failure[:_SHORT] or "no kernel"
    verdict = trial.verdict
    return f"a kernel, {verdict.status if verdict else 'not judged'}"


# ---- words


def _took(turn: Turn) -> str:
    parts: list[str] = []
    if turn.tokens is not None:
        about = "about " if turn.estimated else ""
        parts.append(f"{about}{turn.tokens:,} tokens")
        parts.append("price not known" if turn.usd is None else dollars(turn.usd))
    if turn.seconds is not None:
        parts.append(seconds(turn.seconds))
    return ", ".join(parts)


def _took_all(turns: Sequence[Turn]) -> str:
    counted = [t.tokens for t in turns if t.tokens is not None]
    parts = [plural(len(turns), "request")]
    if counted:
        parts.append(f"{sum(counted):,} tokens")
        known = [t.usd for t in turns if t.usd is not None]
        if len(known) == len(turns):
            parts.append(dollars(sum(known)))
        else:
            parts.append("price not known")
    return ", ".join(parts)
