"""The model agent: a language model carries out proposals by writing kernels.

Each proposal is a conversation. The model answers with a whole file; what the check
refuses goes back to it with its counterexample, up to a limit. The requests of a batch
run side by side, and so do the checks.

An answer is data: the judge parses it in a process of its own. What is not a kernel of
the language is refused there, like any other candidate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from argus.agent.interfaces import (
    Advised,
    BudgetLeft,
    CandidateJudge,
    Done,
    Hears,
    Lowering,
    ProposalOrder,
    nobody,
)
from argus.agent.model.advice import advise
from argus.agent.model.answers import KernelAnswer
from argus.agent.model.asking import Asker
from argus.agent.model.conversation import Conversation
from argus.agent.model.failures import ProviderFailed, UnusableAnswer
from argus.agent.model.feedback import told, unchanged, unusable
from argus.agent.model.meter import Meter, NoRoom
from argus.agent.model.prompts import (
    advice_instructions,
    instructions,
    proposal_prompt,
    retry_prompt,
)
from argus.agent.model.provider import redacted, require_price
from argus.agent.model.settings import ModelSettings
from argus.agent.state import RunState
from argus.runs.history import RunTrial
from argus.runs.records import Candidate, JudgeVerdict, Value

_BACK = ("rejected", "refuted", "unknown", "unbuildable", "hung", "crashed")
"""Verdicts of the check that go back to the model."""


@dataclass
class _Work:
    """One order, as far as it is. ``refused``: the last kernel that the check refused.

    ``failure`` and ``done`` settle it; ``silent`` says that the failure is the
    provider's, ``unasked`` that nobody tried. ``base`` is what is asked next, but
    for a word on the last answer.
    """

    order: ProposalOrder
    conversation: Conversation
    base: str
    prompt: str = ""
    attempts: list[JudgeVerdict] = field(default_factory=list[JudgeVerdict])
    fresh: Candidate | None = None
    refused: Candidate | None = None
    done: Candidate | None = None
    failure: str = ""
    note: str = ""
    usable: int = 0
    silent: bool = False
    unasked: bool = False

    def __post_init__(self) -> None:
        self.prompt = self.base

    @property
    def settled(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.done is not None or bool(self.failure)

    def back(self, verdict: JudgeVerdict) -> None:
        """Let the model know what was wrong."""
        self.attempts.append(verdict)
        self.base = self.prompt = retry_prompt(told(verdict))

    def unread(self, why: str) -> None:
        """Ask again: the model does not see an answer that could not be read."""
        self.attempts.append(unusable(why))
        self.prompt = f"{self.base}\n\nYour last answer could not be used: {why}"


class ModelAgent:
    """A lowering agent that asks a language model. Close it after use.

    ``money``: whether the run has a budget of dollars. Raises ArgusError AG1060 and
    AG1061.
    """

    name = "model"

    def __init__(self, settings: ModelSettings, *, money: bool = False) -> None:
        self.settings = settings
        self.asker = Asker(settings)
        if money:
            try:
                require_price(settings, self.asker.price)
            except BaseException:
                self.asker.close()
                raise
        self._silent = 0
        self._last = ""
        self._full = ""

    def __enter__(self) -> ModelAgent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections."""
        self.asker.close()

    @property
    def price_known(self) -> bool:
        """Whether requests are counted in money, too."""
        return self.asker.price(1000, 1000) is not None

    @property
    def stopped(self) -> str | None:
        """Why the run should end: no room for a request, or no answers any more."""
        if self._full:
            return self._full
        if self._silent < self.settings.patience:
            return None
        return f"provider: no answer in {self._silent} trials in a row ({self._last})"

    # ---- lowering

    def lower(self, order: ProposalOrder, judge: CandidateJudge) -> Lowering:
        """Carry out one proposal."""
        return self.lower_all([order], judge)[0]

    def lower_all(
        self,
        orders: Sequence[ProposalOrder],
        judge: CandidateJudge,
        done: Done | None = None,
    ) -> list[Lowering]:
        """Carry out proposals side by side. All are of one task and one budget."""
        meter = Meter(orders[0].left, self.asker.price)
        work = [
            _Work(
                order,
                self.asker.conversation(instructions(), order.hears),
                proposal_prompt(order),
            )
            for order in orders
        ]
        made: dict[int, Lowering] = {}

        def tell(last: bool) -> None:
            for place, one in enumerate(work):
                if place not in made and (one.settled or last):
                    made[place] = self._lowering(one)
                    if done is not None:
                        done(place, made[place])

        try:
            for turn in range(1, self.settings.attempts + 1):
                self._turn([w for w in work if not w.settled], meter, judge)
                last = turn == self.settings.attempts or all(w.settled for w in work)
                tell(last)
                if last:
                    break
        except KeyboardInterrupt:
            # What was paid for is written down, though nothing came of it.
            for one in work:
                if not one.settled and one.conversation.cost.tokens:
                    one.failure, one.unasked = "interrupted", True
            tell(last=False)
            raise
        return [made[place] for place in range(len(work))]

    def _turn(
        self, waiting: Sequence[_Work], meter: Meter, judge: CandidateJudge
    ) -> None:
        """One answer for each order that waits for one, and the check of what came."""
        self.asker.run(self._ask_all(waiting, meter))
        fresh = [(w, w.fresh) for w in waiting if w.fresh is not None]
        if not fresh:
            return
        problem = waiting[0].order.task.problem
        verdicts = judge.check(problem, [c for _, c in fresh])
        for (one, candidate), verdict in zip(fresh, verdicts, strict=True):
            one.fresh = None
            self._checked(one, candidate, verdict)

    async def _ask_all(self, waiting: Sequence[_Work], meter: Meter) -> None:
        gate = asyncio.Semaphore(self.settings.parallel)

        async def one(work: _Work) -> None:
            async with gate:
                await self._ask(work, meter)

        async with asyncio.TaskGroup() as group:
            for work in waiting:
                group.create_task(one(work))

    async def _ask(self, work: _Work, meter: Meter) -> None:
        """One request for an order: a fresh candidate, or the end of it."""
        if self.stopped is not None:
            work.failure, work.unasked = f"not asked: {self.stopped}", True
            return
        try:
            answer = await self.asker.ask(
                KernelAnswer, work.conversation, work.prompt, meter
            )
        except NoRoom as full:
            work.failure, work.unasked = f"budget: {full}", True
            self._full = f"budget: {full.limit}"
            return
        except ProviderFailed as failed:
            work.failure, work.silent = f"the provider failed: {failed}", True
            return
        except UnusableAnswer as odd:
            work.unread(str(odd))
            return
        work.usable += 1
        work.note = redacted(answer.rationale.strip())
        if not answer.applies:
            work.failure = f"the model says that it does not apply: {work.note}"
            return
        self._take(work, answer)

    def _take(self, work: _Work, answer: KernelAnswer) -> None:
        """Make a candidate of an answer; what is none goes back at once."""
        parent = work.order.parent
        missing = answer.not_there()
        if missing is not None:
            why = f"`invariants` names `{missing[:200]}`, which is not in the source"
            work.back(unusable(why))
            return
        if answer.invariants:
            work.note += " Invariants: " + "; ".join(answer.invariants)
        values: dict[str, Value] = {s.name: s.value for s in answer.statics}
        source = answer.source.replace("\r\n", "\n")
        if not source.endswith("\n"):
            source += "\n"
        made = Candidate(source=source, kernel=parent.kernel, statics=values)
        if _same_text(made, parent):
            work.back(unchanged("this is the kernel that you were given"))
        elif work.order.tried(made):
            work.back(unchanged("the same kernel was tried in an earlier trial"))
        else:
            work.fresh = made

    def _checked(self, work: _Work, made: Candidate, verdict: JudgeVerdict) -> None:
        parent = work.order.verdict
        if verdict.status in _BACK:
            work.refused = made
            work.back(verdict)
        elif parent is not None and verdict.program == parent.program != "":
            why = "it compiles to the program of the kernel that you were given"
            work.back(unchanged(why))
        else:
            work.done = made

    def _lowering(self, work: _Work) -> Lowering:
        """The end of an order. What was refused last is judged: it has its reward."""
        failed = work.silent or (not work.settled and work.usable == 0)
        if not work.settled:
            count = len(work.attempts)
            last = work.attempts[-1].summary
            if work.refused is not None:
                work.done = work.refused
                work.note += f" Given up after {count} attempts: {last}"
            else:
                work.failure = f"no kernel in {count} attempts; the last: {last}"
        if failed:
            self._silent += 1
            self._last = work.failure
        elif work.usable:
            self._silent = 0
        return Lowering(
            candidate=work.done if not work.failure else None,
            attempts=tuple(work.attempts),
            failure=work.failure,
            cost=work.conversation.cost,
            note=work.note.strip(),
            conversation=work.conversation.to_json(),
            lost=work.silent or work.unasked,
        )

    # ---- learning

    def advise(
        self,
        state: RunState,
        trials: Sequence[RunTrial],
        family: str,
        left: BudgetLeft,
        hears: Hears = nobody,
    ) -> Advised | None:
        """What the trials teach, in the model's words."""
        if self.stopped is not None:
            return None
        meter = Meter(left, self.asker.price)
        conversation = self.asker.conversation(advice_instructions(), hears)
        return advise(self.asker, conversation, meter, state, trials, family)


def _same_text(made: Candidate, parent: Candidate) -> bool:
    """Whether nothing but blanks at the ends of lines, or empty lines, was changed."""
    values = made.statics in ({}, parent.statics)
    return values and _lines(made.source) == _lines(parent.source)


def _lines(source: str) -> list[str]:
    return [line.rstrip() for line in source.splitlines() if line.strip()]
