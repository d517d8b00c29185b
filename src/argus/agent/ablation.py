"""The end of a run: the best kernels side by side, and the best one taken apart.

The fastest of sixty measured times is a little luck, too. So the best few are measured
again, together, before one is called the best. Then each of its optimisations is taken
out, and what is left is judged like any candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from argus.agent.budget import cost_of
from argus.agent.remembering import RememberingJudge
from argus.agent.space import Design, SearchSpace
from argus.agent.state import RunState, same_source
from argus.runs.records import Ablated, Candidate, Cost, Judged, Problem

CLOSE = 0.03
"""Kernels within that log time of the fastest are measured again."""
RUNNERS = 4


def measure_again(
    state: RunState, problem: Problem, judge: RememberingJudge
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
            yield Judged(trial=number, verdict=verdict, cost=cost_of(verdict))


def ablate(
    state: RunState,
    problem: Problem,
    space: SearchSpace,
    judge: RememberingJudge,
    put: Callable[[str], str],
) -> Iterator[Ablated]:
    """The best kernel without each optimisation that it can be without.

    Two that can only go together leave the same kernel, which is judged once: their
    events name the same candidate, and only the first has a cost.
    """
    best = state.best
    design = state.design(best.number) if best else None
    if design is None:
        return
    left: dict[str, Candidate] = {}
    names: dict[str, list[str]] = {}
    for optimisation, candidate in _without(space, design, problem):
        kernel = same_source(candidate)
        left.setdefault(kernel, candidate)
        names.setdefault(kernel, []).append(optimisation)
    verdicts = judge.evaluate(problem, list(left.values()))
    for (kernel, candidate), verdict in zip(left.items(), verdicts, strict=True):
        artefact = put(candidate.model_dump_json())
        for place, optimisation in enumerate(names[kernel]):
            yield Ablated(
                optimisation=optimisation,
                candidate=artefact,
                verdict=verdict,
                cost=Cost() if place else cost_of(verdict),
            )


def _without(
    space: SearchSpace, design: Design, problem: Problem
) -> Iterator[tuple[str, Candidate]]:
    for optimisation in space.optimisations(design):
        left = space.without(design, optimisation, problem)
        if left is not None:
            yield optimisation, space.candidate(left, problem)
