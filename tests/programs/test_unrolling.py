"""Loops of few indices that only positions depend on are stores side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.running.memory import check_memory, memory_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def _chosen(x: Any) -> Any:
    """Three values of each element, side by side."""
    at = torch.arange(3)[:, None]
    wave = torch.sin(x)[:, None, :]
    return torch.where(at == 0, wave, torch.where(at == 1, wave * 2, wave - at))


INPUT = torch.linspace(-2, 3, 5 * 24).reshape(5, 24)


def _one(function: Any) -> ProgramPlan:
    plan = plan_of(Formula(function), (INPUT,))
    assert len(plan.kernels) == 1
    return plan


def test_what_parts_share_is_computed_once() -> None:
    plan = _one(_chosen)
    (step,) = plan.kernels
    assert len(step.source.outputs) == 3
    assert step.source.text.count("ag.sin(") == 1
    assert 3 not in step.source.sizes.values()
    assert proof_of(step).verdict is Verdict.EQUAL
    got = run_plan(plan, (INPUT,), plan.program.tensors, in_interpreter)
    assert torch.allclose(got, _chosen(INPUT), atol=1e-5)


def test_what_reads_other_elements_in_each_part_is_walked() -> None:
    plan = _one(lambda x: x.reshape(5, 3, 8) * torch.arange(3)[:, None])
    assert len(plan.kernels[0].source.outputs) == 1


def test_outputs_that_leave_elements_out_or_overlap_are_refused() -> None:
    plan = _one(_chosen)
    (step,) = plan.kernels
    source = step.source
    *others, last = source.tensors
    assert last.name in source.outputs
    for start in (last.start - 1, last.start + 24, others[-1].start):
        moved = replace(source, tensors=(*others, replace(last, start=start)))
        with pytest.raises(ArgusError) as caught:
            broken = replace(plan, steps=(replace(step, source=moved),))
            check_memory(broken, memory_of(plan))
        assert caught.value.diagnostics[0].code == "AG1044"
    fewer = replace(source, tensors=tuple(others), outputs=source.outputs[:-1])
    with pytest.raises(ArgusError) as caught:
        check_memory(
            replace(plan, steps=(replace(step, source=fewer),)), memory_of(plan)
        )
    assert caught.value.diagnostics[0].code == "AG1044"
