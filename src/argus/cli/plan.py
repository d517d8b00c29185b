"""`argus plan`: the kernels that a PyTorch program becomes, and what stays in torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption, TargetOption
from argus.cli.output import WRONG, Output, reporting

if TYPE_CHECKING:
    from argus.diagnostics import Json
    from argus.programs.plan import KernelStep, ProgramPlan, TorchStep

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A PyTorch file with Model and get_inputs; it is executed.",
        show_default=False,
    ),
]


def plan(
    file: File,
    prove: Annotated[bool, typer.Option("--prove", help="Prove every kernel.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Write the kernels as files."),
    ] = None,
    target: TargetOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show which kernels a PyTorch program becomes. Nothing is searched or launched.

    The file is executed with tensors that have shapes and no elements. What has no
    kernel stays in torch, with the reason. With --prove it exits with 1 unless every
    kernel is proved.
    """
    with reporting("plan", json_output) as shown:
        from argus.programs.capture import capture_shapes
        from argus.programs.plan import plan_program
        from argus.targets import DEFAULT_TARGET

        made = plan_program(capture_shapes(file))
        arch = target or DEFAULT_TARGET
        steps = [_kernel(shown, step, prove, arch) for step in made.kernels]
        for left in made.left:
            shown.line(f"torch   {left.what}: {left.why}")
        if out is not None:
            _write(out, made)
        shown.line(_summary(made), style="bold")
        shown.data["kernels"] = list(steps)
        shown.data["left"] = [_left(step) for step in made.left]
        shown.data["whole"] = made.whole


def _kernel(
    shown: Output, step: KernelStep, prove: bool, target: str
) -> dict[str, Json]:
    source = step.source
    written = [t.buffer.name for t in source.tensors if t.name in source.outputs]
    read = [t.buffer.name for t in source.tensors if t.name not in source.outputs]
    said: dict[str, Json] = {
        "kernel": source.name,
        "computes": step.computes,
        "source": source.text,
        "sizes": dict(source.sizes),
        "reads": [*read],
        "writes": [*written],
    }
    sizes = ", ".join(f"{n} = {size}" for n, size in source.sizes.items())
    verdict = ""
    if prove:
        from argus.programs.proofs import proof_of
        from argus.verify.verdict import Verdict

        report = proof_of(step, target)
        said["verdict"] = verdict = str(report.verdict)
        if report.verdict < Verdict.PROVED:
            shown.code = WRONG
    shown.line(f"{verdict or 'kernel':<8}{source.name}: {step.computes}")
    shown.line(f"{sizes}; writes {', '.join(written)}", indent=8)
    return said


def _left(step: TorchStep) -> dict[str, Json]:
    return {"operator": step.what, "why": step.why}


def _summary(made: ProgramPlan) -> str:
    kernels, left = len(made.kernels), len(made.left)
    return f"{kernels} kernel{'s' * (kernels != 1)}, {left} left in torch"


def _write(folder: Path, made: ProgramPlan) -> None:
    """Each kernel as a file of its own. Raises ArgusError AG0902 where that fails."""
    from argus.files.writing import write_text

    for number, step in enumerate(made.kernels):
        write_text(folder / f"{number}_{step.source.name}.py", step.source.text)
