"""The head and the foot of a report: what came out, what it took, how to repeat it."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass

from argus.report.words import duration, factor, plural, seconds, share
from argus.runs.conversations import requests
from argus.runs.history import History
from argus.runs.records import (
    Budget,
    EqualityRecord,
    FileProblem,
    JudgeVerdict,
    LibraryProblem,
    Problem,
)
from argus.runs.store import Run, State
from argus.targets import DEFAULT_TARGET

_STATES: dict[State, str] = {
    "finished": "finished",
    "running": "in progress",
    "interrupted": "cut off",
    "waiting": "waits for its agent",
}


@dataclass(frozen=True)
class OverviewFact:
    """A name, a value, and what is to be said of it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Overview:
    """What opens the page. ``best`` is "" where no kernel was correct."""

    task: str
    run: str
    state: str
    kind: str
    """"predicted" or "measured": what the times of the run are."""
    what: tuple[str, ...]
    start: str
    best: str
    factor: str
    facts: tuple[OverviewFact, ...]
    notes: tuple[str, ...]


def overview(run: Run, found: History, state: State) -> Overview:
    """The head of the page."""
    started, best, start = found.started, found.best, found.start
    kind = "measured" if found.measured else "predicted"
    verdict = best.verdict if best else None
    time_best = best.microseconds if best else None
    time_start = start.microseconds if start else None
    times = ""
    if time_best and time_start and _alike(start.verdict if start else None, verdict):
        times = factor(time_start / time_best)
    begin = time.strftime("%d %B %Y, %H:%M UTC", time.gmtime(found.begin)).lstrip("0")
    what = (
        started.task.problem.target,
        started.environment.get("device", "device unknown"),
        f"{started.agent} agent, seed {started.seed}",
        begin,
    )
    return Overview(
        started.task.name,
        run.id,
        _STATES[state],
        kind,
        what,
        "" if time_start is None else duration(time_start),
        "" if time_best is None else duration(time_best),
        times,
        tuple(_facts(found, verdict, time_best)),
        tuple(_notes(found, state, kind)),
    )


def _alike(a: JudgeVerdict | None, b: JudgeVerdict | None) -> bool:
    """Whether both were measured, or neither: other times say nothing together."""
    if a is None or b is None:
        return False
    return (a.measured is None) == (b.measured is None)


def _facts(
    found: History, verdict: JudgeVerdict | None, best: float | None
) -> list[OverviewFact]:
    facts: list[OverviewFact] = []
    if verdict is not None and best is not None and found.best is not None:
        took = f"of {plural(len(found.trials), 'trial')}, in {seconds(found.seconds)}"
        facts.append(OverviewFact("found in", f"trial {found.best.number}", took))
        if verdict.measured is not None:
            m = verdict.measured
            within = f"{duration(m.low)} to {duration(m.high)}"
            facts.append(OverviewFact("95 % interval", within, f"{m.samples} samples"))
            for name, took in m.baselines.items():
                note = f"{factor(took / best)} as long, measured beside it"
                facts.append(OverviewFact(name, duration(took), note))
        else:
            facts.append(
                OverviewFact("baseline", "none", "it is measured on a GPU only")
            )
        limit = verdict.limit_microseconds
        if limit:
            note = f"{share(limit, best)} of it is reached"
            facts.append(
                OverviewFact("speed of light", duration(limit), f"a bound; {note}")
            )
        if verdict.predicted is not None:
            p = verdict.predicted
            if verdict.measured is not None:
                said = f"{duration(p.microseconds)} predicted"
                facts.append(OverviewFact("model", said, f"bound by {p.bottleneck}"))
            else:
                facts.append(OverviewFact("bound by", p.bottleneck, "by the model"))
        if verdict.equality is not None:
            facts.append(_result(verdict.equality))
        if verdict.error is not None:
            facts.append(OverviewFact("error", f"{verdict.error:.1e}", "against fp64"))
    else:
        took = plural(len(found.trials), "trial")
        facts.append(OverviewFact("took", seconds(found.seconds), took))
    return facts


def _result(known: EqualityRecord) -> OverviewFact:
    """What is known of what the kernel computes."""
    if known.verdict == "equal":
        note = f"to {known.other}, for all sizes, in real arithmetic"
        return OverviewFact("result", "proved equal", note)
    return OverviewFact("result", "tested only", known.why)


def _settled(problem: Problem) -> list[str]:
    """Parameters of a user's kernel that were not searched, and why."""
    if not isinstance(problem, FileProblem):
        return []
    return [f"{name} is not searched: {why}." for name, why in problem.settled.items()]


def _notes(found: History, state: State, kind: str) -> list[str]:
    notes = _settled(found.started.task.problem)
    if found.best is None:
        refused = sum(
            t.verdict is not None and t.verdict.status != "correct"
            for t in found.trials
        )
        notes.append(
            f"No correct kernel was found: {plural(refused, 'kernel')} of "
            f"{plural(len(found.trials), 'trial')} were refused, and the others were "
            "not judged."
        )
    elif kind == "predicted":
        notes.append(
            "Every time on this page is predicted by the performance model; none is "
            "measured, since there was no GPU. Correctness was proved, and tested in "
            "the interpreter."
        )
    else:
        notes.append(
            "Times are medians, measured beside the baselines with a cold L2 cache, "
            "unless they are called predicted."
        )
    if state == "running":
        notes.append("The run is in progress: this is how far it had got.")
    elif state == "interrupted":
        notes.append(
            "The run was cut off before its end: the last trials may be incomplete, "
            "and the best kernel was not taken apart."
        )
    elif state == "waiting":
        notes.append(
            "The run has no end yet: its agent has not called `argus session finish`."
        )
    elif found.finished is not None:
        notes.append(f"The run ended: {found.finished.reason}.")
    return notes


# ------------------------------------------------------------------------- the foot


@dataclass(frozen=True)
class Spent:
    """A budget: its limit in words, and what was spent of it."""

    name: str
    limit: str
    spent: str


@dataclass(frozen=True)
class RunEffort:
    """What a run took, where, and how to repeat it."""

    spent: tuple[Spent, ...]
    stages: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    source_is_given: bool
    """Whether the task is a file of the user, which the commands do not hold."""


def effort(run: Run, found: History) -> RunEffort:
    """The foot of the page."""
    started = found.started
    limits, cost = found.budget, found.cost
    spent = (
        Spent("trials", _limit(limits.trials), str(len(found.trials))),
        Spent("minutes", _limit(limits.minutes), f"{found.seconds / 60:.1f}"),
        Spent("GPU seconds", _limit(limits.gpu_seconds), f"{cost.gpu_seconds:.1f}"),
        Spent("tokens", _limit(limits.tokens), f"{cost.tokens:,}"),
        Spent("US dollars", _limit(limits.usd), _money(run, found)),
    )
    stages: dict[str, float] = {}
    for trial in found.trials:
        if trial.verdict is not None:
            for name, took in trial.verdict.seconds.items():
                stages[name] = stages.get(name, 0.0) + took
    environment = {**started.environment, "policy": _policy(found)}
    if found.resumed:
        environment["resumed"] = plural(found.resumed, "time")
    return RunEffort(
        spent,
        tuple((name, seconds(took)) for name, took in stages.items()),
        tuple(environment.items()),
        tuple(_commands(run.id, found)),
        not isinstance(started.task.problem, LibraryProblem),
    )


def _money(run: Run, found: History) -> str:
    """What models took, and whether that is all: prices may not be known."""
    asked = requests(found, run.get)
    if asked is None or asked.priced:
        return f"{found.cost.usd:.2f}"
    return asked.money


def _limit(value: float | None) -> str:
    return "no limit" if value is None else f"{value:g}"


def _policy(found: History) -> str:
    if found.cold:
        return "cold: nothing from earlier runs, and nothing for later ones"
    count = _learnt(found)
    if not count:
        return "empty at the beginning"
    return f"{count} {'entry' if count == 1 else 'entries'} at the beginning"


def _learnt(found: History) -> int:
    """Entries of the policy that the run began with."""
    policy = found.started.policy
    parts = [policy.get(k) for k in ("preferences", "effects", "advice")]
    return sum(len(p) for p in parts if isinstance(p, dict))  # pyright: ignore[reportUnknownArgumentType]


def _commands(name: str, found: History) -> list[tuple[str, str]]:
    started = found.started
    begin = ["argus", "optimize"]
    if started.agent == "external":
        begin = ["argus", "session", "start"]
    command = [*begin, *_task(found), *_budget(started.budget)]
    if started.agent == "model":
        command += ["--agent", started.agent]
    command += ["--seed", str(started.seed)]
    # Begun with an empty policy is begun as a cold run is.
    if found.cold or not _learnt(found):
        command.append("--cold")
    commands = [("the same run again", shlex.join(command))]
    commands += [
        ("go on with it", f"{' '.join(begin)} --resume {name} --trials N"),
        (
            "its events, every kernel and conversation",
            f"argus runs export {name} --out FOLDER",
        ),
        ("this page again", f"argus report {name}"),
    ]
    if found.best is not None:
        shown = f"argus runs show {name} --trial {found.best.number}"
        commands.insert(1, ("the best kernel", shown))
    return commands


def _task(found: History) -> list[str]:
    problem = found.started.task.problem
    sizes = [f"--size={k}={v}" for k, v in problem.sizes.items()]
    target = ["--target", problem.target] if problem.target != DEFAULT_TARGET else []
    if isinstance(problem, LibraryProblem):
        words = [f"--option={k}" for k, v in problem.options.items() if v is True]
        return [problem.entry, *sizes, *words, *target]
    types = [f"--dtype={k}={v}" for k, v in problem.dtypes.items()]
    return ["FILE", "--kernel", problem.kernel, *sizes, *types, *target]


def _budget(limits: Budget) -> list[str]:
    found: list[str] = []
    for name, value in limits.model_dump().items():
        if value is not None:
            found += [f"--{name.replace('_', '-')}", f"{value:g}"]
    return found
