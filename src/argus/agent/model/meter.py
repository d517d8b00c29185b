"""What may still be spent on requests, and whether another one fits.

Token counts are known only afterwards, so a request is held back when it would surely
exceed what is left: when its prompt, counted low, and the shortest useful answer do not
fit. Otherwise its answer is limited to what is left. What is under way counts, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from argus.agent.interfaces import BudgetLeft
from argus.runs.records import Cost

SHORTEST = 400
"""Tokens of an answer below which it cannot hold a kernel."""
_MOST_CHARACTERS, _CHARACTERS = 6.0, 3.6
"""Characters of a token: more than any tokenizer reaches on code, and as is usual."""

Price = Callable[[int, int], float | None]
"""Dollars of so many input and output tokens; None where the price is not known."""


class NoRoom(Exception):  # noqa: N818 - a result, not a fault
    """The budget does not allow another request.

    ``limit`` names it as ``argus.agent.budget`` does.
    """

    def __init__(self, limit: str, text: str) -> None:
        super().__init__(text)
        self.limit = limit


def few_tokens(characters: int) -> int:
    """Tokens that a text has at least."""
    return int(characters / _MOST_CHARACTERS)


def usual_tokens(characters: int) -> int:
    """Tokens that a text has about."""
    return int(characters / _CHARACTERS) + 1


@dataclass
class Meter:
    """Counts requests that are given together; see the module.

    ``left`` is what all of them may cost.
    """

    left: BudgetLeft
    price: Price
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._tokens = 0
        self._usd = 0.0
        self._under_way = 0

    @property
    def seconds(self) -> float | None:
        """Seconds that are left; None without a limit."""
        if self.left.seconds is None:
            return None
        return self.left.seconds - (self.clock() - self._began)

    def begin(self, characters: int, wanted: int) -> int:
        """Begin a request with a prompt of so many characters.

        Returns the most tokens that its answer may have: ``wanted``, or what is left.
        Raises :class:`NoRoom`.
        """
        seconds = self.seconds
        if seconds is not None and seconds <= 0.0:
            raise NoRoom("minutes", "no time is left")
        least = few_tokens(characters) + self._under_way
        room = wanted
        if self.left.tokens is not None:
            left = self.left.tokens - self._tokens
            if least + SHORTEST > left:
                text = f"{max(0, left)} tokens are left, and a request needs more"
                raise NoRoom("tokens", text)
            usual = usual_tokens(characters) + self._under_way
            room = min(room, max(SHORTEST, left - usual))
        if self.left.usd is not None:
            left = self.left.usd - self._usd
            cost, answer = self.price(least, SHORTEST), self.price(0, 1_000_000)
            if left <= 0.0 or (cost is not None and cost > left):
                text = f"${max(0.0, left):.4f} are left, and a request costs more"
                raise NoRoom("money", text)
            if cost is not None and answer:
                rest = left - (self.price(usual_tokens(characters), 0) or 0.0)
                room = min(room, max(SHORTEST, int(rest / answer * 1_000_000)))
        self._under_way += few_tokens(characters)
        return room

    def end(self, characters: int, cost: Cost) -> None:
        """The request that :meth:`begin` began has come back, with its cost."""
        self._under_way -= few_tokens(characters)
        self._tokens += cost.tokens
        self._usd += cost.usd
