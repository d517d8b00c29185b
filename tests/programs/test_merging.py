"""Kernels that walk the same loops become one, which is equal to its reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

aten = torch.ops.aten
X, Y, W = random(2, 6, 32), random(6, 2, 32).view(2, 6, 32), random(32)
A, B = random(40, 33), random(33, 40).view(40, 33)


def _added_and_normalised(x: Any, y: Any, w: Any) -> Any:
    total = x + y
    return total, torch.nn.functional.rms_norm(total, (32,), w, 1e-5)


def _normalised(x: Any, w: Any, b: Any) -> Any:
    """With what its gradient needs: the mean, and one over the deviation."""
    return aten.native_layer_norm(x, [32], w, b, 1e-5)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a sum and its norm": (_added_and_normalised, (X, Y, W)),
    "a norm and its mean": (_normalised, (X, W, W + 1)),
    "sums": (lambda x, y: ((x * y).sum(0), x.sum(0), (x * x).sum(0)), (A, B)),
    "maps": (lambda x, y: (x + y, torch.relu(x) - y, (x * 2).t()), (A, B)),
}


def interpreted(plan: ProgramPlan, inputs: tuple[Any, ...]) -> list[Any]:
    return list(run_plan(plan, inputs, plan.program.tensors, in_interpreter))


@pytest.mark.parametrize("name", CASES)
def test_kernels_over_the_same_loops_are_one(name: str) -> None:
    function, inputs = CASES[name]
    plan = plan_of(Formula(function), inputs)
    assert plan.whole
    (step,) = plan.kernels
    expected = function(*inputs)
    assert len(step.source.outputs) == len(expected)
    for got, wanted in zip(interpreted(plan, inputs), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=2e-6, atol=2e-6)
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_what_torch_reads_is_there_before_torch_is_called() -> None:
    def made(x: Any, y: Any) -> Any:
        total = x + y
        rows = aten.special_airy_ai(total)
        return total * rows, total - y

    inputs = (random(6, 8), random(8, 6).view(6, 8))
    plan = plan_of(Formula(made), inputs)
    assert [s.what for s in plan.left] == ["aten.special_airy_ai.default"]
    for got, wanted in zip(interpreted(plan, inputs), made(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=2e-6, atol=2e-6)


def test_what_several_kernels_compute_anew_is_stored_for_all_of_them() -> None:
    def made(x: Any, y: Any) -> Any:
        total = torch.exp(x) + y
        half = total * 0.5
        return half.sum(1), half.sum(0), torch.relu(half) @ y.t()

    inputs = (random(40, 24), random(24, 40).view(40, 24))
    plan = plan_of(Formula(made), inputs)
    assert plan.whole
    for got, wanted in zip(interpreted(plan, inputs), made(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_long_columns_are_added_up_in_parts_side_by_side() -> None:
    """The gradients of a norm's weight and shift: two kernels for both."""
    x, grad = random(1024, 40).bfloat16(), random(1024, 40).bfloat16()

    def gradients(x: Any, grad: Any) -> Any:
        wide = grad.float()
        return (wide * x.float()).sum(0).to(x.dtype), wide.sum(0).to(x.dtype)

    plan = plan_of(Formula(gradients).eval(), (x, grad))
    assert [len(s.written) for s in plan.kernels] == [2, 2]
    parts, whole = plan.kernels
    assert all(v.shape[0] > 4 and v.shape[1:] == (40,) for v in parts.written)
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in (parts, whole))
    found = interpreted(plan, (x, grad))
    for one, other in zip(found, gradients(x, grad), strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def _statistics(x: Any, w: Any, mean: Any, variance: Any) -> Any:
    """What a batch normalisation computes of rows, with its running numbers."""
    own = x.mean((0, 2))
    spread = (x - own[:, None]).square().mean((0, 2))
    scale = torch.rsqrt(spread + 1e-5)
    running = (mean * 0.9 + own * 0.1, variance * 0.9 + spread * 0.1)
    return (x - own[:, None]) * (scale * w)[:, None], scale, *running


def test_what_is_computed_of_a_reduction_is_a_result_of_its_kernel() -> None:
    """Numbers of each channel are no launches of their own, nor is what reads them."""
    x, w = random(2, 24, 50), random(24)
    inputs = (x, w, random(24), random(24))
    plan = plan_of(Formula(_statistics), inputs)
    assert [len(s.written) for s in plan.kernels] == [2, 2, 1], [
        s.computes for s in plan.kernels
    ]
    assert all(proof_of(s).verdict is Verdict.EQUAL for s in plan.kernels)
    for got, wanted in zip(
        interpreted(plan, inputs), _statistics(*inputs), strict=True
    ):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_kernels_that_take_a_launch_and_no_more_are_one() -> None:
    """Sums of parts of several tensors, and maps beside them."""

    def sums(*parts: Any) -> Any:
        return (*(p.sum(0) for p in parts), parts[0][0] * 2 + parts[1][0])

    inputs = tuple(random(7, 40) + i for i in range(5))
    plan = plan_of(Formula(sums), inputs)
    (step,) = plan.kernels
    assert len(step.source.outputs) == 6
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    for got, wanted in zip(interpreted(plan, inputs), sums(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_maps_of_joined_values_stand_behind_all_parts() -> None:
    def joined(x: Any, y: Any, w: Any) -> Any:
        both = torch.cat([x @ w, y @ w], 1)
        small = both[:1, :8] * 2
        return both, small + 1, (x @ w).sum(0)

    inputs = (random(48, 40), random(40, 48).view(48, 40), random(40, 64))
    plan = plan_of(Formula(joined), inputs)
    for got, wanted in zip(interpreted(plan, inputs), joined(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
