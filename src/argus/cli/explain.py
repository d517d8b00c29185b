"""`argus explain`: a kernel at a stage of its compilation, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import typer

from argus.cli.options import (
    CaseOption,
    DtypeOption,
    JsonOption,
    KernelOption,
    SetOption,
    SizeOption,
    Source,
    TargetOption,
)
from argus.cli.output import reporting

if TYPE_CHECKING:
    from argus.compiler import Request

Stage = Literal["tile", "placed", "cuda", "sass"]


def explain(
    source: Source,
    stage: Annotated[
        Stage,
        typer.Option(
            "--stage",
            "-s",
            help="tile: as written, typed. placed: with layouts, instructions, waits. "
            "cuda: CUDA C++. sass: machine code.",
        ),
    ] = "placed",
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    json_output: JsonOption = False,
) -> None:
    """Print a kernel as the compiler sees it.

    Of a library kernel the first large case is shown, unless --case names another.
    """
    with reporting("explain", json_output) as out:
        from argus.cli.subjects import Selection, one_or_all

        selection = Selection(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        texts: list[dict[str, str]] = []
        for subject in one_or_all(source, selection):
            text = stage_text(subject.request, stage)
            out.raw(text)
            name = subject.request.kernel.name
            texts.append({"kernel": name, "stage": stage, "text": text})
        out.data["target"] = selection.target
        out.data["kernels"] = [dict(t) for t in texts]


def stage_text(request: Request, stage: Stage) -> str:
    """The text of a stage. Raises ArgusError for what compiling finds."""
    from argus import compiler
    from argus.evaluation.disassembly import sass
    from argus.ir.printer import print_program

    match stage:
        case "tile":
            return print_program(compiler.tile_program(request))
        case "placed":
            return print_program(compiler.placed_program(request))
        case "cuda":
            return compiler.cuda_source(request).text
        case "sass":
            return sass(compiler.build(request).cubin.image)
        case _:
            assert_never(stage)
