"""`argus export`: a standalone .cu with a host program, for those who have nvcc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

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


def export(
    source: Source,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Write KERNEL.cu here."),
    ],
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write kernels as CUDA C++ with a small host program, ready for nvcc.

    Of a library kernel the first large case, unless --case names another. What is
    refuted is not written; what is not proved says so in its first lines.
    """
    with reporting("export", json_output) as out:
        from argus.cli.subjects import SubjectOptions, one_or_all
        from argus.codegen.export import export as standalone
        from argus.codegen.export import nvcc_flags
        from argus.compiler import claimed
        from argus.diagnostics import fail
        from argus.files.writing import write_text
        from argus.requests import placed_program

        selection = SubjectOptions(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        if os.path.exists(output) and not os.path.isdir(output):
            raise fail("AG0902", None, f"`{output}` is a file, not a folder")
        written: list[dict[str, str]] = []
        for subject in one_or_all(source, selection):
            claim = claimed(subject.request)
            program = placed_program(subject.request)
            text, _ = standalone(program, subject.defaults, claim)
            path = output / f"{subject.request.kernel.name}.cu"
            write_text(path, text)
            flags = nvcc_flags(subject.request.target)
            out.line(f"wrote {path}: {claim}", indent=2)
            out.line(f"  nvcc {flags} {path} -lcuda", style="dim", indent=4)
            written.append(
                {
                    "kernel": subject.request.kernel.name,
                    "path": str(path),
                    "nvcc": flags,
                    "claim": claim,
                }
            )
        out.data["files"] = [dict(w) for w in written]
