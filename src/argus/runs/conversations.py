"""What language models were asked in a run, as the record has it.

    for talk in talks(trial):
        said = read(run.get(talk.artefact))

A conversation is an artefact of JSON; see :class:`Said` for its form. Records of older
versions lack some of it, so that everything but the texts may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from argus.diagnostics import ArgusError
from argus.files.documents import DocumentError, strict
from argus.runs.history import History, RunTrial
from argus.runs.records import Asked

About = Literal["kernel", "advice"]
AGAIN = "as before"
"""Stands for a prompt that is the one of the turn before."""


class Turn(BaseModel):
    """One request. None: the record does not say.

    ``error``: why there is no usable answer. ``usd`` None: the price is not known.
    ``outcome``: "answered", "unusable", "failed" (the provider) or "cut off".
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt: str = ""
    answer: str = ""
    error: str = ""
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    estimated: bool = False
    outcome: str | None = None

    @property
    def came(self) -> bool:
        """Whether an answer came, usable or not."""
        if self.outcome is None:
            return bool(self.answer)
        return self.outcome in ("answered", "unusable")


class Said(BaseModel):
    """A conversation: the model, what it is told at first, and every request."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str = ""
    instructions: str = ""
    turns: tuple[Turn, ...] = Field(default=())


@dataclass(frozen=True)
class Talk:
    """A conversation of a trial. ``ended``: the trial went on with what came of it."""

    about: About
    artefact: str
    ended: bool


def talks(trial: RunTrial) -> tuple[Talk, ...]:
    """The conversations of a trial in order, also those that were cut off."""
    found: list[Talk] = []
    ends: tuple[tuple[About, str | None], ...] = (
        ("kernel", trial.lowered.conversation if trial.lowered else None),
        ("advice", trial.learned.conversation if trial.learned else None),
    )
    for about, end in ends:
        names = _last([e for e in trial.asked if e.about == about])
        found += [Talk(about, name, ended=False) for name in names if name != end]
        if end is not None:
            found.append(Talk(about, end, ended=True))
    return tuple(found)


def _last(asked: list[Asked]) -> list[str]:
    """The whole of each conversation: what was kept with its last request."""
    names: list[str] = []
    for event in asked:
        if event.request > 1 and names:
            names.pop()
        names.append(event.conversation)
    return names


def read(raw: bytes) -> Said | None:
    """A conversation; None where the text does not have its form."""
    try:
        # By its values: a model may answer with half of a character.
        return Said.model_validate(strict(raw))
    except (DocumentError, ValidationError):
        return None


@dataclass(frozen=True)
class Requests:
    """How often models were asked in a run, and what it took.

    ``priced``: whether the money of all requests is known. ``unread``: conversations
    whose requests cannot be counted.
    """

    count: int
    tokens: int
    usd: float
    priced: bool
    unread: int = 0

    @property
    def words(self) -> str:
        """In words: "3 requests, 3,300 tokens, $0.0036"."""
        count = _plural(self.count, "request")
        if self.unread:
            lost = _plural(self.unread, "conversation")
            count += f" and those of {lost} that cannot be read"
        return f"{count}, {self.tokens:,} tokens, {self.money}"

    @property
    def money(self) -> str:
        """Dollars in words, and whether more may have been paid."""
        if self.priced:
            return dollars(self.usd)
        if self.usd:
            return f"{dollars(self.usd)} and what is not known of prices"
        return "at a price that is not known"


def dollars(usd: float) -> str:
    """An amount: "$1.25", "$0.0036"."""
    return f"${usd:.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def requests(
    found: History, fetch: Callable[[str], bytes], trial: RunTrial | None = None
) -> Requests | None:
    """How often models were asked in a run or a trial; None if no model was.

    ``fetch`` gives artefacts: requests of older records stand in conversations only.
    """
    trials = found.trials if trial is None else (trial,)
    cost = found.cost if trial is None else trial.cost
    count, unread, priced = 0, 0, True
    for one in trials:
        counted = {e.about for e in one.asked}
        count += len(one.asked)
        priced = priced and all(e.priced for e in one.asked)
        for talk in talks(one):
            if talk.about in counted:
                continue
            said = _fetched(talk.artefact, fetch)
            if said is None:
                unread += 1
                continue
            count += len(said.turns)
            priced = priced and all(t.usd is not None for t in said.turns)
    if not count and not unread:
        return None
    return Requests(count, cost.tokens, cost.usd, priced, unread)


def _fetched(name: str, fetch: Callable[[str], bytes]) -> Said | None:
    try:
        return read(fetch(name))
    except ArgusError:
        return None
