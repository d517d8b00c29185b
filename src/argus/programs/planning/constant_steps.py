"""Kernels that read nothing but weights, constants and what such kernels wrote."""

from __future__ import annotations

from argus.programs.planning.plan import KernelStep, ProgramPlan
from argus.programs.planning.value_parts import parts_of
from argus.programs.tensors.tensor_program import GivenPrimitive, ViewedValue


def constant_steps(plan: ProgramPlan) -> tuple[KernelStep, ...]:
    """Kernels whose results depend on weights alone, and are no results of the plan."""
    program = plan.program
    known = {
        v
        for v in program.values
        if isinstance(v.made, GivenPrimitive) and v.made.kind != "input"
    }
    results = {r.value for r in program.results if isinstance(r, ViewedValue)}
    found: list[KernelStep] = []
    for step in plan.steps:
        if not isinstance(step, KernelStep):
            continue
        written = set(step.written)
        whole = not any(map(parts_of, written))  # and not a part of what is joined
        if set(step.read) <= known and whole and not written & results:
            known |= written
            found.append(step)
    return tuple(found)
