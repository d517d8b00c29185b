"""Assignments to every so many elements: `y[..., ::2] = a`."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def _turned_pairs(x: Any, cos: Any, sin: Any) -> Any:
    made = torch.empty_like(x)
    real, imaginary = x[..., ::2], x[..., 1::2]
    made[..., ::2] = real * cos - imaginary * sin
    made[..., 1::2] = real * sin + imaginary * cos
    return made


def _four_images(x: Any, cos: Any, sin: Any) -> Any:
    made = x.new_zeros(*x.shape[:-2], 2 * x.shape[-2], 2 * x.shape[-1])
    for row in range(2):
        for column in range(2):
            made[..., row::2, column::2] = x * (1 + row) + column
    return made


def _between_others(x: Any, cos: Any, sin: Any) -> Any:
    made = x.clone()
    made[..., 2::3] = cos[:, : made[..., 2::3].shape[-1]]
    return made * 2


@pytest.mark.parametrize("shape", [(3, 8, 12), (3, 8, 300)])
@pytest.mark.parametrize("function", [_turned_pairs, _four_images, _between_others])
def test_elements_are_put_without_copies(function: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    half = torch.randn(shape[-2], shape[-1] // 2)
    inputs = (torch.randn(shape), half, half.flip(0))
    plan = plan_of(Formula(function), inputs)
    assert len(plan.kernels) == 1
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("step", range(2, 5))
def test_any_part_of_a_dimension(first: int, step: int) -> None:
    """The dimension may be no multiple of the step, and the part end before it."""
    for n, end in ((12, 12), (13, 13), (12, 9), (7, 7)):
        count = len(range(first, end, step))
        inputs = (torch.arange(2.0 * n).reshape(2, n), -torch.ones(2, count))

        def function(x: Any, part: Any, end: int = end) -> Any:
            made = x.clone()
            made[:, first:end:step] = part
            return made

        plan = plan_of(Formula(function), inputs)
        found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
        assert torch.equal(found, function(*inputs))


@pytest.mark.parametrize(("parts", "stores"), [(2, 2), (3, 1), (4, 1)])
def test_neighbours_are_stored_together_where_they_are_more_than_pairs(
    parts: int, stores: int
) -> None:
    def function(x: Any) -> Any:
        return torch.stack([x * n for n in range(parts)], -1)

    inputs = (torch.randn(5, 700),)
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert len(step.source.outputs) == stores
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs))
