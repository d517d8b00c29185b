"""Recurrences in plans: the kernels of one step, launched for each step of time.

A recurrence is a call with a program for one step. Its first operand has a part for
each step; of a state the step reads what the step before wrote, the first one what is
given. Each value of states holds all steps: each launch writes a part of it, at another
offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from argus.programs.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    TensorProgram,
    TorchCall,
    ViewedValue,
)

if TYPE_CHECKING:
    from argus.programs.plan import KernelStep, ProgramPlan


@dataclass(frozen=True, eq=False)
class RecurrentCall(TorchCall):
    """``body`` is what one of ``steps`` computes, on kernels.

    Given to it are the operands: of the first the part of the step, of the next
    ``states`` the state before, and others whole. Its results are the new states.
    ``reverse``: from the last step to the first.
    """

    body: TensorProgram = field(default_factory=lambda: TensorProgram((), ()))
    steps: int = 0
    states: int = 0
    reverse: bool = False


def steps_of(
    call: RecurrentCall,
    results: Sequence[ProgramValue],
    body: ProgramPlan,
    names: set[str],
) -> list[KernelStep]:
    """All launches of a recurrence, of the kernels of its body's plan.

    Those that depend on nothing that changes are launched once.
    """
    given = [v for v in body.program.values if isinstance(v.made, GivenPrimitive)]
    whole = dict(zip(given, (operand.value for operand in call.operands), strict=True))
    stored = [r.value for r in body.program.results if isinstance(r, ViewedValue)]
    constant = set(given[1 + call.states :])
    once: list[KernelStep] = []
    each: list[KernelStep] = []
    for step in body.kernels:
        if set(step.read) <= constant:
            constant |= set(step.written)
            once.append(step)
        else:
            each.append(step)
    shared = {v: whole.get(v) or _renamed(v, results[0].name, names) for v in constant}
    found = [_placed(step, {v: (n, 0) for v, n in shared.items()}) for step in once]
    for number in range(call.steps):
        at = call.steps - 1 - number if call.reverse else number
        before = at + 1 if call.reverse else at - 1
        places = {v: (n, 0) for v, n in shared.items()}
        places[given[0]] = (whole[given[0]], at * given[0].size)
        for state, value in zip(given[1 : 1 + call.states], results, strict=True):
            places[state] = (
                (value, before * state.size) if number else (whole[state], 0)
            )
        for value, result in zip(stored, results, strict=True):
            places[value] = (result, at * value.size)
        for step in each:
            for tensor in step.source.tensors:
                if tensor.buffer not in places:
                    between = _renamed(tensor.buffer, results[0].name, names)
                    places[tensor.buffer] = (between, 0)
            found.append(_placed(step, places))
    return found


def _renamed(value: ProgramValue, ahead: str, names: set[str]) -> ProgramValue:
    """A value of the body as one of the program, with a name of its own."""
    name, count = f"{ahead}_{value.name}", 1
    while name in names:
        count += 1
        name = f"{ahead}_{value.name}_{count}"
    names.add(name)
    return replace(value, name=name)


def _placed(
    step: KernelStep, places: dict[ProgramValue, tuple[ProgramValue, int]]
) -> KernelStep:
    """A launch whose tensors lie elsewhere."""
    tensors = tuple(
        replace(t, buffer=places[t.buffer][0], start=t.start + places[t.buffer][1])
        for t in step.source.tensors
    )
    return replace(step, source=replace(step.source, tensors=tensors))
