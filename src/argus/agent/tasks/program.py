"""Tasks from a PyTorch file: the kernels of its plan, and what became of them.

    found = program_tasks("model.py")
    found.tasks                               # where time is predicted to be spent
    chosen = with_kernels(found, best)        # best: candidates by names of tasks

Each kernel of the plan is a kernel file with a reference, and so a task like any other.
Judged is the kernel at the plan's sizes on dense tensors; what comes out is proved, and
its time predicted, once more for the tensors that the plan has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from argus.agent.tasks.file import file_task
from argus.agent.writing import as_file
from argus.diagnostics import ArgusError, fail
from argus.programs.model_file import ModelPlans, model_plans
from argus.programs.planning.plan import (
    KernelStep,
    PlanStep,
    ProgramPlan,
    RepeatedStep,
    TorchStep,
)
from argus.programs.planning.predictions import prediction_of
from argus.programs.planning.proofs import proof_of
from argus.programs.tensors.tensor_program import ContractPrimitive, ProgramValue
from argus.requests import target_named
from argus.runs.records import Candidate, Task
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Verdict

LEAST_SHARE = 0.01
"""Of the predicted time, below which a kernel is left as it is."""

KernelKey = tuple[str, tuple[tuple[str, int], ...]]
"""The text of a kernel and its sizes: steps with the same are one task."""


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel of a plan, with all launches of it, and how often each is repeated.

    ``microseconds``: predicted, of all of them; None: ``why`` there is no prediction.
    ``task``: None where it is left as it is, and ``why``.
    """

    launches: tuple[tuple[KernelStep, int], ...]
    microseconds: float | None
    share: float
    task: Task | None
    why: str = ""

    @property
    def step(self) -> KernelStep:
        """The first launch."""
        return self.launches[0][0]

    @property
    def count(self) -> int:
        """How many launches there are."""
        return sum(times for _, times in self.launches)


@dataclass(frozen=True)
class ProgramTasks:
    """The kernels of a PyTorch file, those with most of the time first."""

    plans: ModelPlans
    target: str
    kernels: tuple[PlannedKernel, ...]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What there is to search."""
        return tuple(k.task for k in self.kernels if k.task is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each kernel, and for what stays in torch."""
        lines = [
            f"{k.share:6.1%}  {k.step.source.name}"
            + (f" ({k.count} launches)" if k.count > 1 else "")
            + f": {k.step.computes}"
            + (f"; left as it is: {k.why}" if k.task is None else "")
            for k in self.kernels
        ]
        left = [f"in torch  {s.what}: {s.why}" for s in self.plans.plan.left]
        return (*lines, *left)

    def trials(self, each: int) -> dict[str, int]:
        """Trials by task, in proportion to its time; at least 2, the start is one.

        ``each``: how many a kernel gets that has all the time to itself; there are as
        many of these as kernels have a twentieth of the time, 4 at most.
        """
        many = sum(k.share >= 0.05 for k in self.kernels if k.task is not None)
        return self.split(each * min(4, max(1, many)))

    def split(self, trials: int) -> dict[str, int]:
        """So many trials among the tasks; see `trials`."""
        tasks = [(k.task.name, k.share) for k in self.kernels if k.task is not None]
        whole = sum(share for _, share in tasks) or 1.0
        return {name: max(2, round(trials * s / whole)) for name, s in tasks}


def program_tasks(
    path: str | os.PathLike[str],
    target: str | None = None,
    kernel: str | None = None,
    *,
    text: str | None = None,
) -> ProgramTasks:
    """The kernels of a PyTorch file, which is executed. ``kernel``: only this one.

    ``text`` is what the file holds, where that was read already.
    Raises what `model_plans` raises, AG0601, and AG0908 for a kernel that its plan
    lacks.
    """
    chosen = target_named(target or DEFAULT_TARGET).name
    plans = model_plans(path, text=text)
    steps: dict[KernelKey, list[tuple[KernelStep, int]]] = {}
    for step, count in plans.plan.counted():
        steps.setdefault(key_of(step), []).append((step, count))
    times = [(tuple(same), _time(same[0][0], chosen)) for same in steps.values()]
    whole = sum(_total(t, s) for s, t in times if not isinstance(t, str)) or 1.0
    parts = _parts(plans.plan)
    found = [_planned(s, t, whole, chosen, kernel, parts) for s, t in times]
    found.sort(key=lambda k: -k.share)
    if kernel is not None and all(s.source.name != kernel for s in plans.plan.kernels):
        known = ", ".join(s.source.name for s in plans.plan.kernels)
        raise fail(
            "AG0908",
            None,
            f"the plan of `{plans.path}` has no kernel `{kernel}`",
            help=f"its kernels are {known}" if known else None,
        )
    return ProgramTasks(plans, chosen, tuple(found))


def key_of(step: KernelStep) -> KernelKey:
    """What steps have in common that are one task."""
    return step.source.text, tuple(step.source.sizes.items())


def _total(time: float, launches: Sequence[tuple[KernelStep, int]]) -> float:
    return time * sum(count for _, count in launches)


def _time(step: KernelStep, target: str) -> float | str:
    """Predicted microseconds of a launch, or why there is no prediction."""
    try:
        return prediction_of(step, target).microseconds
    except ArgusError as error:
        return error.diagnostics[0].message


def _planned(
    launches: tuple[tuple[KernelStep, int], ...],
    time: float | str,
    whole: float,
    target: str,
    only: str | None,
    parts: set[ProgramValue],
) -> PlannedKernel:
    step = launches[0][0]
    if isinstance(time, str):
        return PlannedKernel(launches, None, 0.0, None, f"no prediction: {time}")
    took = _total(time, launches)
    share = took / whole
    why, task = "", None
    if only is not None and step.source.name != only:
        why = "another one is asked for"
    elif any(parts & set(s.written) for s, _ in launches):
        # In real numbers the first part is the number, and the others are 0.
        why = "it splits numbers into parts, which no reference in real numbers tells"
    elif only is None and share < LEAST_SHARE:
        why = f"below {LEAST_SHARE:.0%} of the time"
    else:
        try:
            task = _task(step, target)
        except ArgusError as error:
            why = error.diagnostics[0].message
        else:
            if len(task.start.design) < 2:  # its form is one
                task, why = None, "it has no static parameters that are numbers"
    return PlannedKernel(launches, took, share, task, why)


def _parts(plan: ProgramPlan) -> set[ProgramValue]:
    """Values that hold numbers in parts, for products in full precision."""
    made = [v.made for v in plan.program.values]
    return {
        factor.value
        for product in made
        if isinstance(product, ContractPrimitive) and product.terms
        for factor in (product.left, product.right)
    }


def _task(step: KernelStep, target: str) -> Task:
    source = step.source
    # Static parameters of these kernels are sizes of tiles; every candidate is judged
    # beside the reference, so that one which is not comes out as wrong.
    return file_task(
        f"{source.name}.py",
        source.sizes,
        {t.name: t.buffer.dtype.name for t in source.tensors},
        source.name,
        target=target,
        text=source.text,
        settle=False,
    )


# ----------------------------------------------------------------- what became of them


@dataclass(frozen=True)
class ChosenKernel:
    """What became of a kernel: its launches before and after, in microseconds.

    Predicted, for the tensors of the plan. ``design``: static parameters that differ.
    ``why`` it is as it was.
    """

    planned: PlannedKernel
    after: float | None
    design: Mapping[str, object]
    why: str = ""


@dataclass(frozen=True)
class ChosenProgram:
    """A program with the kernels that were found."""

    plans: ModelPlans
    kernels: tuple[ChosenKernel, ...]

    @property
    def before(self) -> float:
        """Predicted microseconds of its kernels as they were planned."""
        return sum(k.planned.microseconds or 0.0 for k in self.kernels)

    @property
    def after(self) -> float:
        """Predicted microseconds of its kernels as they are."""
        return sum(k.after or 0.0 for k in self.kernels)


def with_kernels(
    found: ProgramTasks, best: Mapping[str, Candidate], measured: bool = False
) -> ChosenProgram:
    """The program with the best kernels of its tasks.

    A kernel replaces the planned one where it is proved for the tensors of the plan
    and, unless the runs ``measured``, predicted to be faster with them.
    """
    texts: dict[KernelKey, str] = {}
    kernels: list[ChosenKernel] = []
    for planned in found.kernels:
        name = planned.task.name if planned.task is not None else ""
        if name in best:
            chosen, text = _chosen(planned, best[name], found.target, measured)
            if text:
                texts[key_of(planned.step)] = text
        else:
            why = planned.why or "no other was tried"
            chosen = ChosenKernel(planned, planned.microseconds, {}, why)
        kernels.append(chosen)
    plans = {
        mode: plan if isinstance(plan, str) else _replaced(plan, texts)
        for mode, plan in found.plans.plans.items()
    }
    return ChosenProgram(replace(found.plans, plans=plans), tuple(kernels))


def _chosen(
    planned: PlannedKernel, candidate: Candidate, target: str, measured: bool
) -> tuple[ChosenKernel, str]:
    """What becomes of a kernel, and its new text if it has one."""

    def kept(why: str) -> tuple[ChosenKernel, str]:
        return ChosenKernel(planned, planned.microseconds, {}, why), ""

    assert planned.task is not None
    start = planned.task.start
    design = {k: v for k, v in candidate.design.items() if v != start.design.get(k)}
    if candidate.source == start.source and not design:
        return kept("it was the fastest")
    words = ", ".join(f"{k}={v}" for k, v in design.items()) or "source"
    text = as_file(candidate, f"Found by the optimiser: {words}.")
    after = 0.0
    try:
        # Launches of one kernel may differ in the strides that their tensors have.
        for launch, count in planned.launches:
            step = replace(launch, source=replace(launch.source, text=text))
            verdict = proof_of(step, target).verdict
            if verdict < Verdict.PROVED:
                return kept(f"the fastest is {verdict} for the tensors of the plan")
            after += count * prediction_of(step, target).microseconds
    except ArgusError as error:
        return kept(f"the fastest: {error.diagnostics[0].message}")
    if not measured and after >= (planned.microseconds or 0.0):
        return kept("with the tensors of the plan no other is faster")
    return ChosenKernel(planned, after, design), text


def _replaced(plan: ProgramPlan, texts: Mapping[KernelKey, str]) -> ProgramPlan:
    def step_of(step: KernelStep) -> KernelStep:
        text = texts.get(key_of(step))
        if text is None:
            return step
        return replace(step, source=replace(step.source, text=text))

    def of(step: PlanStep) -> PlanStep:
        match step:
            case KernelStep():
                return step_of(step)
            case RepeatedStep():
                return replace(step, body=tuple(map(step_of, step.body)))
            case TorchStep():
                return step

    return replace(plan, steps=tuple(map(of, plan.steps)))


def kernel_rows(kernels: Sequence[ChosenKernel]) -> list[dict[str, object]]:
    """A row of the JSON object for each kernel."""
    return [
        {
            "kernel": k.planned.step.source.name,
            "task": k.planned.task.name if k.planned.task else None,
            "launches": k.planned.count,
            "predicted_us": k.planned.microseconds,
            "after_us": k.after,
            "design": dict(k.design),
            "why": k.why,
        }
        for k in kernels
    ]
