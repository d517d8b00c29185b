"""The specialisation of a step's kernel: what its tensors are is known."""

from __future__ import annotations

from argus.lang.kernel import Kernel, load_kernels
from argus.programs.plan import KernelStep
from argus.requests import Request, request_of
from argus.specialisations import SpecialisationSpace, divisor
from argus.targets import DEFAULT_TARGET


def kernel_of(step: KernelStep) -> Kernel:
    """The kernel of a step, by its file's text."""
    module = load_kernels(f"{step.source.name}.py", step.source.text)
    return module.kernels[step.source.name]


def request_for_step(
    kernel: Kernel, step: KernelStep, target: str = DEFAULT_TARGET
) -> tuple[Request, SpecialisationSpace]:
    """The specialisation that a step's tensors choose, and the space of its sizes.

    A tensor that begins inside its buffer is aligned as far as its first element is:
    then nothing is said of its strides, or its extent, that would promise more.
    """
    space = SpecialisationSpace.of(kernel.signature).restricted({}, step.source.sizes)
    form = {t.name: t.buffer.dtype for t in step.source.tensors}
    shapes: dict[str, list[int]] = {}
    strides: dict[str, list[int]] = {}
    for t in step.source.tensors:
        begins = divisor(t.start)
        shape = list(step.shape(t))
        steps = [
            16 if n == 1 else divisor(s)
            for n, s in zip(shape, t.all_strides, strict=True)
        ]
        if len(shape) == 1:
            shape[0] = min(divisor(shape[0]), begins)
        elif steps:
            steps[0] = min(steps[0], begins)
        shapes[t.name], strides[t.name] = shape, steps
    chosen = space.member(form, shapes, strides)
    return request_of(kernel, {}, target, chosen), space
