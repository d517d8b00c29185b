"""`argus explain`: a kernel at a stage of its compilation, or what a code means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import typer

from argus.cli.options import (
    CaseOption,
    DtypeOption,
    JsonOption,
    KernelOption,
    SetOption,
    SizeOption,
    TargetOption,
)
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.requests import Request

Stage = Literal["tile", "placed", "cuda", "sass"]
Subject = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME|CODE",
        help="A kernel file, a library kernel, or a code like AG0301.",
    ),
]
_CODE = re.compile(r"AG\d{4}", re.IGNORECASE)


def explain(
    source: Subject,
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
    """Print a kernel as the compiler sees it, or what a diagnostic's code means.

    Of a library kernel the first large case is shown, unless --case names another.
    """
    with reporting("explain", json_output) as out:
        if _CODE.fullmatch(source):
            _code(out, source.upper())
            return
        from argus.cli.subjects import SubjectOptions, one_or_all

        selection = SubjectOptions(
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


def _code(out: Output, name: str) -> None:
    """The catalogue's entry. Raises ArgusError AG0909 where there is none."""
    from argus.diagnostics import CATALOGUE, fail

    if name not in CATALOGUE:
        near = [code for code in CATALOGUE if code[:4] == name[:4]]
        raise fail(
            "AG0909",
            None,
            f"there is no code {name}",
            help=f"{near[0]} to {near[-1]} are near it" if near else None,
        )
    entry = CATALOGUE[name]
    out.data["code"] = {
        "code": entry.code,
        "title": entry.title,
        "category": entry.category,
        "explanation": entry.explanation,
    }
    out.line(f"{entry.code}: {entry.title}", style="bold")
    out.line()
    out.line(entry.explanation)


def stage_text(request: Request, stage: Stage) -> str:
    """The text of a stage. Raises ArgusError for what compiling finds."""
    from argus import compiler, requests
    from argus.evaluation.disassembly import sass
    from argus.ir.printer import print_program

    match stage:
        case "tile":
            return print_program(requests.tile_program(request))
        case "placed":
            return print_program(requests.placed_program(request))
        case "cuda":
            return compiler.cuda_source(request).text
        case "sass":
            return sass(compiler.build(request).cubin.image)
        case _:
            assert_never(stage)
