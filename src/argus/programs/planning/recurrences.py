"""Recurrences in plans: the kernels of one step, repeated for each step of time.

A recurrence is a call with a program for one step. Its first operands have a part for
each step; of a state the step reads what the step before wrote, the first one what is
given. Each value of states holds all steps: each launch writes a part of it, at another
offset. So all steps but the first are one repeated step of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from argus.programs.tensors.recurrent_calls import RecurrentCall
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)

if TYPE_CHECKING:
    from argus.programs.planning.plan import KernelStep, PlanStep, ProgramPlan


def steps_of(
    call: RecurrentCall,
    results: Sequence[ProgramValue],
    body: ProgramPlan,
    names: set[str],
) -> list[PlanStep]:
    """All launches of a recurrence, of the kernels of its body's plan.

    Those that depend on nothing that changes are launched once.
    """
    from argus.programs.planning.plan import RepeatedStep

    given = [v for v in body.program.values if isinstance(v.made, GivenPrimitive)]
    whole = dict(zip(given, (operand.value for operand in call.operands), strict=True))
    stored = [r.value for r in body.program.results if isinstance(r, ViewedValue)]
    parts, states = given[: call.parts], given[call.parts :][: call.states]
    constant = set(given[call.parts + call.states :])
    once: list[KernelStep] = []
    each: list[KernelStep] = []
    for step in body.kernels:
        if set(step.read) <= constant:
            constant |= set(step.written)
            once.append(step)
        else:
            each.append(step)
    shared = {v: whole.get(v) or _renamed(v, results[0].name, names) for v in constant}
    constants = {v: _Place(n) for v, n in shared.items()}
    found: list[PlanStep] = [_placed(step, constants) for step in once]

    def placed(number: int) -> tuple[KernelStep, ...]:
        """The kernels of a step, and of those after it."""
        places = dict(constants)
        for part in parts:
            places[part] = _Place(whole[part], number * part.size, part.size)
        for state, value in zip(states, results, strict=True):
            before, first = (number - 1) * state.size, _Place(whole[state])
            places[state] = _Place(value, before, state.size) if number else first
        for value, result in zip(stored, results, strict=True):
            places[value] = _Place(result, number * value.size, value.size)
        for step in each:
            for tensor in step.source.tensors:
                if tensor.buffer not in places:
                    between = _renamed(tensor.buffer, results[0].name, names)
                    places[tensor.buffer] = _Place(between)
        return tuple(_placed(step, places) for step in each)

    found += placed(0)
    if call.steps > 1:
        found.append(RepeatedStep(placed(1), call.steps - 1))
    return found


@dataclass(frozen=True)
class _Place:
    """Where a value of the body is: in a value of the program, from an element on.

    ``advance``: how much further each time.
    """

    value: ProgramValue
    start: int = 0
    advance: int = 0


def _renamed(value: ProgramValue, ahead: str, names: set[str]) -> ProgramValue:
    """A value of the body as one of the program, with a name of its own."""
    name, count = f"{ahead}_{value.name}", 1
    while name in names:
        count += 1
        name = f"{ahead}_{value.name}_{count}"
    names.add(name)
    return replace(value, name=name)


def _placed(step: KernelStep, places: dict[ProgramValue, _Place]) -> KernelStep:
    """A launch whose tensors lie elsewhere."""
    tensors = tuple(
        replace(
            t,
            buffer=places[t.buffer].value,
            start=t.start + places[t.buffer].start,
            advance=places[t.buffer].advance,
        )
        for t in step.source.tensors
    )
    return replace(step, source=replace(step.source, tensors=tensors))
