"""`argus build`: to machine code, with the resources that it needs. No GPU needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.cli.subjects import CommandSubject
    from argus.diagnostics import Json


def build(
    source: Source,
    target: TargetOption = None,
    kernel: KernelOption = None,
    case: CaseOption = None,
    settings: SetOption = None,
    dtypes: DtypeOption = None,
    sizes: SizeOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="CUBIN", help="Write the machine code."),
    ] = None,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Build what is not proved, too.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Compile to a cubin, and print registers, shared memory and spills.

    A kernel is proved first, and one that is wrong is not built. Of a library kernel
    the first large case is built, unless --case names another.
    """
    with reporting("build", json_output) as out:
        from argus.cli.subjects import SubjectOptions, one_or_all
        from argus.diagnostics import fail

        selection = SubjectOptions(
            target, kernel, case, settings or (), dtypes or (), sizes or ()
        )
        found = one_or_all(source, selection)
        if output is not None and len(found) > 1:
            names = ", ".join(s.request.kernel.name for s in found)
            raise fail(
                "AG0908",
                None,
                "`--output` takes one kernel",
                notes=[f"`{source}` has {names}"],
                help="choose one by --kernel",
            )
        if not no_proof:
            from argus.cli.waiting import doing
            from argus.compiler import require_right

            for subject in found:
                with doing(out, f"proving {subject.label}"):
                    require_right(subject.request)
        out.data["kernels"] = [_build(out, subject, output) for subject in found]


def _build(out: Output, subject: CommandSubject, output: Path | None) -> Json:
    from argus import compiler
    from argus.evaluation.specialised import specialisation_words
    from argus.files.writing import write_bytes

    built = compiler.build(subject.request)
    spec, usage = built.spec, built.cubin.usage
    out.show(built.cubin.findings)
    if output is not None:
        write_bytes(output, built.cubin.image)
    size = len(built.cubin.image)
    out.line(f"built {subject.label} for {spec.target}", style="bold", indent=6)
    out.fields(
        [
            ("  for", specialisation_words(subject.request)),
            ("  registers", f"{usage.registers} per thread"),
            ("  threads", f"{spec.threads} per block"),
            ("  shared", f"{spec.shared_bytes} bytes per block"),
            (
                "  spills",
                f"{usage.spill_stores} bytes stored, {usage.spill_loads} loaded",
            ),
            ("  cubin", f"{size} bytes" + (f" in {output}" if output else "")),
            ("  NVRTC", built.cubin.compiler),
        ]
    )
    return {
        "kernel": subject.request.kernel.name,
        "case": subject.case.name if subject.case else None,
        "target": spec.target,
        "statics": dict(subject.statics),
        "entry": spec.entry,
        "threads": spec.threads,
        "cluster": spec.cluster,
        "registers": usage.registers,
        "shared_bytes": spec.shared_bytes,
        "spill_stores": usage.spill_stores,
        "spill_loads": usage.spill_loads,
        "stack": usage.stack,
        "cubin_bytes": size,
        "compiler": built.cubin.compiler,
        "output": None if output is None else str(output),
    }
