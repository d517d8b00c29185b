"""Asking a language model: one request at a time, with retries, limits and accounts.

    with Asker(settings) as asker:
        asker.run(several_requests())
    answer = await asker.ask(KernelAnswer, conversation, prompt, meter)

Three things can go wrong, and each is told apart: the answer cannot be used
(:class:`UnusableAnswer`; tokens were spent), the provider failed
(:class:`ProviderFailed`), or the budget has no room
(:class:`~argus.agent.model.meter.NoRoom`; nothing was sent).
What is asked and answered is kept in the conversation; keys are not.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from argus.agent.interfaces import Hears, nobody
from argus.agent.model.conversation import (
    KEPT,
    Conversation,
    Outcome,
    RequestTurn,
    text_of,
)
from argus.agent.model.failures import (
    SAID,
    Later,
    ProviderFailed,
    UnusableAnswer,
    provider_says,
    temporary,
    why,
)
from argus.agent.model.meter import Meter, Price, usual_tokens
from argus.agent.model.provider import Oversized, connect, price_of, redacted
from argus.agent.model.settings import ModelSettings

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import UsageBase

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")


class Asker:
    """A connection to a model. Give it back with :meth:`close`, or use ``with``.

    Raises ArgusError AG1060 or AG1061 when it is made, if the model cannot be used.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._model, self._client = connect(settings)
        self.price: Price = price_of(settings, self._model)
        self._runner = asyncio.Runner()
        self._agents: dict[tuple[type[BaseModel], str], Agent[object, Any]] = {}
        self._draw = random.Random()
        self._entered = False

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections."""
        self._runner.run(self._leave())
        self._runner.close()

    async def _leave(self) -> None:
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)
        if self._client is not None:
            await self._client.aclose()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Do asynchronous work; Ctrl-C cancels it and is raised here."""
        return self._runner.run(work)

    def conversation(self, instructions: str, hears: Hears = nobody) -> Conversation:
        """A new one; ``hears`` is told each request of it that has come back."""
        return Conversation(self.settings.where, instructions, hears=hears)

    # ---- one request

    async def ask(
        self, kind: type[T], conversation: Conversation, prompt: str, meter: Meter
    ) -> T:
        """The model's answer, of a kind.

        Raises :class:`UnusableAnswer`, :class:`ProviderFailed` and ``NoRoom``.
        """
        if not self._entered:
            self._entered = True
            await self._model.__aenter__()
        for tries in range(self.settings.retries + 1):
            try:
                return await self._once(kind, conversation, prompt, meter)
            except Later as later:
                last = tries == self.settings.retries
                pause = self._pause(tries, later.after)
                patient = pause <= self.settings.longest_wait
                in_time = meter.seconds is None or pause < meter.seconds
                if last or not patient or not in_time:
                    raise ProviderFailed(self._gave_up(later, tries)) from later
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _pause(self, tries: int, after: float | None) -> float:
        """Seconds before the next try: what the provider asks, else doubling."""
        if after is not None:
            return after
        most = min(self.settings.backoff * 2**tries, self.settings.longest_wait)
        # So that several requests do not come back at the same moment.
        return most * (0.5 + self._draw.random() / 2)

    def _gave_up(self, later: Later, tries: int) -> str:
        text = str(later)
        if tries:
            text += f" (asked {tries + 1} times)"
        if later.after is not None and later.after > self.settings.longest_wait:
            text += f"; it asks to wait {later.after:.0f} s"
        return text

    async def _once(
        self, kind: type[T], conversation: Conversation, prompt: str, meter: Meter
    ) -> T:
        """One request, counted and kept whatever comes of it."""
        from pydantic_ai import capture_run_messages

        characters = conversation.characters + len(prompt)
        room = meter.begin(characters, self.settings.max_tokens)
        earlier = len(conversation.messages)
        began = time.monotonic()
        outcome: Outcome = "cut off"
        error = "it was cut off"
        with capture_run_messages() as messages:
            try:
                found = await self._answer(kind, conversation, prompt, room, meter)
                outcome, error = "answered", ""
                return found
            except UnusableAnswer as failure:
                outcome, error = "unusable", str(failure)
                raise
            except (Later, ProviderFailed) as failure:
                outcome, error = "failed", str(failure)
                raise
            finally:
                turn = self._turn(prompt, messages[earlier:], began, outcome, error)
                meter.end(characters, turn.cost)
                conversation.add(turn)

    async def _answer(
        self,
        kind: type[T],
        conversation: Conversation,
        prompt: str,
        room: int,
        meter: Meter,
    ) -> T:
        """The answer to a request, or which of the things that can go wrong has."""
        from pydantic_ai.exceptions import (
            ModelAPIError,
            UnexpectedModelBehavior,
            UserError,
        )

        agent = self._agent(kind, conversation.instructions)
        seconds = self._seconds(meter)
        try:
            async with asyncio.timeout(seconds):
                result = await agent.run(
                    prompt,
                    message_history=conversation.messages,
                    model_settings=self._request(room),
                )
        except TimeoutError as late:
            raise Later(f"no answer within {seconds:.3g} s") from late
        except ModelAPIError as failed:
            text = provider_says(failed)
            if temporary(failed):
                raise Later(text, failed.retry_after) from failed
            raise ProviderFailed(text) from failed
        except Oversized as long:
            raise ProviderFailed(str(long)) from long
        except UserError as wrong:  # nothing was sent: settings that do not go together
            text = redacted(f"the request cannot be made: {wrong}")
            raise ProviderFailed(text[:SAID]) from wrong
        except UnexpectedModelBehavior as odd:
            raise UnusableAnswer(why(odd)) from odd
        # What the client library makes of responses that it does not expect.
        except (RuntimeError, LookupError, TypeError, ValueError, AttributeError) as e:
            text = f"the response cannot be read: {type(e).__name__}: {e}"
            raise UnusableAnswer(redacted(text)[:SAID]) from e
        conversation.messages = list(result.all_messages())
        return kind.model_validate(result.output)

    def _seconds(self, meter: Meter) -> float:
        left = meter.seconds
        timeout = self.settings.timeout
        return timeout if left is None else max(0.01, min(timeout, left))

    def _request(self, room: int) -> Any:
        """Settings of one request, by pydantic-ai's names. Retries are ours."""
        given: dict[str, object] = {
            "max_tokens": room,
            "max_retries": 0,
            "timeout": self.settings.timeout,
        }
        if self.settings.temperature is not None:
            given["temperature"] = self.settings.temperature
        if self.settings.thinking is not None:
            given["thinking"] = self.settings.thinking
        return given

    def _agent(self, kind: type[BaseModel], instructions: str) -> Agent[object, Any]:
        key = (kind, instructions)
        if key not in self._agents:
            from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput

            forms: dict[str, Any] = {
                "auto": kind,
                "tool": ToolOutput(kind),
                "native": NativeOutput(kind),
                "prompted": PromptedOutput(kind),
            }
            self._agents[key] = Agent(
                self._model,
                output_type=forms[self.settings.output],
                instructions=instructions,
                retries=0,
            )
        return self._agents[key]

    def _turn(
        self,
        prompt: str,
        new: list[ModelMessage],
        began: float,
        outcome: Outcome,
        error: str,
    ) -> RequestTurn:
        """What a request took and brought."""
        from pydantic_ai.messages import ModelResponse

        responses = [m for m in new if isinstance(m, ModelResponse)]
        answer = "\n".join(text_of(r) for r in responses)
        tokens, usd, estimated = 0, 0.0, False
        known = True
        for response in responses:
            counted, guessed = self._tokens(response.usage, prompt, answer)
            tokens, estimated = tokens + counted, estimated or guessed
            cost = self._usd(response.usage, counted)
            known = known and cost is not None
            usd += cost or 0.0
        return RequestTurn(
            prompt=prompt,
            answer=answer[:KEPT],
            error=error,
            tokens=tokens,
            usd=usd if known else None,
            seconds=round(time.monotonic() - began, 3),
            estimated=estimated,
            outcome=outcome,
        )

    def _tokens(self, usage: UsageBase, prompt: str, answer: str) -> tuple[int, bool]:
        if usage.total_tokens > 0:
            return usage.total_tokens, False
        return usual_tokens(len(prompt)) + usual_tokens(len(answer)), True

    def _usd(self, usage: UsageBase, tokens: int) -> float | None:
        """Dollars, by the settings, the response's model, or the one asked for."""
        if self.settings.price is None and usage.cost is not None:
            return float(usage.cost)
        return self.price(usage.input_tokens or tokens, usage.output_tokens)
