"""Putting a run's parts together: its family, planner, judge and lowering agent."""

from __future__ import annotations

from collections.abc import Callable

from argus.agent.beliefs import Beliefs
from argus.agent.builtin import BuiltinAgent
from argus.agent.expectations import KnowledgeBase
from argus.agent.forecast import Forecaster
from argus.agent.interfaces import CandidateJudge, LoweringAgent
from argus.agent.loop import Optimiser, Options
from argus.agent.open_ended import OpenEnded
from argus.agent.planner import Planner
from argus.agent.pool import Pool
from argus.agent.spaces import SPACES
from argus.agent.state import RunState
from argus.kernels.space import DesignSpace
from argus.runs.records import Event, Task
from argus.runs.store import Run


def space_of(task: Task) -> DesignSpace:
    """The design space of a task."""
    return SPACES[task.family]


def planner_of(task: Task, seed: int) -> Planner:
    """The planner of a run."""
    return _planner(task, seed, _beliefs(task))


def open_planner_of(task: Task, seed: int) -> OpenEnded:
    """The planner of a run whose agent writes source, and is not bound to a family."""
    beliefs = _beliefs(task)
    planner = _planner(task, seed, beliefs)
    return OpenEnded(planner, beliefs, task.features, tuple(task.start.design), seed)


def _beliefs(task: Task) -> Beliefs:
    space, problem = space_of(task), task.problem
    forecast = Forecaster(space, problem)
    return Beliefs(space, problem, problem.sizes, KnowledgeBase(), forecast)


def _planner(task: Task, seed: int, beliefs: Beliefs) -> Planner:
    pool = Pool(beliefs.space, task.problem, seed)
    return Planner(beliefs, pool, dict(task.features), seed)


def optimiser_of(
    run: Run,
    judge: CandidateJudge,
    agent: LoweringAgent | None = None,
    options: Options | None = None,
    watch: Callable[[Event, RunState], None] | None = None,
) -> Optimiser:
    """The optimiser of a run that was begun; the built-in agent if none is given.

    Any other agent writes source, and gets proposals that no design space has, too.
    """
    started = run.started()
    space = space_of(started.task)
    bound = agent is None or agent.name == BuiltinAgent.name
    plans = planner_of if bound else open_planner_of
    return Optimiser(
        run,
        space,
        plans(started.task, started.seed),
        judge,
        agent or BuiltinAgent(space),
        options,
        watch,
    )
