"""Places of a plan's values: what is checked of them, and that it finds mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.planning.plan import KernelStep, ProgramPlan, plan_of  # noqa: E402
from argus.programs.running.memory import (  # noqa: E402
    ProgramMemory,
    bytes_of,
    check_memory,
    memory_of,
)
from programs.modules import Formula  # noqa: E402


@pytest.fixture(scope="module")
def plan() -> ProgramPlan:
    """Sums over dimensions that take turns, each of what the others gave."""

    def chain(x: Any) -> Any:
        for dim in (0, 1, 0, 1):
            x = x - x.sum(dim, keepdim=True)
        return x

    return plan_of(Formula(chain), (torch.randn(7, 40),))


def code(plan: ProgramPlan, memory: ProgramMemory) -> str:
    with pytest.raises(ArgusError) as caught:
        check_memory(plan, memory)
    return caught.value.diagnostics[0].code


def test_values_share_memory_when_they_are_not_needed(plan: ProgramPlan) -> None:
    memory = memory_of(plan)
    check_memory(plan, memory)
    between = list(memory.offsets)
    assert len(between) >= 3
    assert memory.size < sum(-(-bytes_of(v) // 256) * 256 for v in between)


def test_a_place_of_something_that_is_needed_is_refused(plan: ProgramPlan) -> None:
    memory = memory_of(plan)
    one = dict.fromkeys(memory.offsets, 0)
    assert code(plan, replace(memory, offsets=one)) == "AG1045"
    assert code(plan, replace(memory, size=memory.size - 1)) == "AG1045"


def test_what_is_not_written_before_it_is_read_is_refused(plan: ProgramPlan) -> None:
    memory = memory_of(plan)
    later = replace(plan, steps=plan.steps[::-1])
    assert code(later, memory) == "AG1044"
    assert code(replace(plan, steps=plan.steps[:-1]), memory) == "AG1044"
    assert code(replace(plan, steps=(*plan.steps, plan.steps[0])), memory) == "AG1044"


@pytest.mark.parametrize("change", [{"start": 1}, {"start": -1}, {"strides": (2,)}])
def test_what_is_not_written_in_full_is_refused(
    plan: ProgramPlan, change: dict[str, Any]
) -> None:
    first = plan.steps[0]
    assert isinstance(first, KernelStep)
    source = first.source
    tensors = tuple(
        replace(t, **change) if t.name in source.outputs else t for t in source.tensors
    )
    wrong = replace(first, source=replace(source, tensors=tensors))
    changed = replace(plan, steps=(wrong, *plan.steps[1:]))
    assert code(changed, memory_of(changed)) == "AG1044"
