"""What can go wrong with a request, told apart; and the words of who says it.

The same request may succeed later (:class:`Later`), the provider failed
(:class:`ProviderFailed`), or there is an answer that cannot be used
(:class:`UnusableAnswer`). Texts are short and without keys.
"""

from __future__ import annotations

from pydantic import ValidationError

from argus.agent.model.provider import redacted

SAID = 600
"""Characters of what a provider or a validator says that are passed on."""
_AGAIN = (408, 409, 425, 429)
"""Statuses below 500 after which the same request may succeed."""


class UnusableAnswer(Exception):  # noqa: N818 - a result, not a fault
    """The model answered, and the answer is not of the form that was asked for."""


class ProviderFailed(Exception):  # noqa: N818 - a result, not a fault
    """No answer: refused, unreachable, too slow, or still failing after retries."""


class Later(Exception):  # noqa: N818 - a result, not a fault
    """The request failed for now. ``after``: seconds that the provider asks to wait."""

    def __init__(self, text: str, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


def temporary(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    from pydantic_ai import exceptions as e

    if isinstance(error, e.ModelQuotaExceededError | e.ModelRequestRejectedError):
        return False
    if isinstance(error, e.ModelHTTPError):
        return error.status_code >= 500 or error.status_code in _AGAIN
    return True


def provider_says(error: Exception) -> str:
    """A provider's error in one line, without keys."""
    from pydantic_ai.exceptions import ModelHTTPError

    if isinstance(error, ModelHTTPError):
        body = error.body
        said: object = body
        if isinstance(body, dict):
            said = body.get("message") or body.get("error") or body  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        text = f"status {error.status_code}: {said}"
    else:
        text = str(error)
        if error.__cause__ is not None and error.__cause__.__cause__ is not None:
            text += f" ({type(error.__cause__.__cause__).__name__})"
    return redacted(" ".join(text.split()))[:SAID]


def why(error: Exception) -> str:
    """Why an answer cannot be used, for the model to read."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        found = [
            ": ".join(filter(None, (".".join(map(str, e["loc"])), e["msg"])))
            for e in cause.errors(include_url=False, include_input=False)
        ]
        said = redacted("; ".join(found))
        return f"the answer is not of the form asked for: {said[:SAID]}"
    text = str(cause) if cause is not None else str(error)
    return redacted(" ".join(text.split()))[:SAID]
