"""The connection to a language model, through pydantic-ai; prices; keys.

Everything about providers that is not the matter of one request. Packages are imported
when a model is connected, and not before.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from argus.agent.model.meter import Price
from argus.agent.model.settings import ModelSettings
from argus.diagnostics import fail

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model

LARGEST = 16 << 20
"""Bytes of a response from a server of the user's; an answer has far fewer."""
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8
_OPENAI = ("openai:", "openai-chat:")


class Oversized(Exception):  # noqa: N818 - what the server did, not a fault of ours
    """A response that no answer can be as long as."""


def require_packages() -> None:
    """Raises ArgusError AG1060 where pydantic-ai is not installed."""
    try:
        import pydantic_ai  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise fail(
            "AG1060",
            None,
            "language models are asked through pydantic-ai, which is not installed",
            notes=[str(error)],
            help="pip install 'argus-gpu[agent]'",
        ) from error


def connect(settings: ModelSettings) -> tuple[Model, AsyncClient | None]:
    """The model, and the client that must be closed after use, if it is ours.

    Raises ArgusError: AG1060 (a package is missing), AG1061 (no such model, no key).
    """
    require_packages()
    if settings.base_url is not None:
        return _compatible(settings, settings.base_url)
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return infer_model(settings.model), None
    except ImportError as error:
        raise fail(
            "AG1060",
            None,
            f"`{settings.model}` needs a package that is not installed",
            notes=[str(error)],
        ) from error
    # What providers raise for a key that is not there is their own choice.
    except (UserError, ValueError, RuntimeError, OSError) as error:
        raise fail(
            "AG1061",
            None,
            f"the model `{settings.model}` cannot be used",
            notes=[redacted(str(error))],
            help="models are named provider:name, such as openai:..., anthropic:..., "
            "google:...; for a server of your own give --base-url",
        ) from error


def _compatible(settings: ModelSettings, url: str) -> tuple[Model, AsyncClient]:
    """A server with OpenAI's chat interface. A key is sent only if one is set."""
    try:
        from httpx2 import AsyncClient
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    except ImportError as error:
        raise fail(
            "AG1060",
            None,
            "a server with OpenAI's interface needs the package `openai`",
            notes=[str(error)],
            help="pip install 'argus-gpu[agent]'",
        ) from error
    client = AsyncClient(
        timeout=settings.timeout, event_hooks={"response": [_limit_response]}
    )
    provider = OpenAICompatibleProvider(
        "openai-compatible",
        base_url=url,
        api_key=os.environ.get(settings.key_env) or None,
        http_client=client,
    )
    name = settings.model
    for prefix in _OPENAI:
        name = name.removeprefix(prefix)
    return OpenAIChatModel(name, provider=provider), client


async def _limit_response(response: object) -> None:
    """Let no more of a response be read than :data:`LARGEST` bytes."""
    from httpx2 import AsyncByteStream, Response

    assert isinstance(response, Response)
    stream = response.stream
    assert isinstance(stream, AsyncByteStream)

    class Limited(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for chunk in stream:
                read += len(chunk)
                if read > LARGEST:
                    size = f"more than {LARGEST >> 20} MB"
                    raise Oversized(f"the response is longer than any answer: {size}")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Limited()


# ---- prices --------------------------------------------------------------------------


def price_of(settings: ModelSettings, model: Model) -> Price:
    """What tokens of the model cost: as the settings say, else as genai-prices knows.

    A server of the user's own has the price that the settings give it, or none: its
    models may have the names of others.
    """
    if settings.price is not None:
        given, taken = (float(p) / 1e6 for p in settings.price.split("/"))
        return lambda inputs, outputs: given * inputs + taken * outputs
    if settings.base_url is not None:
        return lambda inputs, outputs: None

    def listed(inputs: int, outputs: int) -> float | None:
        from genai_prices import calc_price
        from pydantic_ai.usage import RequestUsage

        usage = RequestUsage(input_tokens=inputs, output_tokens=outputs)
        try:
            found = calc_price(usage, model.model_name, provider_id=model.system)
        except (LookupError, ValueError):
            return None
        return float(found.total_price)

    return listed


def require_price(settings: ModelSettings, price: Price) -> None:
    """Raises ArgusError AG1061 where a budget of money could not be kept."""
    if price(1000, 1000) is None:
        raise fail(
            "AG1061",
            None,
            f"the price of {settings.where} is not known, so `--usd` cannot be kept",
            help="limit `--tokens`, or give dollars per million tokens: "
            "`--model-option price=INPUT/OUTPUT`",
        )


# ---- keys ----------------------------------------------------------------------------


def redacted(text: str) -> str:
    """The text without the values of environment variables that look like keys.

    Providers repeat keys in what they say of them. Halves of characters, which JSON can
    hold and no file can, become question marks.
    """
    text = text.encode("utf-8", "replace").decode()
    for name, value in os.environ.items():
        secret = any(word in name.upper() for word in _SECRET)
        if secret and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"[{name}]")
    return text
