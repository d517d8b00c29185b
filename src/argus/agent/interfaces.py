"""What the loop asks of the others: a judge and a lowering agent.

The judge lies below this package and hides the oracle, the timer and the tolerance: an
agent gets verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from argus.runs.records import Candidate, Cost, Problem, Proposal, Task, Verdict


class Judge(Protocol):
    """Verdicts on candidates, in their order. See ``argus.evaluation.judge``."""

    def check(self, problem: Problem, candidates: Sequence[Candidate]) -> list[Verdict]:
        """All that needs no GPU: parse, place, prove, build, predict.

        A candidate that passes is "correct" with a predicted time.
        """
        ...

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[Verdict]:
        """Everything: :meth:`check`, then correctness and time on a GPU.

        Where there is none, correctness is the interpreter's at a small size, and the
        time is predicted.
        """
        ...


@dataclass(frozen=True)
class Order:
    """One proposal to carry out.

    ``parent`` is the kernel to change and ``verdict`` what is known of it; ``advice``
    is the policy's written advice; ``tried`` tells a program that was judged before.
    ``seed`` makes a deterministic agent deterministic.
    """

    task: Task
    parent: Candidate
    verdict: Verdict | None
    proposal: Proposal
    advice: tuple[str, ...]
    seed: int
    tried: Callable[[Candidate], bool]


@dataclass(frozen=True)
class Lowering:
    """What an agent made of an order: a candidate, or why there is none.

    ``attempts`` are the verdicts that came back to it on the way.
    """

    candidate: Candidate | None
    attempts: tuple[Verdict, ...] = ()
    failure: str = ""
    cost: Cost = field(default_factory=Cost)


class LoweringAgent(Protocol):
    """Carries out a proposal. A failure is returned; only bugs raise."""

    @property
    def name(self) -> str:
        """Its name in records: "builtin", "model" or "external"."""
        ...

    def lower(self, order: Order, judge: Judge) -> Lowering:
        """Make a candidate; may ask the judge to check attempts."""
        ...
