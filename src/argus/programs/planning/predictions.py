"""Predicted times of a plan's kernels, at its own sizes."""

from __future__ import annotations

from argus.diagnostics import fail
from argus.ir.expr import holds
from argus.ir.program import Program
from argus.model import Prediction, predict
from argus.programs.planning.building import as_line
from argus.programs.planning.kernel_requests import (
    kernel_of,
    request_for_step,
    values_of,
)
from argus.programs.planning.plan import KernelStep
from argus.requests import placed_program
from argus.targets import DEFAULT_TARGET


def prediction_of(step: KernelStep, target: str = DEFAULT_TARGET) -> Prediction:
    """The time of a step's launch with a cold L2 cache, in microseconds.

    Raises ArgusError for what parsing and placing find (a bug of the emission), AG0808
    for sizes that its kernel refuses, and AG0517 for a launch that there cannot be.
    """
    request, _ = request_for_step(kernel_of(step), step, target)
    strides = [t.all_strides for t in step.source.tensors]
    sizes = sorted(step.source.sizes.items())
    key = f"{as_line(request, step.source.text)} {sizes} {strides}"
    if key not in _MADE:
        program = placed_program(request)
        _require_sizes(program, step)
        if len(_MADE) >= _KEPT:
            _MADE.clear()
        _MADE[key] = predict(program, step.source.sizes)
    return _MADE[key]


_KEPT = 256
"""Predictions that are kept, at most."""
_MADE: dict[str, Prediction] = {}
"""By what they depend on: launches of one kernel are often many."""


def forget() -> None:
    """Keep no predictions."""
    _MADE.clear()


def _require_sizes(program: Program, step: KernelStep) -> None:
    env = values_of(step)
    for requirement in program.requirements:
        if not holds(requirement.cond, env):
            raise fail(
                "AG0808",
                requirement.span,
                "the kernel refuses the sizes of the plan",
                notes=[f"required because {requirement.why}"],
            )
