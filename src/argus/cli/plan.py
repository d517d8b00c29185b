"""`argus plan`: the kernels that a PyTorch program becomes, and what stays in torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption, TargetOption
from argus.cli.output import WRONG, Output, reporting
from argus.cli.waiting import doing

if TYPE_CHECKING:
    from argus.diagnostics import Json
    from argus.model import Prediction
    from argus.programs.model_file import ModelPlans
    from argus.programs.planning.plan import KernelStep, ProgramPlan, TorchStep

_INDENT = 11
"""Cells of the first column, and of what stands between it and the second."""

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A PyTorch file with Model and get_inputs; it is executed.",
        show_default=False,
    ),
]


@dataclass
class PlanText:
    """What is shown of a plan, kernel by kernel."""

    shown: Output
    target: str
    prove: bool
    total: float = 0.0
    """Predicted microseconds of the kernels."""
    unpredicted: int = 0

    def kernel(self, step: KernelStep, launches: int) -> dict[str, Json]:
        """Show a kernel and how often it is launched; its entry of the JSON object."""
        from argus.report.words import duration

        source = step.source
        names = [(t.buffer.name, t.name in source.outputs) for t in source.tensors]
        written = list(dict.fromkeys(name for name, output in names if output))
        read = list(dict.fromkeys(name for name, output in names if not output))
        said: dict[str, Json] = {
            "kernel": source.name,
            "computes": step.computes,
            "source": source.text,
            "sizes": dict(source.sizes),
            "reads": [*read],
            "writes": [*written],
            "launches": launches,
        }
        found = self._predicted(step)
        limit = why = ""
        if isinstance(found, str):
            self.unpredicted += launches
            why = f"no prediction: {found}"
            said |= {"predicted_us": None, "why_not": found}
        else:
            self.total += found.microseconds * launches
            limit = f"limited by {found.bottleneck}"
            said |= {
                "predicted_us": found.microseconds,
                "bottleneck": found.bottleneck,
            }
        time = "?" if isinstance(found, str) else duration(found.microseconds)
        verdict = f"{self._proved(step, said)} " if self.prove else ""
        self.shown.line(
            f"{time:>9}  {verdict}{source.name}: {step.computes}", indent=_INDENT
        )
        sizes = ", ".join(f"{n} = {size}" for n, size in source.sizes.items())
        often = f"launched {launches} times" if launches > 1 else ""
        parts = [often, sizes, f"writes {', '.join(written)}", limit or why]
        text = "; ".join(p for p in parts if p)
        self.shown.line(f"{'':{_INDENT}}{text}", indent=_INDENT)
        return said

    def _predicted(self, step: KernelStep) -> Prediction | str:
        from argus.diagnostics import ArgusError
        from argus.programs.planning.predictions import prediction_of

        try:
            return prediction_of(step, self.target)
        except ArgusError as error:
            return error.diagnostics[0].message

    def _proved(self, step: KernelStep, said: dict[str, Json]) -> str:
        from argus.programs.planning.proofs import proof_of
        from argus.verify.verdict import Verdict

        report = proof_of(step, self.target)
        said["verdict"] = str(report.verdict)
        if report.verdict < Verdict.PROVED:
            self.shown.fail(WRONG)
        return str(report.verdict)

    def summary(self, made: ProgramPlan) -> str:
        """How many kernels, what they take, and what is left."""
        from argus.model.hardware import H200
        from argus.report.words import duration

        kernels = sum(count for _, count in made.launches)
        left = len(made.left)
        text = f"{kernels} kernel{'s' * (kernels != 1)}, {left} left in torch"
        if kernels > self.unpredicted:
            text += f"; {duration(self.total)} predicted for "
            known = kernels - self.unpredicted
            every = "the kernels" if known == kernels else f"{known} of the kernels"
            text += f"{every} on an {H200.name}"
        return text


def plan(
    file: File,
    prove: Annotated[bool, typer.Option("--prove", help="Prove every kernel.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Write a file with ModelNew, kernels beside it: FILE.py or FOLDER.",
        ),
    ] = None,
    target: TargetOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show which kernels a PyTorch program becomes. Nothing is searched or launched.

    The file is executed with tensors that have shapes and no elements. Each kernel has
    its predicted time. What has no kernel stays in torch, with the reason. With --prove
    it exits with 1 unless every kernel is proved.
    """
    with reporting("plan", json_output) as shown:
        from argus.files.reading import Reader

        read = Reader().read(str(file))  # before torch is loaded: that takes seconds
        from argus.programs.capturing.capture import ShapesFile
        from argus.programs.model_file import model_plans
        from argus.programs.planning.plan import plan_program
        from argus.programs.running.memory import check_memory, memory_of
        from argus.targets import DEFAULT_TARGET

        with doing(shown, f"planning {file}"):
            written = None if out is None else model_plans(file, text=read)
            made = (
                plan_program(ShapesFile.of(file, text=read).program())
                if written is None
                else written.plan
            )
        memory = memory_of(made)
        check_memory(made, memory)
        text = PlanText(shown, target or DEFAULT_TARGET, prove)
        steps = [text.kernel(step, count) for step, count in made.launches]
        for left in made.left:
            line = f"{'in torch':>9}  {left.what}: {left.why}"
            shown.line(line, indent=_INDENT)
        shown.line(text.summary(made), style="bold")
        if written is not None and out is not None:
            show_written(shown, written, out)
        shown.data["kernels"] = list(steps)
        shown.data["left"] = [_left(step) for step in made.left]
        shown.data["whole"] = made.whole
        shown.data["predicted_us"] = None if text.unpredicted else text.total
        shown.data["workspace_bytes"] = memory.size


def _left(step: TorchStep) -> dict[str, Json]:
    return {"operator": step.what, "why": step.why}


def show_written(shown: Output, made: ModelPlans, out: Path, said: str = "") -> None:
    """Write the file of `ModelNew`, and say where. Raises what `write_model` raises."""
    from argus.programs.model_file import write_model

    file, folder = write_model(made, out, said)
    training = made.plans.get("training")
    rows = [("model", f"{file}: ModelNew"), ("kernels", f"{folder}, to read")]
    if isinstance(training, str):
        rows.append(("training", f"no program: {training}"))
    elif training is not None:
        count = len(training.kernels)
        rows.append(("training", f"a program of its own, {count} kernels"))
    shown.fields(rows)
    shown.data["out"] = {"file": str(file), "kernels": str(folder)}
