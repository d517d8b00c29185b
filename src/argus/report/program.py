"""A PyTorch program as one HTML page: its kernels as a graph, with times.

    text = program_page(chosen, {"task name": "its run"}, measured=False)

A box is a step of the plan, a line a value that one step writes and another reads. A
program's page lies beside the pages of the runs that searched its kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.agent.tasks.program import (
    ChosenKernel,
    ChosenProgram,
    KernelKey,
    key_of,
)
from argus.programs.planning.constant_steps import constant_steps
from argus.programs.planning.plan import KernelStep, RepeatedStep, TorchStep
from argus.programs.tensors.tensor_program import GivenPrimitive, ProgramValue
from argus.report.page import template
from argus.report.words import duration, factor, plural, share

WIDTH, HEIGHT = 236, 54
"""Pixels of a box."""
_ACROSS, _DOWN = 24, 40
"""Pixels between boxes."""
_LETTERS = 30
"""Letters of a name that a box has room for."""


@dataclass(frozen=True)
class StepBox:
    """A step in the picture: where its box is, in pixels, and what it says.

    ``part``: of the time, from 0 to 1. ``kind``: "kernel", "faster", "torch", "input";
    ``once``: it runs when weights have changed, not in each call.
    """

    name: str
    time: str
    x: int
    y: int
    part: float
    kind: str
    once: bool
    anchor: str
    said: str


@dataclass(frozen=True)
class StepLine:
    """A line from a box to another: the path of SVG."""

    path: str
    said: str


@dataclass(frozen=True)
class ProgramPicture:
    """The graph."""

    boxes: tuple[StepBox, ...]
    lines: tuple[StepLine, ...]
    width: int
    height: int


@dataclass(frozen=True)
class KernelSection:
    """What is said of a kernel below the picture."""

    anchor: str
    name: str
    computes: str
    sizes: str
    times: str
    became: str
    run: str
    source: str


def program_page(
    chosen: ChosenProgram, runs: Mapping[str, str], *, measured: bool
) -> str:
    """The page. ``runs``: names of runs by task; ``measured``: whether they were."""
    kernels = {key_of(k.planned.step): k for k in chosen.kernels}
    before, after = chosen.before, chosen.after
    plan = chosen.plans.plan
    sections = [_section(i, k, runs) for i, k in enumerate(chosen.kernels)]
    return template("program.html.j2").render(
        groups={"of": ()},  # by which the style filters trials: there are none
        title=chosen.plans.path.name,
        model=chosen.plans.model,
        measured=measured,
        before=duration(before),
        after=duration(after),
        factor=factor(before / after) if after else "",
        what=[
            plural(len(plan.kernels), "kernel"),
            plural(len(plan.left), "step") + " in torch",
            f"{len(runs)} searched",
        ],
        left=[(step.what, step.why) for step in plan.left],
        picture=picture_of(chosen, kernels),
        sections=sections,
    )


def _section(
    number: int, kernel: ChosenKernel, runs: Mapping[str, str]
) -> KernelSection:
    planned, step = kernel.planned, kernel.planned.step
    before, after = planned.microseconds, kernel.after
    times = "no prediction" if before is None else duration(before)
    if before is not None and after is not None and after != before:
        times += f" → {duration(after)}, {factor(before / after)}"
    if planned.count > 1:
        times += f", in {planned.count} launches"
    design = ", ".join(f"{k}={v}" for k, v in kernel.design.items())
    became = f"found: {design}" if design else f"as planned: {kernel.why}"
    sizes = ", ".join(f"{n} = {size}" for n, size in step.source.sizes.items())
    task = planned.task.name if planned.task else ""
    return KernelSection(
        f"kernel-{number}",
        step.source.name,
        step.computes,
        sizes,
        times,
        became,
        runs.get(task, ""),
        step.source.text,
    )


def picture_of(
    chosen: ChosenProgram, kernels: Mapping[KernelKey, ChosenKernel]
) -> ProgramPicture:
    """Steps from top to bottom, each below all that it reads from."""
    plan = chosen.plans.plan
    once = {id(step) for step in constant_steps(plan)}
    numbers = {key: i for i, key in enumerate(kernels)}
    depth: dict[ProgramValue, int] = {}
    boxes: list[StepBox] = []
    lines: list[StepLine] = []
    place: dict[ProgramValue, tuple[int, int]] = {}
    rows: dict[int, int] = {}

    def put(at: int) -> tuple[int, int]:
        column = rows.get(at, 0)
        rows[at] = column + 1
        return column * (WIDTH + _ACROSS), at * (HEIGHT + _DOWN)

    shown = [
        own
        for step in plan.steps
        for own in (step.body if isinstance(step, RepeatedStep) else (step,))
    ]
    for value in plan.program.values:
        if isinstance(value.made, GivenPrimitive) and value.made.kind == "input":
            place[value], depth[value] = put(0), 0
            x, y = place[value]
            shape = " x ".join(map(str, value.shape)) or "one number"
            said = f"input: {shape}, {value.dtype}"
            name = _short(value.name)
            boxes.append(StepBox(name, shape, x, y, 0.0, "input", False, "", said))
    for step in shown:
        read = [v for v in step.read if v in place]
        at = 1 + max((depth[v] for v in read), default=-1)
        x, y = put(at)
        for value in read:
            lines.append(StepLine(_curve(place[value], (x, y)), value.name))
        for value in step.written:
            place[value], depth[value] = (x, y), at
        boxes.append(_box(step, x, y, kernels, numbers, chosen, id(step) in once))
    wide = max(rows.values(), default=1)
    deep = max(rows, default=0) + 1
    return ProgramPicture(
        tuple(boxes),
        tuple(lines),
        wide * (WIDTH + _ACROSS),
        deep * (HEIGHT + _DOWN),
    )


def _box(
    step: KernelStep | TorchStep,
    x: int,
    y: int,
    kernels: Mapping[KernelKey, ChosenKernel],
    numbers: Mapping[KernelKey, int],
    chosen: ChosenProgram,
    once: bool,
) -> StepBox:
    if not isinstance(step, KernelStep):
        why = f"torch computes it: {step.why}"
        return StepBox(_short(step.what), "in torch", x, y, 0.0, "torch", once, "", why)
    found = _kernel_of(step, kernels)
    kernel, key = found
    each = None if kernel.after is None else kernel.after / kernel.planned.count
    time = "no prediction" if each is None else duration(each)
    part = 0.0 if each is None or not chosen.after else each / chosen.after
    if each is not None and chosen.after:
        time += f", {share(each, chosen.after)}"
    kind = "faster" if kernel.design else "kernel"
    said = f"{step.source.name}: {step.computes}"
    anchor = f"kernel-{numbers[key]}"
    return StepBox(_short(step.source.name), time, x, y, part, kind, once, anchor, said)


def _kernel_of(
    step: KernelStep, kernels: Mapping[KernelKey, ChosenKernel]
) -> tuple[ChosenKernel, KernelKey]:
    """What became of the kernel of a step, whose text may be another now."""
    own = key_of(step)
    if own in kernels:
        return kernels[own], own
    sizes = tuple(step.source.sizes.items())
    for key, kernel in kernels.items():
        same = kernel.planned.step.source.name == step.source.name
        if same and tuple(kernel.planned.step.source.sizes.items()) == sizes:
            return kernel, key
    raise AssertionError(step.source.name)


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _curve(start: Sequence[int], end: Sequence[int]) -> str:
    x1, y1 = start[0] + WIDTH // 2, start[1] + HEIGHT
    x2, y2 = end[0] + WIDTH // 2, end[1]
    middle = max(14, (y2 - y1) // 2)
    return f"M {x1} {y1} C {x1} {y1 + middle}, {x2} {y2 - middle}, {x2} {y2}"
