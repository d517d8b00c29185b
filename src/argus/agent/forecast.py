"""Times of designs that were not tried, from the performance model.

Placing and predicting take some 30 ms, which is cheap beside a trial, and dear beside a
thought: the planner asks about the designs that it already likes. Registers are the
model's estimate, since nothing is built.
"""

from __future__ import annotations

import math

from argus.agent.space import Design, SearchSpace
from argus.diagnostics import ArgusError
from argus.evaluation.judge.candidate import environment, request_of
from argus.evaluation.judge.subject import subject_of
from argus.model import predict
from argus.requests import placed_program
from argus.runs.records import Problem


class Forecaster:
    """Log times of designs of one problem."""

    def __init__(self, space: SearchSpace, problem: Problem) -> None:
        self._space = space
        self._problem = problem
        self._subject = subject_of(problem, reference=False)

    def __call__(self, design: Design) -> float | None:
        """Log microseconds; None for a design that cannot be placed or predicted.

        That is no failure: the judge says why, if such a design is ever proposed.
        """
        candidate = self._space.candidate(design, self._problem)
        subject = self._subject
        try:
            program = placed_program(request_of(candidate, subject))
            arguments = environment(program, subject.arguments(), subject)
            said = predict(program, {**subject.case.sizes, **arguments})
        except ArgusError:
            return None
        return math.log(said.microseconds)
