"""The specialisation of a step's kernel: what its tensors are is known."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from argus.diagnostics import fail
from argus.lang.kernel import Kernel, literal, load_kernels
from argus.programs.planning.plan import KernelStep
from argus.requests import Request, request_of
from argus.specialisations import DIVISORS, SpecialisationSpace, divisor
from argus.targets import DEFAULT_TARGET

_KEPT = 256
"""Kernels that are not parsed again."""


def kernel_of(step: KernelStep) -> Kernel:
    """The kernel of a step, by its file's text."""
    return _loaded(step.source.name, step.source.text)


@functools.lru_cache(maxsize=_KEPT)
def _loaded(name: str, text: str) -> Kernel:
    """Steps with one text share a kernel."""
    return load_kernels(f"{name}.py", text).kernels[name]


def request_for_step(
    kernel: Kernel, step: KernelStep, target: str = DEFAULT_TARGET
) -> tuple[Request, SpecialisationSpace]:
    """The specialisation that a step's tensors choose, and the space of its sizes.

    A tensor that begins inside its buffer is aligned as far as its first element is,
    in each launch that is repeated:
    then nothing is said of its strides, or its extent, that would promise more. Raises
    ArgusError AG0804 for a kernel that is for other sizes than the step's.
    """
    _require_sizes(kernel, step)
    space = SpecialisationSpace.of(kernel.signature).restricted({}, step.source.sizes)
    form = {t.name: t.buffer.dtype for t in step.source.tensors}
    shapes: dict[str, list[int]] = {}
    strides: dict[str, list[int]] = {}
    for t in step.source.tensors:
        begins = divisor(gcd(t.start, t.advance))
        shape = list(step.shape(t))
        steps = [divisor(s) for s in unused_strides(shape, t.all_strides)]
        if len(shape) == 1:
            shape[0] = min(divisor(shape[0]), begins)
        elif steps:
            steps[0] = min(steps[0], begins)
        shapes[t.name], strides[t.name] = shape, steps
    chosen = space.member(form, shapes, strides)
    return request_of(kernel, {}, target, chosen), space


def built_request(step: KernelStep, target: str, *, open_sizes: bool) -> Request:
    """What is built for a step: machine code for its sizes and strides alone.

    As constants they leave hardly any division, test of an edge, or product of 64 bits
    to what walks several dimensions: such kernels took 10 to 40 % less time on an H200.
    ``open_sizes``: those of the program change from call to call, and one machine code
    is for all of them.
    """
    request, _ = request_for_step(kernel_of(step), step, target)
    shapes = {t.name: step.shape(t) for t in step.source.tensors}
    if open_sizes or not all(map(all, shapes.values())):
        return request
    values = values_of(step)
    for name, shape in shapes.items():
        for d, n in enumerate(shape):
            if n == 1:  # its stride is what whoever launches it makes of it
                del values[f"{name}_s{d}"]
    return replace(request, values=values)


def values_of(step: KernelStep) -> dict[str, int]:
    """Dimensions of a step's kernel, and strides of its tensors, by name."""
    found = dict(step.source.sizes)
    for t in step.source.tensors:
        strides = unused_strides(step.shape(t), t.all_strides)
        found |= {f"{t.name}_s{d}": s for d, s in enumerate(strides)}
    return found


def _require_sizes(kernel: Kernel, step: KernelStep) -> None:
    """Sizes that are static parameters are the step's, as a launch demands."""
    fixed = {s.name: literal(s.default) for s in kernel.signature.statics}
    for dim, size in step.source.sizes.items():
        if dim in kernel.signature.dims and fixed.get(dim, size) != size:
            text = f"{dim} is {size}, expected {fixed[dim]}"
            raise fail("AG0804", None, text, notes=["the kernel is for that size"])


def unused_strides(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Strides, where those that are never used are multiples of what may be asked.

    A launch does so by itself (`argus.runtime.binding`).
    """
    last = len(shape) - 1
    return [
        -(-s // DIVISORS[0]) * DIVISORS[0] if n == 1 and d < last else s
        for d, (n, s) in enumerate(zip(shape, strides, strict=True))
    ]
