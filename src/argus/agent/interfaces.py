"""What the loop asks of the others: a judge, a planner and a lowering agent.

The judge lies below this package and hides the oracle, the timer and the tolerance: an
agent gets verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from argus.agent.space import Design
from argus.agent.state import RunState
from argus.runs.history import RunTrial
from argus.runs.records import (
    Candidate,
    Change,
    Cost,
    JudgeVerdict,
    Problem,
    Proposal,
    Proposed,
    Task,
)


class CandidateJudge(Protocol):
    """Verdicts on candidates, in their order. See ``argus.evaluation.judge``."""

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """All that needs no GPU: parse, place, prove, build, predict.

        A candidate that passes is "correct" with a predicted time.
        """
        ...

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """Everything: :meth:`check`, then correctness and time on a GPU.

        Where there is none, correctness is the interpreter's at a small size, and the
        time is predicted.
        """
        ...


class Plans(Protocol):
    """Says what a trial should try."""

    def plan(
        self, state: RunState, trial: int, pending: Sequence[Design]
    ) -> Proposed | None:
        """What is offered for a trial, and which was drawn; None if nothing is left.

        ``pending`` are designs of trials that are under way and will be tried anyway.
        """
        ...


@dataclass(frozen=True)
class BudgetLeft:
    """What is left of a run's budget; None is no limit. All may be negative."""

    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Heard:
    """A request to a language model has come back.

    ``conversation`` (JSON) is all that was said until then, ``request`` the number of
    this one in it, from 1. ``priced``: whether the money in ``cost`` is known.
    """

    request: int
    conversation: str
    cost: Cost
    priced: bool = True


Hears = Callable[[Heard], None]
"""Told each request as soon as it has come back, to write it down."""


def nobody(heard: Heard) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class ProposalOrder:
    """One proposal to carry out.

    ``parent`` is the kernel to change and ``verdict`` what is known of it; ``advice``
    is the policy's written advice; ``tried`` tells a program that was judged before.
    ``seed`` makes a deterministic agent deterministic. ``left`` is what all orders that
    are given together may cost. ``hears`` is told what a language model is asked.
    """

    task: Task
    parent: Candidate
    verdict: JudgeVerdict | None
    proposal: Proposal
    advice: tuple[str, ...]
    seed: int
    tried: Callable[[Candidate], bool]
    left: BudgetLeft = field(default_factory=BudgetLeft)
    hears: Hears = nobody


@dataclass(frozen=True)
class Lowering:
    """What an agent made of an order: a candidate, or why there is none.

    ``attempts`` are the verdicts that came back to it on the way. ``note`` is what it
    says of its kernel, ``conversation`` (JSON) what was asked and answered. ``cost`` is
    all that it took. ``lost``: nobody carried it out, and it may be proposed again.
    """

    candidate: Candidate | None
    attempts: tuple[JudgeVerdict, ...] = ()
    failure: str = ""
    cost: Cost = field(default_factory=Cost)
    note: str = ""
    conversation: str = ""
    lost: bool = False


class LoweringAgent(Protocol):
    """Carries out a proposal. A failure is returned; only bugs raise."""

    @property
    def name(self) -> str:
        """Its name in records: "builtin", "model" or "external"."""
        ...

    def lower(self, order: ProposalOrder, judge: CandidateJudge) -> Lowering:
        """Make a candidate; may ask the judge to check attempts."""
        ...


Done = Callable[[int, Lowering], None]
"""Told the lowering of an order, by its place in the batch."""


@runtime_checkable
class BatchAgent(Protocol):
    """A lowering agent that carries out several proposals side by side."""

    def lower_all(
        self, orders: Sequence[ProposalOrder], judge: CandidateJudge, done: Done
    ) -> list[Lowering]:
        """One lowering for each order; ``done`` is told each as soon as it is there.

        Where Ctrl-C ends it, ``done`` was told what is finished, and what has cost
        something.
        """
        ...


@runtime_checkable
class Stopping(Protocol):
    """An agent that may be unable to go on."""

    @property
    def stopped(self) -> str | None:
        """Why the run should end now; None while it can go on."""
        ...


@dataclass(frozen=True)
class Advised:
    """Written advice after some trials, as changes of the policy.

    ``failure`` says why there is none, and advice by rule takes its place.
    """

    changes: tuple[Change, ...] = ()
    failure: str = ""
    cost: Cost = field(default_factory=Cost)
    conversation: str = ""


@runtime_checkable
class Advisor(Protocol):
    """An agent that also says in words what trials teach."""

    def advise(
        self,
        state: RunState,
        trials: Sequence[RunTrial],
        family: str,
        left: BudgetLeft,
        hears: Hears = nobody,
    ) -> Advised | None:
        """Advice after ``trials``, which are judged; None if they teach nothing."""
        ...
