"""The commands of `argus session` that answer questions: none is a trial."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from argus.cli.options import (
    JsonOption,
    KernelOption,
)
from argus.cli.session_parts import (
    FileArgument,
    MaybeFile,
    RunOption,
    StaticOption,
    answered,
    operation,
    source_in,
    statics_of,
)


def knowledge(
    query: Annotated[
        str, typer.Argument(metavar="[WORDS]", help="Or an entry's id, for its text.")
    ] = "",
    run: Annotated[
        str,
        typer.Option("--run", "-r", metavar="RUN", help="Whose kernel it is about."),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1)] = 5,
    full: Annotated[bool, typer.Option("--full", help="With their texts.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Entries of the knowledge base, the best first; with --run, which apply there."""
    with operation("knowledge", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.knowledge(desk, query, run, limit, full=full)
        answered(out, answer)
        text.found(out, answer)


def check(
    file: FileArgument,
    run: RunOption = "latest",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Prove a kernel for the run's task; every mistake has a counterexample."""
    with operation("check", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.check(
            desk, source_in(file), run, kernel=kernel, statics=statics_of(settings)
        )
        answered(out, answer, ok=answer.ok)
        text.checked(out, answer)


def build(
    file: FileArgument,
    run: RunOption = "latest",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Prove a kernel and compile it to machine code."""
    with operation("build", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.build(
            desk, source_in(file), run, kernel=kernel, statics=statics_of(settings)
        )
        answered(out, answer, ok=answer.ok)
        text.built(out, answer)


def explain(
    file: MaybeFile = "",
    run: RunOption = "latest",
    stage: Annotated[
        Literal["tile", "placed", "cuda", "sass"], typer.Option("--stage", "-s")
    ] = "placed",
    topic: Annotated[
        str,
        typer.Option("--topic", help="A code such as AG0301, or `language`."),
    ] = "",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Print a kernel as the compiler sees it, or what a code means."""
    with operation("explain", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.explain(
            desk,
            source_in(file) if file else "",
            run,
            stage=stage,
            topic=topic,
            kernel=kernel,
            statics=statics_of(settings),
        )
        answered(out, answer, ok=not answer.findings)
        text.explained(out, answer)


def test(
    file: FileArgument,
    run: RunOption = "latest",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Compare with the reference, at small sizes in the interpreter."""
    with operation("test", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.test(
            desk, source_in(file), run, kernel=kernel, statics=statics_of(settings)
        )
        answered(out, answer, ok=answer.ok)
        text.tested(out, answer)


def bench(
    file: FileArgument,
    run: RunOption = "latest",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """Judge a kernel as `submit` does, measured on a GPU if there is one.

    Counts as no trial; a few times for each proposal, and within the budget.
    """
    with operation("bench", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.bench(
            desk, source_in(file), run, kernel=kernel, statics=statics_of(settings)
        )
        answered(out, answer, ok=answer.ok)
        text.benched(out, answer)


def profile(
    file: MaybeFile = "",
    run: RunOption = "latest",
    kernel: KernelOption = None,
    settings: StaticOption = None,
    json_output: JsonOption = False,
) -> None:
    """The model's parts, occupancy, bank conflicts, instructions. Nothing is run."""
    with operation("profile", json_output) as (out, desk):
        from argus.agent import session as operations
        from argus.cli import session_text as text

        answer = operations.profile(
            desk,
            source_in(file) if file else "",
            run,
            kernel=kernel,
            statics=statics_of(settings),
        )
        answered(out, answer, ok=answer.ok)
        text.profiled(out, answer)
