"""Gradients of means of windows are kernels that are proved, and those of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "mean": (lambda x: functional.avg_pool2d(x, 3, 2, 1), (2, 3, 7, 8)),
    "mean of what is there": (
        lambda x: functional.avg_pool2d(x, 3, 2, 1, True, False), (2, 3, 6, 8)
    ),
    "mean by a number": (
        lambda x: functional.avg_pool2d(x, 2, divisor_override=3), (2, 3, 5, 6)
    ),
    "mean of a volume": (lambda x: functional.avg_pool3d(x, 2), (1, 3, 4, 6, 5)),
    "mean of a line": (lambda x: functional.avg_pool1d(x, 3, 1, 1), (1, 3, 8)),
    "mean of all, by strides": (
        lambda x: functional.adaptive_avg_pool2d(x, 1), (2, 3, 4, 4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_torch(name: str) -> None:
    function, sizes = CASES[name]
    torch._dynamo.reset()
    reports: list[GraphReport] = []
    options = {"interpret": True, "report": reports.append}
    call = torch.compile(function, backend=argus_backend, options=options)
    x = random(*sizes).requires_grad_()
    found, wanted = call(x), function(x)
    torch.testing.assert_close(found, wanted)
    back = random(*wanted.shape)
    gradients = [torch.autograd.grad(y, x, back)[0] for y in (found, wanted)]
    torch.testing.assert_close(*gradients)
    assert [r.role for r in reports] == ["forward", "backward"]
    assert not any(r.left or r.whole for r in reports)


def test_parts_of_a_tensor_are_replaced_by_strides() -> None:
    def replaced(x: Any, y: Any) -> Any:
        return torch.ops.aten.as_strided_scatter(x, y, (2, 3), (1, 2), 4)

    torch._dynamo.reset()
    options = {"interpret": True, "strict": True}
    call = torch.compile(replaced, backend=argus_backend, options=options)
    x, y = random(3, 4), random(2, 3)
    assert torch.equal(call(x, y), replaced(x, y))


def test_kernels_of_gradients_are_proved() -> None:
    def gradient(back: Any, x: Any) -> Any:
        return torch.ops.aten.avg_pool2d_backward(
            back, x, [3, 3], [2, 2], [1, 1], False, False, None
        )

    plan = plan_of(Formula(gradient), (random(2, 3, 20, 20), random(2, 3, 40, 40)))
    assert not plan.left
    verdicts = {proof_of(step).verdict for step in plan.kernels}
    assert verdicts <= {Verdict.PROVED, Verdict.EQUAL}


def test_gradients_of_maxima_are_decided_at_sizes_of_models() -> None:
    """Windows that overlap and have an edge: no small run is near these sizes."""
    aten = torch.ops.aten

    def gradient(back: Any, x: Any, at: Any) -> Any:
        window = ([3, 2], [2, 2], [1, 0], [1, 1], False)
        made = aten.max_pool2d_with_indices_backward(back, x, *window, at)
        return aten.threshold_backward(made, x, 0)

    x = random(2, 8, 112, 112)
    at = torch.zeros(2, 8, 56, 56, dtype=torch.int64)
    plan = plan_of(Formula(gradient), (random(2, 8, 56, 56), x, at))
    assert not plan.left
    assert {proof_of(step).verdict for step in plan.kernels} == {Verdict.EQUAL}
