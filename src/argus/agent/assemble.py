"""Putting a run's parts together: its family, planner, judge and lowering agent."""

from __future__ import annotations

from collections.abc import Callable

from argus.agent.beliefs import Beliefs
from argus.agent.builtin import BuiltinAgent
from argus.agent.expectations import KnowledgeBase
from argus.agent.families import FAMILIES
from argus.agent.families.family import Family
from argus.agent.forecast import Forecaster
from argus.agent.interfaces import Judge, LoweringAgent
from argus.agent.loop import Optimiser, Options
from argus.agent.planner import Planner
from argus.agent.pool import Pool
from argus.agent.state import State
from argus.runs.records import Event, Task
from argus.runs.store import Run


def space_of(task: Task) -> Family:
    """The design space of a task."""
    return FAMILIES[task.family]


def planner_of(task: Task, seed: int) -> Planner:
    """The planner of a run."""
    space = space_of(task)
    problem = task.problem
    beliefs = Beliefs(
        space, problem, problem.sizes, KnowledgeBase(), Forecaster(space, problem)
    )
    return Planner(beliefs, Pool(space, problem, seed), dict(task.features), seed)


def optimiser_of(
    run: Run,
    judge: Judge,
    agent: LoweringAgent | None = None,
    options: Options | None = None,
    watch: Callable[[Event, State], None] | None = None,
) -> Optimiser:
    """The optimiser of a run that was begun; the built-in agent if none is given."""
    started = run.started()
    space = space_of(started.task)
    return Optimiser(
        run,
        space,
        planner_of(started.task, started.seed),
        judge,
        agent or BuiltinAgent(space),
        options,
        watch,
    )
