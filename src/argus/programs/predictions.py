"""Predicted times of a plan's kernels, at its own sizes."""

from __future__ import annotations

from argus.model import Prediction, predict
from argus.programs.kernel_requests import kernel_of, request_for_step
from argus.programs.plan import KernelStep
from argus.requests import placed_program
from argus.targets import DEFAULT_TARGET


def prediction_of(step: KernelStep, target: str = DEFAULT_TARGET) -> Prediction:
    """The time of a step's launch with a cold L2 cache, in microseconds.

    Raises ArgusError for what parsing and placing find (a bug of the emission), and
    AG0517 for a launch that there cannot be.
    """
    request, _ = request_for_step(kernel_of(step), step, target)
    return predict(placed_program(request), step.source.sizes)
