"""Options of `argus optimize` about language models, and the agent that they make.

What is said on the command line counts first; a run that goes on then has what it had
before, and a new one what the environment says.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from argus.agent.interfaces import LoweringAgent
    from argus.agent.model.settings import ModelSettings
    from argus.cli.output import Output
    from argus.runs.records import Event

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PROVIDER:NAME",
        help="The language model of `--agent model`; else $ARGUS_MODEL.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="A server with OpenAI's interface that has it; else $ARGUS_MODEL_URL.",
    ),
]
ModelSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        metavar="NAME=VALUE",
        help="How it is asked: timeout, max_tokens, attempts, retries, parallel, "
        "price, ... (docs/agents.md).",
    ),
]

_RECORDED = "model_settings"
"""Key of a run's environment with the settings as JSON. There are no keys in it."""


def model_settings(
    agent: str,
    model: str | None,
    url: str | None,
    options: Sequence[str],
    events: Sequence[Event] = (),
) -> ModelSettings | None:
    """The settings for an agent; None if it asks no model.

    ``events`` are those of the run that goes on. Raises ArgusError: AG1061, and AG0908
    for options that would do nothing.
    """
    from argus.agent.model.settings import given_options, settings_of
    from argus.diagnostics import fail
    from argus.files.settings import setting

    if agent != "model":
        if model or url or options:
            text = "`--model`, `--base-url` and `--model-option` need `--agent model`"
            raise fail("AG0908", None, text, notes=[f"the agent is `{agent}`"])
        return None
    before = _recorded(events)
    if before is not None:
        # Another model is not asked at the address of the one before.
        kept = before.model_dump(exclude_defaults=True)
        if model:
            kept.pop("base_url", None)
        return settings_of(
            model or before.model,
            url or kept.get("base_url"),
            {**kept, **given_options(options)},
        )
    return settings_of(
        model or setting("ARGUS_MODEL"),
        url or setting("ARGUS_MODEL_URL"),
        given_options(options),
    )


def _recorded(events: Sequence[Event]) -> ModelSettings | None:
    """The settings that a run had last."""
    from argus.agent.model.settings import ModelSettings
    from argus.diagnostics import fail
    from argus.files.documents import DocumentError, document
    from argus.runs.records import Resumed, Started

    found: ModelSettings | None = None
    for event in events:
        if isinstance(event, Started | Resumed) and _RECORDED in event.environment:
            text = event.environment[_RECORDED]
            try:
                found = document(ModelSettings, text)
            except DocumentError as error:
                words = "the run's record of its model cannot be read"
                raise fail("AG1003", None, words, notes=[str(error)]) from error
    return found


def model_environment(settings: ModelSettings | None) -> dict[str, str]:
    """What the record of a run says of the model."""
    if settings is None:
        return {}
    return {
        "model": settings.where,
        _RECORDED: settings.model_dump_json(exclude_defaults=True),
    }


@contextmanager
def lowering_agent(
    out: Output, name: str, settings: ModelSettings | None, money: bool
) -> Generator[LoweringAgent | None]:
    """The agent of a run while it works; None stands for the built-in one.

    ``money``: whether there is a budget of dollars. Raises ArgusError: AG0908 for an
    agent that cannot be run from here, AG1060 and AG1061.
    """
    from argus.diagnostics import fail

    if name == "builtin":
        yield None
        return
    if settings is None:
        text = f"a run of the agent `{name}` does not go on by itself"
        raise fail("AG0908", None, text, help="use `argus session` (docs/agents.md)")
    from argus.agent.model.agent import ModelAgent

    with ModelAgent(settings, money=money) as agent:
        out.line(f"kernels by {settings.where}", indent=2)
        if not agent.price_known:
            out.line("Its price is not known: tokens are counted, money is not.")
        yield agent
