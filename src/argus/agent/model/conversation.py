"""What was said about one matter: requests, answers, and what they took."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from argus.agent.interfaces import Heard, Hears, nobody
from argus.agent.model.provider import redacted
from argus.runs.history import total
from argus.runs.records import Cost

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse

KEPT = 200_000
"""Characters of one answer that are kept."""
_SCHEMA = 3_000
"""Characters that the form of answers adds to a prompt, about."""


Outcome = Literal["answered", "unusable", "failed", "cut off"]


@dataclass(frozen=True)
class RequestTurn:
    """One request. ``tokens`` are estimated where the provider does not count them.

    ``usd`` None: the price is not known. ``error``: why there is no usable answer.
    ``outcome`` tells an answer that cannot be used from a provider that failed.
    """

    prompt: str
    answer: str
    error: str
    tokens: int
    usd: float | None
    seconds: float
    estimated: bool = False
    outcome: Outcome = "answered"

    @property
    def cost(self) -> Cost:
        """What it took."""
        return Cost(tokens=self.tokens, usd=self.usd or 0.0)


@dataclass
class Conversation:
    """What was said about one matter.

    ``messages`` is the history that is sent again; an answer that could not be read is
    not in it. ``hears`` is told each request when it has come back.
    """

    model: str
    instructions: str
    turns: list[RequestTurn] = field(default_factory=list[RequestTurn])
    messages: list[ModelMessage] = field(default_factory=list["ModelMessage"])
    hears: Hears = nobody

    def add(self, turn: RequestTurn) -> None:
        """A request has come back: let it be written down before anything else."""
        self.turns.append(turn)
        self.hears(
            Heard(len(self.turns), self.to_json(), turn.cost, turn.usd is not None)
        )

    @property
    def cost(self) -> Cost:
        """What all requests took."""
        return total(t.cost for t in self.turns)

    @property
    def characters(self) -> int:
        """Length of what is sent beside a prompt."""
        said = sum(len(t.prompt) + len(t.answer) for t in self.turns if not t.error)
        return len(self.instructions) + said + _SCHEMA

    def to_json(self) -> str:
        """For the record of a run; "" if nothing was asked."""
        if not self.turns:
            return ""
        turns = [dict(vars(t)) for t in self.turns]
        for i in range(1, len(turns)):
            if self.turns[i].prompt == self.turns[i - 1].prompt:
                turns[i]["prompt"] = "as before"
        whole = {
            "model": self.model,
            "instructions": self.instructions,
            "turns": turns,
        }
        return redacted(json.dumps(whole, ensure_ascii=False, indent=1))


def text_of(response: ModelResponse) -> str:
    """What a response says: its text, and the arguments of the form it fills."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    said: list[str] = []
    for part in response.parts:
        if isinstance(part, TextPart):
            said.append(part.content)
        elif isinstance(part, ToolCallPart):
            form = part.args
            said.append(form if isinstance(form, str) else json.dumps(form))
    return "\n".join(said)
