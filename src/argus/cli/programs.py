"""`argus optimize` of a PyTorch file: its kernels, and the program that they make.

Each kernel is a run of its own, with trials in proportion to its predicted time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from argus.cli.output import Output

if TYPE_CHECKING:
    from argus.agent.tasks.program import ChosenKernel, ProgramTasks
    from argus.diagnostics import Json
    from argus.runs.records import Budget, Candidate, Task

_INDENT = 11
"""Cells of the column of times."""

Worked = tuple["Json", dict[str, "Candidate"], bool]
"""What a run says of itself, its best kernel by task, whether it was interrupted."""


def optimize_program(
    out: Output,
    found: ProgramTasks,
    budget: Budget,
    each: int,
    measured: bool,
    work: Callable[[Task, Budget], Worked],
    output: Path | None,
) -> None:
    """Search the kernels of a program, show what became of it, and write it.

    ``budget`` is that of the whole program; ``each``: trials of a kernel where it says
    none; ``work`` carries out a run.
    """
    from argus.agent.tasks.program import kernel_rows, with_kernels
    from argus.report.words import duration

    results: list[Json] = []
    best: dict[str, Candidate] = {}
    for task, limits in shares(found, budget, each):
        result, kernel, interrupted = work(task, limits)
        results.append(result)
        best |= kernel
        out.line()
        if interrupted:
            break
    out.data["runs"] = results
    chosen = with_kernels(found, best, measured)
    out.line("the program", style="bold")
    for kernel in chosen.kernels:
        _show(out, kernel)
    before, after = chosen.before, chosen.after
    text = f"kernels: {duration(before)} as planned, {duration(after)} now"
    if after:
        text += f", {before / after:.2f}x as fast"
    out.line(f"{text}; predicted, on an H200", style="bold", indent=_INDENT)
    if found.plans.plan.left:
        out.line("What stays in torch is in no prediction.")
    from argus.report.write import write_program_report

    runs = {
        str(r["task"]): str(r["run"]) for r in cast("list[dict[str, Json]]", results)
    }
    page = write_program_report(chosen, runs, measured=measured)
    out.data["report"] = str(page)
    out.fields([("report", str(page))])
    out.data["kernels"] = cast("list[Json]", kernel_rows(chosen.kernels))
    out.data["predicted_us"] = {"before": before, "after": after}
    if output is not None:
        from argus.cli.plan import show_written

        how = "measured" if measured else "predicted"
        show_written(out, chosen.plans, output, f"Chosen by `argus optimize`, {how}.")


def shares(found: ProgramTasks, budget: Budget, each: int) -> list[tuple[Task, Budget]]:
    """Each task with its part of a budget, as large as its part of the time."""
    trials = found.trials(each) if budget.trials is None else found.split(budget.trials)
    kernels = [(k.task, k.share) for k in found.kernels if k.task is not None]
    whole = sum(share for _, share in kernels) or 1.0
    parts: list[tuple[Task, Budget]] = []
    for task, share in kernels:
        limits: dict[str, float | int] = {"trials": trials[task.name]}
        for name, limit in _rest(budget).items():
            part = limit * share / whole
            limits[name] = max(1, round(part)) if isinstance(limit, int) else part
        parts.append((task, budget.model_copy(update=limits)))
    return parts


def _rest(budget: Budget) -> Mapping[str, float | int]:
    return budget.model_dump(exclude_none=True, exclude={"trials"})


def _show(out: Output, kernel: ChosenKernel) -> None:
    from argus.report.words import duration

    planned = kernel.planned
    time = "?" if kernel.after is None else duration(kernel.after)
    name = f"{time:>9}  {planned.step.source.name}"
    if kernel.design and kernel.after and planned.microseconds:
        words = " ".join(f"{k}={v}" for k, v in kernel.design.items())
        gain = planned.microseconds / kernel.after
        out.line(f"{name}: {gain:.2f}x as fast with {words}", indent=_INDENT)
    else:
        out.line(f"{name}: as planned; {kernel.why}", indent=_INDENT, style="dim")
