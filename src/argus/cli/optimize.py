"""`argus optimize`: from a task to a verified, faster kernel.

Judging, planning and the record are others' work; this reads options and shows. Without
a GPU every time is predicted, and it says so.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from argus.cli.models import BaseUrlOption, ModelOption, ModelSettingOption
from argus.cli.options import (
    ColdOption,
    DtypeOption,
    GpuSecondsOption,
    JsonOption,
    KernelOption,
    MinutesOption,
    SeedOption,
    ShapeOption,
    SizeOption,
    TargetOption,
    TokensOption,
    TrialsOption,
    UsdOption,
    WordOption,
)
from argus.cli.output import INTERRUPTED as STOPPED
from argus.cli.output import Output, reporting
from argus.cli.report import beside

if TYPE_CHECKING:
    from argus.agent.interfaces import LoweringAgent
    from argus.agent.loop import Options
    from argus.agent.model.settings import ModelSettings
    from argus.agent.state import RunState
    from argus.cli.programs import Worked
    from argus.diagnostics import Json
    from argus.evaluation.judge import Judge
    from argus.runs.records import Budget, Candidate, Finished, Task
    from argus.runs.store import Run

TRIALS_MEASURED, TRIALS_PREDICTED = 60, 24
"""Trials where nothing is said, with a GPU and without one."""

_MORE = {
    "budget: trials": "--trials N",
    "budget: minutes": "--minutes N",
    "budget: GPU seconds": "--gpu-seconds N",
    "budget: tokens": "--tokens N",
    "budget: money": "--usd N",
}
"""The option that lets a run go on, by the reason for which it ended."""

AgentName = Literal["builtin", "model"]


def optimize(
    task: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|NAME]",
            help="A library kernel, a kernel file with a reference, or a PyTorch file "
            "with Model and get_inputs.",
        ),
    ] = "",
    shape: ShapeOption = None,
    sizes: SizeOption = None,
    option: WordOption = None,
    kernel: KernelOption = None,
    dtypes: DtypeOption = None,
    target: TargetOption = None,
    trials: TrialsOption = None,
    minutes: MinutesOption = None,
    gpu_seconds: GpuSecondsOption = None,
    tokens: TokensOption = None,
    usd: UsdOption = None,
    agent: Annotated[
        AgentName, typer.Option("--agent", help="Who writes the kernels.")
    ] = "builtin",
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    model_option: ModelSettingOption = None,
    seed: SeedOption = 0,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run; `latest`."),
    ] = None,
    cold: ColdOption = False,
    ablate: Annotated[
        bool,
        typer.Option("--ablate/--no-ablate", help="Take the best kernel apart."),
    ] = True,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Judge on a Ray cluster: `auto`, HOST:PORT, or `local` to start one.",
        ),
    ] = None,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute/--no-execute",
            help="Whether Python may be executed: a PyTorch file, a reference.",
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Write the best kernel here; of a PyTorch file, ModelNew.",
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Find a faster kernel for a task: propose, prove, build, test, time, learn.

    Every run is kept (`argus runs`). What a run learns helps the next. Ctrl-C ends a
    run cleanly; --resume goes on with it, also after a crash.
    """
    with reporting("optimize", json_output) as out:
        from argus.agent.loop import Options
        from argus.agent.policy import policy_file
        from argus.agent.tasks.named import require_allowed
        from argus.cli.models import lowering_agent, model_settings
        from argus.cli.programs import optimize_program
        from argus.cli.tasks import tasks_of
        from argus.files.sources import require_no_source
        from argus.runs.records import Budget

        budget = Budget(
            trials=trials,
            minutes=minutes,
            gpu_seconds=gpu_seconds,
            tokens=tokens,
            usd=usd,
        )
        options = Options(policy=policy_file(), ablate=ablate)
        results: list[Json] = []
        out.data["runs"] = results
        if resume is not None:
            with _opened(resume) as run, _judge(ray, _hung(run)) as judge:
                require_allowed(run.started().task, execute)
                name = run.started().agent
                asked = model_settings(
                    name, model, base_url, model_option or (), run.events()
                )
                limits = _limits(run, budget)
                money = (limits or _limited(run)).usd is not None
                with lowering_agent(out, name, asked, money) as made:
                    _go_on(run, judge, limits, cold, asked)
                    found = _work(out, run, judge, made, options, output)
                    results.append(found[0])
            return
        asked = model_settings(agent, model, base_url, model_option or ())
        named = tasks_of(
            out,
            task,
            shape,
            sizes or (),
            option or (),
            kernel,
            dtypes or (),
            target,
            execute,
        )
        if output is not None:
            require_no_source(output)
        with _judge(ray) as judge:
            each = TRIALS_MEASURED if judge.devices else TRIALS_PREDICTED

            def work(one: Task, limits: Budget, to: Path | None = None) -> Worked:
                with (
                    lowering_agent(out, agent, asked, usd is not None) as made,
                    _begun(one, agent, seed, limits, cold, judge, asked) as run,
                ):
                    found, interrupted = _work(out, run, judge, made, options, to)
                    return found, _best(run), interrupted

            if named.program is not None:
                measured = bool(judge.devices)
                optimize_program(
                    out, named.program, budget, each, measured, work, output
                )
            else:
                (one,) = named.tasks
                if trials is None:
                    budget = budget.model_copy(update={"trials": each})
                results.append(work(one, budget, output)[0])


def _judge(ray: str | None, hung: frozenset[str] = frozenset()) -> Judge:
    from argus.evaluation.judge import Judge, LocalJudge
    from argus.evaluation.judge.ray_executor import RayExecutor

    if ray is None:
        return LocalJudge(hung=hung)
    return Judge(RayExecutor(None if ray == "local" else ray), hung=hung)


def _begun(
    task: Task,
    agent: str,
    seed: int,
    budget: Budget,
    cold: bool,
    judge: Judge,
    asked: ModelSettings | None,
) -> Run:
    from argus.agent.policy import Policy, load, policy_file
    from argus.runs.folder import data_folder
    from argus.runs.records import Started
    from argus.runs.store import RunStore

    policy = Policy() if cold else load(policy_file())
    # Names of other runs say nothing to this one.
    told = policy.model_copy(update={"runs": {}}).model_dump(mode="json")
    started = Started(
        task=task,
        agent=agent,
        seed=seed,
        budget=budget,
        policy=told,
        environment=_environment(judge, asked),
        cold=cold,
    )
    return RunStore(data_folder() / "runs").create(started)


def _opened(name: str) -> Run:
    from argus.runs.folder import data_folder
    from argus.runs.store import RunStore

    return RunStore(data_folder() / "runs").open(name)


def _hung(run: Run) -> frozenset[str]:
    from argus.runs.history import history

    return history(run.stamped()).hung


def _limited(run: Run) -> Budget:
    from argus.runs.history import history

    return history(run.stamped()).budget


def _limits(run: Run, given: Budget) -> Budget | None:
    """The limits of a run that goes on; None if they stay as they were."""
    limits = given.model_dump(exclude_none=True)
    return _limited(run).model_copy(update=limits) if limits else None


def _go_on(
    run: Run,
    judge: Judge,
    limits: Budget | None,
    cold: bool,
    asked: ModelSettings | None,
) -> None:
    """Write down that the run goes on."""
    from argus.agent.loop import resume

    resume(run, _environment(judge, asked), limits, cold=cold)


def _environment(judge: Judge, asked: ModelSettings | None) -> dict[str, str]:
    from argus import __version__
    from argus.cli.models import model_environment

    return {
        "argus": __version__,
        "python": platform.python_version(),
        "device": ", ".join(judge.devices) or "no GPU",
        **model_environment(asked),
    }


def _work(
    out: Output,
    run: Run,
    judge: Judge,
    agent: LoweringAgent | None,
    options: Options,
    output: Path | None,
) -> tuple[Json, bool]:
    from argus.agent.assemble import optimiser_of
    from argus.agent.budget import INTERRUPTED
    from argus.cli.progress import Progress, settled, summary

    task = run.started().task
    where = ", ".join(judge.devices) or "no GPU: times are predicted"
    out.line(f"{task.name}: {where}", style="bold", indent=2)
    settled(out, task.problem)
    with Progress(out) as progress:
        optimiser = optimiser_of(run, judge, agent, options, progress.watch)
        end = optimiser.go()
    state = optimiser.state
    summary(out, state, end)
    out.line()
    rows = [("run", run.id), ("look", f"argus runs show {run.id}")]
    failed = end.reason.startswith("provider")
    if failed or state.best is None:
        out.fail()
    if end.reason == INTERRUPTED:
        out.fail(STOPPED)  # whatever was found: the command did not do what it was to
    again = failed or end.reason == INTERRUPTED
    more = "" if again else _MORE.get(end.reason)
    if more is not None:
        rows.append(("go on", f"argus optimize --resume {run.id} {more}".rstrip()))
    if state.cold:
        rows.append(("policy", "not changed: the run is cold"))
    if output is not None and state.best is not None:
        path = _write(state, output, task)
        rows.append(("kernel", str(path)))
    page, said = beside(run)
    rows.append(("report", said))
    out.fields(rows)
    found = _result(run, state, end)
    found["report"] = None if page is None else str(page)
    return found, end.reason == INTERRUPTED


def _best(run: Run) -> dict[str, Candidate]:
    """The best kernel of a run by the name of its task; empty if there is none."""
    from argus.runs.artefacts import candidate_in
    from argus.runs.history import history

    found = history(run.stamped())
    if found.best is None or found.best.candidate is None:
        return {}
    raw = run.get(found.best.candidate)
    return {found.started.task.name: candidate_in(raw)}


def _write(state: RunState, path: Path, task: Task) -> Path:
    from argus.agent.writing import as_file
    from argus.cli.progress import kind
    from argus.files.writing import write_text
    from argus.report.words import duration

    best = state.best
    assert best is not None and best.verdict is not None
    assert best.microseconds is not None
    time = f"{duration(best.microseconds)} {kind(best.verdict)}"
    write_text(path, as_file(state.candidates[best.number], f"{task.name}: {time}."))
    return path


def _result(run: Run, state: RunState, end: Finished) -> dict[str, Json]:
    from argus.runs.records import FileProblem

    problem = state.started.task.problem
    best, start = state.best, state.trials.get(0)
    verdict = best.verdict if best else None
    return {
        "run": run.id,
        "task": state.started.task.name,
        "reason": end.reason,
        "cold": state.cold,
        "settled": dict(problem.settled) if isinstance(problem, FileProblem) else {},
        "trials": len(state.done),
        "best_trial": best.number if best else None,
        "microseconds": best.microseconds if best else None,
        "measured": verdict is not None and verdict.measured is not None,
        "start_microseconds": start.microseconds if start else None,
        "baselines": dict(verdict.measured.baselines)
        if verdict and verdict.measured
        else {},
        "limit_microseconds": verdict.limit_microseconds if verdict else None,
        "design": dict(state.design(best.number) or {}) if best else {},
        "ablation": {
            name: event.verdict.microseconds for name, event in state.ablations.items()
        },
        "gpu_seconds": state.spent.gpu_seconds,
        "tokens": state.spent.tokens,
        "usd": state.spent.usd,
    }
