"""Proofs of a plan's kernels: of the specialisation that its tensors choose."""

from __future__ import annotations

from argus.evaluation.equal.proof import with_reference
from argus.evaluation.proving import proved
from argus.programs.building import as_line
from argus.programs.kernel_requests import kernel_of, request_for_step
from argus.programs.plan import KernelStep
from argus.targets import DEFAULT_TARGET
from argus.verify.verdict import Report


def proof_of(step: KernelStep, target: str = DEFAULT_TARGET) -> Report:
    """What the verifier says of a step's kernel, and of its reference.

    Raises ArgusError for what parsing and placing find: a bug of the emission.
    """
    request, space = request_for_step(kernel_of(step), step, target)
    key = f"{as_line(request, step.source.text)} {sorted(step.source.sizes.items())}"
    if key not in _LAST:
        report = with_reference([request], proved(request).report, space)
        _LAST.clear()
        _LAST[key] = report
    return _LAST[key]


_LAST: dict[str, Report] = {}
"""The last report: steps that follow each other are often launches of one kernel."""
