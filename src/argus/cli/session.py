"""`argus session`: an agent of your own writes the kernels, an operation at a time.

Each command is one operation of ``argus.agent.session``; this reads options and shows
the answer. With --json it is the answer itself (``argus.agent.session.results``).
Here are those that move a run; session_asking.py has those that answer questions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
from argus.cli.session_asking import (
    bench,
    build,
    check,
    explain,
    knowledge,
    profile,
    test,
)
from argus.cli.session_parts import (
    FileArgument,
    RunOption,
    StaticOption,
    answered,
    operation,
    source_in,
    statics_of,
    written,
)


def start(
    task: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|NAME]",
            help="As for `argus optimize`: a library kernel, a kernel file with a "
            "reference, or a PyTorch file.",
        ),
    ] = "",
    shape: ShapeOption = None,
    sizes: SizeOption = None,
    option: WordOption = None,
    kernel: KernelOption = None,
    dtypes: DtypeOption = None,
    target: TargetOption = None,
    part: Annotated[
        str, typer.Option("--part", help="Which task of a PyTorch file.")
    ] = "",
    trials: TrialsOption = None,
    minutes: MinutesOption = None,
    gpu_seconds: GpuSecondsOption = None,
    tokens: TokensOption = None,
    usd: UsdOption = None,
    seed: SeedOption = 0,
    cold: ColdOption = False,
    resume: Annotated[
        str,
        typer.Option("--resume", metavar="RUN", help="Open a run again; `latest`."),
    ] = "",
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the start kernel here."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Begin a run: judges the kernel that it starts from, and says what is asked."""
    with operation("start", json_output) as (out, desk):
        from argus.agent.session import Asked
        from argus.agent.session import start as begin
        from argus.cli import session_text as text
        from argus.cli.subjects import parse_sizes
        from argus.cli.tasks import pairs_of

        answer = begin(
            desk,
            Asked(
                task=task,
                shape=shape,
                sizes=parse_sizes(sizes or ()),
                options=tuple(option or ()),
                kernel=kernel,
                dtypes=pairs_of(dtypes or ()),
                target=target,
                part=part,
                trials=trials,
                minutes=minutes,
                gpu_seconds=gpu_seconds,
                tokens=tokens,
                usd=usd,
                seed=seed,
                cold=cold,
                resume=desk.name(resume) if resume else "",
            ),
        )
        answered(out, answer, ok=answer.verdict.status == "correct")
        written(out, write, answer.start.source)
        text.started(out, answer)


def next_proposal(
    run: RunOption = "latest",
    skip: Annotated[
        str,
        typer.Option(
            "--skip", metavar="WHY", help="Give the open proposal up; the next one."
        ),
    ] = "",
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the kernel to change."),
    ] = None,
    draft: Annotated[
        Path | None,
        typer.Option(
            "--draft", metavar="FILE", help="Write what the edit gives by itself."
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """The open proposal, or a new one if there is none: ranked, with what is known."""
    with operation("next", json_output) as (out, desk):
        from argus.agent.session import next_
        from argus.cli import session_text as text

        answer = next_(desk, run, skip)
        answered(out, answer)
        written(out, write, answer.parent.source if answer.parent else None)
        written(out, draft, answer.draft.source if answer.draft else None)
        text.proposed(out, answer)


def submit(
    file: FileArgument,
    run: RunOption = "latest",
    note: Annotated[
        str, typer.Option("--note", help="What was done, for the record.")
    ] = "",
    instead: Annotated[
        str,
        typer.Option(
            "--instead", metavar="ENTRY", help="What was done, if not the proposal."
        ),
    ] = "",
    tokens: Annotated[
        int, typer.Option("--tokens", min=0, help="What the agent spent on it.")
    ] = 0,
    usd: Annotated[float, typer.Option("--usd", min=0.0)] = 0.0,
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Judge a kernel for good: verdict, reward, and what was learnt from it."""
    with operation("submit", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.submit(
            desk,
            source_in(file),
            run,
            kernel=kernel,
            statics=statics_of(settings),
            note=note,
            instead=instead,
            tokens=tokens,
            usd=usd,
        )
        answered(out, answer, ok=answer.verdict.status == "correct")
        text.submitted(out, answer)


def status(
    run: RunOption = "latest",
    best: Annotated[
        Path | None,
        typer.Option("--best", metavar="FILE", help="Write the best kernel here."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Where a run stands. Only reads; works while another command works."""
    with operation("status", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.status(desk, run)
        answered(out, answer)
        written(out, best, answer.best_source.source if answer.best_source else None)
        text.standing(out, answer)


def finish(
    run: RunOption = "latest",
    ablate: Annotated[
        bool,
        typer.Option("--ablate/--no-ablate", help="Take the best kernel apart."),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the best kernel here."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """End a run: the best kernels side by side, then the best one taken apart."""
    with operation("finish", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.finish(desk, run, ablate=ablate)
        answered(out, answer)
        written(out, output, answer.best_source.source if answer.best_source else None)
        text.ended(out, answer)


session = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="A coding agent writes the kernels: it asks what to try, checks, submits.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order in which they are used. Short enough for a terminal of 60 columns.
session.command(short_help="Begin: a task, its limits.")(start)
session.command("next", short_help="What to try, and on which kernel.")(next_proposal)
session.command(short_help="Search what is known of optimisations.")(knowledge)
session.command(short_help="What is proved, what is wrong.")(check)
session.command(short_help="Registers, shared memory, spills.")(build)
session.command(short_help="A kernel at a stage; a code.")(explain)
session.command(short_help="Is the result right? No time.")(test)
session.command(short_help="A dry run: judged, no trial.")(bench)
session.command(short_help="Where the time would go.")(profile)
session.command(short_help="The answer that counts.")(submit)
session.command(short_help="Trials, best kernel, budget.")(status)
session.command(short_help="Measure again, take apart, end.")(finish)
