"""The end of a run: the best kernels side by side, and the best one taken apart.

The fastest of sixty measured times is a little luck, too. So the best few are measured
again, together, before one is called the best. Then each of its optimisations is taken
out, and what is left is judged like any candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from argus.agent.remembering import RememberingJudge
from argus.agent.space import Design, Space
from argus.agent.state import State
from argus.runs.records import Ablated, Candidate, Cost, Judged, Problem, Verdict

CLOSE = 0.03
"""Kernels within that log time of the fastest are measured again."""
RUNNERS = 4


def measure_again(
    state: State, problem: Problem, judge: RememberingJudge
) -> Iterator[Judged]:
    """New verdicts of the best trials, measured in one go. None if times are predicted.

    A trial that does not get a time this time keeps its old verdict and is no finalist.
    """
    if not state.measured:
        return
    timed = [
        (t.microseconds, t.number)
        for t in state.done
        if t.microseconds is not None and t.verdict and t.verdict.measured
    ]
    timed.sort()
    fastest = timed[0][0]
    finalists = [n for us, n in timed if math.log(us / fastest) <= CLOSE][:RUNNERS]
    if len(finalists) < 2:
        return
    verdicts = judge.evaluate(problem, [state.candidates[n] for n in finalists])
    for number, verdict in zip(finalists, verdicts, strict=True):
        if verdict.measured is not None and verdict.status == "correct":
            yield Judged(trial=number, verdict=verdict, cost=Cost())


def ablate(
    state: State,
    problem: Problem,
    space: Space,
    judge: RememberingJudge,
    put: Callable[[str], str],
) -> Iterator[Ablated]:
    """The best kernel without each optimisation that it can be without."""
    best = state.best
    design = state.design(best.number) if best else None
    if design is None:
        return
    candidates = list(_without(space, design, problem))
    verdicts = judge.evaluate(problem, [c for _, c in candidates])
    for (optimisation, candidate), verdict in zip(candidates, verdicts, strict=True):
        yield Ablated(
            optimisation=optimisation,
            candidate=put(candidate.model_dump_json()),
            verdict=verdict,
        )


def _without(
    space: Space, design: Design, problem: Problem
) -> Iterator[tuple[str, Candidate]]:
    for optimisation in space.optimisations(design):
        left = space.without(design, optimisation, problem)
        if left is not None:
            yield optimisation, space.candidate(left, problem)


def loss(verdict: Verdict, best: float) -> float | None:
    """How many times slower the kernel is without the optimisation."""
    time = verdict.microseconds
    return None if time is None else time / best
