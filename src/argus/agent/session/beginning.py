"""The operation that begins a run, or goes on with one: start."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus import __version__
from argus.agent.policy import Policy, load, policy_file
from argus.agent.session import views
from argus.agent.session.at import At
from argus.agent.session.describing import (
    RULES,
    description_of,
    reference_of,
    tensors_of,
)
from argus.agent.session.desk import Desk, OwnedRun
from argus.agent.session.judges import NAME
from argus.agent.session.results import (
    StartedRun,
)
from argus.agent.tasks.named import require_allowed, tasks_named
from argus.diagnostics import fail
from argus.files.typed import natural
from argus.runs import records
from argus.runs.records import Budget, Task

TRIALS_MEASURED, TRIALS_PREDICTED = 60, 24
"""Trials where nothing is said, with a GPU and without one."""


@dataclass(frozen=True)
class StartRequest:
    """What `start` is asked: a task in the words of `argus optimize`, and limits.

    ``part``: which task of a PyTorch file, by a part of its name. ``resume``: a run to
    go on with, instead of a task; limits that are given replace its own. ``execute``:
    whether a task may execute Python; a desk that forbids it does so in any case.
    """

    task: str = ""
    shape: str | None = None
    sizes: Mapping[str, int] | None = None
    options: Sequence[str] | None = None
    kernel: str | None = None
    dtypes: Mapping[str, str] | None = None
    target: str | None = None
    part: str = ""
    trials: int | None = None
    minutes: float | None = None
    gpu_seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None
    seed: int = 0
    cold: bool = False
    resume: str = ""
    execute: bool = True


def start(desk: Desk, asked: StartRequest) -> StartedRun:
    """Begin a run, or go on with one; judges the kernel that it starts from."""
    if not asked.execute:
        desk.execute = False
    if asked.resume:
        if asked.task:
            raise fail(
                "AG0908",
                None,
                f"a run that goes on has its task: `{asked.task}` is one too many",
                help="give a task, or a run to resume",
            )
        return _resumed(desk, asked)
    named = tasks_named(
        asked.task,
        asked.shape,
        asked.sizes,
        asked.options or (),
        asked.kernel,
        asked.dtypes,
        asked.target,
        reader=desk.reader,
        execute=desk.execute,
    )
    task = _one(named.tasks, asked.part)
    desk.tell("looking for a GPU")
    devices = desk.judges.get(gpu=True).devices
    trials = asked.trials or (TRIALS_MEASURED if devices else TRIALS_PREDICTED)
    policy = Policy() if asked.cold else load(policy_file())
    # Names of other runs say nothing to this one.
    told = policy.model_copy(update={"runs": {}}).model_dump(mode="json")
    begun = records.Started(
        task=task,
        agent=NAME,
        seed=asked.seed,
        budget=_budget(asked, Budget(trials=trials)),
        policy=told,
        environment=_environment(devices),
        cold=asked.cold,
    )
    with desk.store.create(begun) as run:
        work = desk.worked(run)
        begin(desk, work)
        return _started(desk, work, named.notes)


def _one(tasks: tuple[Task, ...], part: str) -> Task:
    number = natural(part)
    if number is not None and 1 <= number <= len(tasks):
        return tasks[number - 1]
    found = [t for t in tasks if part == t.name] or [t for t in tasks if part in t.name]
    if len(found) == 1:
        return found[0]
    if not tasks:
        raise fail("AG1042", None, "no kernel of the file has numbers to search")
    raise fail(
        "AG0908",
        None,
        f"the file has {len(tasks)} tasks, and a session is about one",
        notes=[f"{i}: {t.name}" for i, t in enumerate(tasks, 1)],
        help="choose one by `part`: its number, or a part of its name",
    )


def _budget(asked: StartRequest, usual: Budget) -> Budget:
    given = {
        name: value
        for name in Budget.model_fields
        if (value := getattr(asked, name)) is not None
    }
    return usual.model_copy(update=given)


def _environment(devices: tuple[str, ...]) -> dict[str, str]:
    return {
        "argus": __version__,
        "python": platform.python_version(),
        "device": ", ".join(devices) or "no GPU",
    }


def _resumed(desk: Desk, asked: StartRequest) -> StartedRun:
    from argus.agent.loop import resume

    with desk.opened(asked.resume) as run:
        before = At.of(run)
        require_allowed(before.task, desk.execute)
        budget = _budget(asked, before.state.budget)
        devices = desk.judges.get(gpu=True).devices
        resume(run, _environment(devices), budget, cold=asked.cold)
        work = desk.worked(run)
        begin(desk, work)
        return _started(desk, work, ())


def begin(desk: Desk, work: OwnedRun) -> None:
    """Judge the kernel of the start, unless that was done."""
    if 0 in work.state.trials and work.state.trials[0].finished:
        return
    desk.tell("judging the kernel of the start")
    optimiser = work.optimiser
    if optimiser.propose(1):
        optimiser.lower()
        optimiser.validate()
        optimiser.learn()
    work.again()


def _started(desk: Desk, work: OwnedRun, notes: tuple[str, ...]) -> StartedRun:
    task = work.task
    problem = task.problem
    verdict = work.state.verdict_of(0)
    assert verdict is not None
    devices = desk.judges.get(gpu=True).devices
    options = dict(problem.options) if problem.kind == "library" else {}
    scalars = dict(problem.scalars) if problem.kind == "file" else {}
    return StartedRun(
        run=work.run.id,
        task=task.name,
        description=description_of(task),
        reference=reference_of(problem),
        sizes=dict(problem.sizes),
        options=options,
        scalars=scalars,
        tensors=tensors_of(problem),
        target=problem.target,
        where=", ".join(devices) or "no GPU: times are predicted",
        start=views.source_of(task.start, f"{task.name}: the start."),
        verdict=views.judgement(verdict),
        budget=work.state.budget,
        rules=RULES,
        notes=notes,
    )
