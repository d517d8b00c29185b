"""The built-in agent: carries out a proposal by the moves of the family's design space.

Needs no key and no network, and is deterministic. Where the check refuses what the
proposal asked for, it takes back resources, a knob at a time, up to a limit; what it
does so is told in the attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from argus.agent.interfaces import CandidateJudge, Done, Lowering, ProposalOrder
from argus.agent.space import Design, SearchSpace
from argus.runs.records import Candidate, JudgeVerdict

REPAIRS = 2
"""How often a refused design is changed before the trial is given up."""

_FRUGAL = ("STAGES", "BN", "BM", "BK", "BQ", "BT", "ROWS", "CLUSTER")
"""Knobs that take resources, in the order in which they are given up."""
_REPAIRABLE = ("rejected", "unbuildable", "refuted", "unknown")


@dataclass(frozen=True)
class _Attempt:
    order: ProposalOrder
    design: Design
    candidate: Candidate
    attempts: tuple[JudgeVerdict, ...] = ()
    failure: str = ""
    settled: bool = False


class BuiltinAgent:
    """A lowering agent over a design space. ``repairs``: see the module."""

    name = "builtin"

    def __init__(self, space: SearchSpace, repairs: int = REPAIRS) -> None:
        self._space = space
        self._repairs = repairs

    def lower(self, order: ProposalOrder, judge: CandidateJudge) -> Lowering:
        """Carry out one proposal."""
        return self.lower_all([order], judge)[0]

    def lower_all(
        self,
        orders: Sequence[ProposalOrder],
        judge: CandidateJudge,
        done: Done | None = None,
    ) -> list[Lowering]:
        """Carry out proposals side by side: the judge checks them in one batch."""
        found = [self._begin(order) for order in orders]
        for turn in range(self._repairs + 1):
            waiting = [i for i, a in enumerate(found) if not a.settled]
            if not waiting:
                break
            by_problem = [found[i] for i in waiting]
            problem = by_problem[0].order.task.problem
            verdicts = judge.check(problem, [a.candidate for a in by_problem])
            for i, verdict in zip(waiting, verdicts, strict=True):
                found[i] = self._answered(found[i], verdict, turn == self._repairs)
        lowerings = [self._lowering(a) for a in found]
        if done is not None:
            for place, lowering in enumerate(lowerings):
                done(place, lowering)
        return lowerings

    def _begin(self, order: ProposalOrder) -> _Attempt:
        problem = order.task.problem
        if not order.proposal.edit:
            candidate = order.parent
            return _Attempt(
                order,
                order.parent.design,
                candidate,
                failure="it has no edit",
                settled=True,
            )
        design = self._space.apply(order.parent.design, order.proposal.edit)
        why = self._space.invalid(design, problem)
        candidate = self._space.candidate(design, problem)
        if why is not None:
            return _Attempt(order, design, candidate, failure=why, settled=True)
        return _Attempt(order, design, candidate)

    def _answered(self, at: _Attempt, verdict: JudgeVerdict, last: bool) -> _Attempt:
        """The attempt after the check's answer: settled, or changed."""
        if verdict.status not in _REPAIRABLE:
            return replace(at, settled=True)
        attempts = (*at.attempts, verdict)
        smaller = None if last else self._smaller(at)
        if smaller is None:
            # The judge says of it what the check said.
            return replace(at, attempts=attempts, settled=True)
        candidate = self._space.candidate(smaller, at.order.task.problem)
        return replace(at, design=smaller, candidate=candidate, attempts=attempts)

    def _smaller(self, at: _Attempt) -> Design | None:
        """The design with less of one resource, not tried before."""
        problem = at.order.task.problem
        moves = self._space.moves(at.design, problem)
        for knob in _FRUGAL:
            now = at.design.get(knob)
            if not isinstance(now, int) or isinstance(now, bool):
                continue
            lower = [
                (value, move)
                for move in moves
                if isinstance(value := move.edit.get(knob), int) and value < now
            ]
            for _, move in sorted(lower, key=lambda pair: -pair[0]):
                design = self._space.apply(at.design, move.edit)
                candidate = self._space.candidate(design, problem)
                if not at.order.tried(candidate):
                    return design
        return None

    @staticmethod
    def _lowering(at: _Attempt) -> Lowering:
        if at.failure:
            return Lowering(None, at.attempts, at.failure)
        return Lowering(at.candidate, at.attempts)
