"""Running a plan: in the interpreter with numpy, or on a GPU.

Both walk the steps in order with a table of buffers, one for each value that is stored.
What stays in torch is called there in either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from argus.calls import launch
from argus.diagnostics import fail
from argus.lang.kernel import Kernel, load_kernels
from argus.programs.in_torch import ProgramBuffers, in_torch
from argus.programs.naming import KernelTensor
from argus.programs.plan import KernelStep, ProgramPlan, TorchStep
from argus.programs.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    TensorProgram,
    ViewedValue,
)
from argus.requests import Request, placed_program, request_of
from argus.specialisations import SpecialisationSpace, divisor
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from torch import Tensor


def kernel_of(step: KernelStep) -> Kernel:
    """The kernel of a step, by its file's text."""
    module = load_kernels(f"{step.source.name}.py", step.source.text)
    return module.kernels[step.source.name]


def request_for_step(
    kernel: Kernel, step: KernelStep, target: str = DEFAULT_TARGET
) -> tuple[Request, SpecialisationSpace]:
    """The specialisation that a step's tensors choose, and the space of its sizes."""
    loops = step.group.lowered.sizes if step.group.lowered else {}
    space = SpecialisationSpace.of(kernel.signature).restricted({}, step.source.sizes)
    tensors = step.source.tensors
    form = {t.name: t.buffer.dtype for t in tensors}
    shapes = {t.name: t.shape(loops) for t in tensors}
    strides = {
        t.name: [
            16 if n == 1 else divisor(s)
            for n, s in zip(t.shape(loops), t.all_strides, strict=True)
        ]
        for t in tensors
    }
    chosen = space.member(form, shapes, strides)
    return request_of(kernel, {}, target, chosen), space


KernelRunner = Callable[[KernelStep, dict[str, "Tensor"]], None]
"""Launches a step's kernel for tensors by the names of its parameters."""


def run_plan(
    plan: ProgramPlan, inputs: Sequence[Any], weights: dict[str, Any], run: KernelRunner
) -> Any:
    """What the program returns for these inputs, each kernel run by ``run``.

    ``weights`` by the names in `TensorProgram.tensors`. Raises ArgusError AG0801 where
    inputs are not of the shapes and types of the plan.
    """
    import torch

    with torch.no_grad():
        buffers = ProgramBuffers(_given(plan.program, inputs, weights))
        device = next((t.device for t in buffers.tensors.values()), torch.device("cpu"))
        for step in plan.steps:
            if isinstance(step, TorchStep):
                in_torch(step, buffers)
                continue
            made = step.group.stored
            buffers.tensors[made] = torch.empty(
                made.shape, dtype=getattr(torch, made.dtype.foreign), device=device
            )
            given = {
                t.name: _walked(buffers.tensors[t.buffer], t, step)
                for t in step.source.tensors
            }
            run(step, given)
        return _results(plan.program, buffers)


def _given(
    program: TensorProgram, inputs: Sequence[Any], weights: dict[str, Any]
) -> dict[ProgramValue, Tensor]:
    import torch

    for place, value in program.fixed.items():
        if inputs[place] != value:
            raise fail(
                "AG0801",
                None,
                f"input {place} is {inputs[place]!r}; the plan is for {value!r}",
            )
    found: dict[ProgramValue, Tensor] = {}
    for value in program.values:
        if not isinstance(value.made, GivenPrimitive):
            continue
        kind, source = value.made.kind, value.made.source
        tensor = inputs[int(source)] if kind == "input" else weights[str(source)]
        wanted = getattr(torch, value.dtype.foreign)
        if tuple(tensor.shape) != value.shape or tensor.dtype != wanted:
            raise fail(
                "AG0801",
                None,
                f"`{value.name}` is {tuple(tensor.shape)} of {tensor.dtype}; the plan "
                f"is for {value.shape} of {wanted}",
            )
        found[value] = tensor.detach().contiguous()
    return found


def _walked(tensor: Tensor, t: KernelTensor, step: KernelStep) -> Tensor:
    assert step.group.lowered is not None
    shape = t.shape(step.group.lowered.sizes)
    return tensor.as_strided(shape, t.all_strides, t.start)


def _results(program: TensorProgram, buffers: ProgramBuffers) -> Any:
    from torch.utils import _pytree

    values = [
        buffers.operand(r) if isinstance(r, ViewedValue) else r for r in program.results
    ]
    return _pytree.tree_unflatten(values, program.tree)


# --------------------------------------------------------------------------- runners


def in_interpreter(step: KernelStep, tensors: dict[str, Tensor]) -> None:
    """The placed program in numpy: for small sizes, without a GPU."""
    import numpy as np
    import torch

    from argus.interpret import run

    kernel = kernel_of(step)
    request, _ = request_for_step(kernel, step)

    def array(tensor: Tensor) -> Any:
        if tensor.dtype is torch.bfloat16:
            return tensor.view(torch.int16).numpy().view(np.uint16)
        return tensor.numpy()

    run(placed_program(request), {n: array(t) for n, t in tensors.items()}, sm_count=4)


class DeviceRunner:
    """Kernels on the GPU of their tensors, built at their first call."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}

    def __call__(self, step: KernelStep, tensors: dict[str, Tensor]) -> None:
        """Launch on the current stream."""
        name = step.source.name
        if name not in self._kernels:
            self._kernels[name] = kernel_of(step)
        launch(self._kernels[name], tuple(tensors.values()), {})
