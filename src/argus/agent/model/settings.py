"""Which language model is asked, where, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, ValidationError

from argus.diagnostics import fail
from argus.runs.records import StrictModel

Output = Literal["auto", "tool", "native", "prompted"]
Thinking = Literal["minimal", "low", "medium", "high"]


class ModelSettings(StrictModel):
    """How a model is asked. All times are seconds.

    ``model``: "provider:name" as pydantic-ai has it; with ``base_url`` (a server with
    OpenAI's interface; no key stands in it) its name there. ``key_env``: the
    environment variable with the key for ``base_url``; other providers read their own.

    ``attempts``: answers for one proposal, the first included. ``retries``: of a
    request that failed for a while. ``timeout``: of one request. ``backoff``: first
    pause before a retry, doubled each time; ``longest_wait``: no pause is longer, and a
    provider that asks for more has failed. ``patience``: trials without any answer
    after which the run ends.

    ``max_tokens``: longest answer. ``parallel``: requests at a time. ``price``: dollars
    per million tokens, "INPUT/OUTPUT", where no list knows it. ``output``: how the form
    of answers is asked for; "auto" is the provider's best. ``temperature`` and
    ``thinking`` are passed on if they are given.
    """

    model: str = Field(min_length=1)
    base_url: str | None = Field(default=None, pattern=r"^https?://[^@?#\s]+$")
    key_env: str = Field(default="OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    attempts: int = Field(default=4, ge=1, le=20)
    retries: int = Field(default=4, ge=0, le=20)
    timeout: float = Field(default=300.0, gt=0.0)
    backoff: float = Field(default=1.0, ge=0.0)
    longest_wait: float = Field(default=60.0, ge=0.0)
    patience: int = Field(default=3, ge=1)
    max_tokens: int = Field(default=16_000, ge=500)
    parallel: int = Field(default=4, ge=1, le=64)
    price: str | None = Field(default=None, pattern=r"^\d+(\.\d+)?/\d+(\.\d+)?$")
    output: Output = "auto"
    temperature: float | None = Field(default=None, ge=0.0)
    thinking: Thinking | None = None

    @property
    def where(self) -> str:
        """The model as people name it."""
        return f"{self.model} at {self.base_url}" if self.base_url else self.model


OPTIONS = tuple(n for n in ModelSettings.model_fields if n not in ("model", "base_url"))
"""Names that `--model-option` takes."""


def given_options(words: Sequence[str]) -> dict[str, object]:
    """Options from words NAME=VALUE. Raises ArgusError AG1061 for any other word."""
    given: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in OPTIONS:
            raise fail(
                "AG1061",
                None,
                f"there is no model option `{word}`",
                help=f"write NAME=VALUE; names are {', '.join(OPTIONS)}",
            )
        given[name] = value.strip()
    return given


def settings_of(
    model: str | None, base_url: str | None, options: Mapping[str, object]
) -> ModelSettings:
    """The settings of a command: a name, an address, and options.

    Raises ArgusError AG1061: no model, or a value that an option cannot have.
    """
    if not model:
        raise fail(
            "AG1061",
            None,
            "no language model is named",
            notes=["ARGUS_MODEL and ARGUS_MODEL_URL are used where nothing is said"],
            help="for example `--model anthropic:NAME`, or `--model NAME --base-url "
            "http://127.0.0.1:8000/v1` for a server of your own",
        )
    try:
        return ModelSettings.model_validate(
            {**options, "model": model, "base_url": base_url}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        text = f"`{name}` of the language model is not what it can be"
        # Not the value itself: somebody may have put a key into it.
        raise fail("AG1061", None, text, notes=[first["msg"]]) from None
