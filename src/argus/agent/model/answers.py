"""The form of a model's answers. Field descriptions are part of what it is told."""

from __future__ import annotations

import re
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from argus.runs.records import Value

LONGEST_SOURCE = 100_000
"""Characters of a kernel file. The library's longest has 8 000."""
LONGEST_ADVICE = 400


class Static(BaseModel):
    """A static parameter of the kernel with its value."""

    name: str = Field(max_length=100)
    value: Value = Field(description="A number, a truth value, or a name.")


class KernelAnswer(BaseModel):
    """The changed kernel, or why the proposal does not apply to it."""

    model_config = ConfigDict(extra="ignore")

    applies: bool = Field(
        default=True,
        description="False if the proposal makes no sense for this kernel. Then "
        "`rationale` says why, and `source` is empty.",
    )
    rationale: str = Field(
        max_length=2000,
        description="What you changed and why it is faster, in one to three sentences.",
    )
    source: str = Field(
        default="",
        max_length=LONGEST_SOURCE,
        description="The whole new kernel file, with its imports. No Markdown fences.",
    )
    statics: list[Static] = Field(
        default_factory=list[Static],
        max_length=64,
        description="Static parameters whose values differ from the defaults in the "
        "source.",
    )
    invariants: list[str] = Field(
        default_factory=list[str],
        max_length=32,
        description="Statements such as `ag.check(...)` or `ag.expect(...)` that you "
        "added, each as it stands in the source.",
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.applies and not self.source.strip():
            raise ValueError("`source` is empty, though the proposal applies")
        if not self.rationale.strip():
            raise ValueError("`rationale` is empty")
        try:
            self.model_dump_json()
        except ValueError:  # half of a character, which no file can hold
            raise ValueError("there are characters that are not text") from None
        return self

    def not_there(self) -> str | None:
        """An invariant that is claimed and does not stand in the source."""
        whole = re.sub(r"\s+", "", self.source)
        for text in self.invariants:
            if text.startswith("ag.") and re.sub(r"\s+", "", text) not in whole:
                return text
        return None


class AdviceAnswer(BaseModel):
    """What the trials teach whoever tries next."""

    model_config = ConfigDict(extra="ignore")

    about: str = Field(
        max_length=100,
        description="The optimisation that the advice is about, by its id; `general` "
        "if it is about several.",
    )
    text: str = Field(
        min_length=10,
        max_length=LONGEST_ADVICE,
        description="One or two plain sentences: what to do or to avoid next time, and "
        "why. No praise, no repetition of the numbers.",
    )
    trials: list[int] = Field(
        min_length=1,
        max_length=64,
        description="Numbers of the trials that show it.",
    )
