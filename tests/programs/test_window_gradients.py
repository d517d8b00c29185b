"""Pools with positions, and gradients of pools, are kernels and those of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport, argus_backend  # noqa: E402
from programs.modules import random  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "largest": (
        lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), (2, 3, 7, 8)
    ),
    "largest, apart": (
        lambda x: functional.max_pool2d(
            x, (2, 3), (1, 2), (1, 1), (2, 1), True, return_indices=True
        ),
        (2, 3, 7, 8),
    ),
    "largest of a volume": (lambda x: functional.max_pool3d(x, 2), (1, 3, 4, 6, 5)),
    "largest of a line": (lambda x: functional.max_pool1d(x, 2), (1, 3, 8)),
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
    # Elements repeat, so that windows have several that are the largest.
    x = random(*sizes).round(decimals=1).requires_grad_()
    found, wanted = call(x), function(x)
    if isinstance(found, tuple):
        assert torch.equal(found[1], wanted[1])
        found, wanted = found[0], wanted[0]
    torch.testing.assert_close(found, wanted)
    back = random(*wanted.shape)
    gradients = [torch.autograd.grad(y, x, back)[0] for y in (found, wanted)]
    torch.testing.assert_close(*gradients)
    assert [r.role for r in reports] == ["forward", "backward"]
    assert not any(r.left or r.whole for r in reports)


def test_what_is_no_number_is_the_largest() -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[[[1.0, nan, 0.0, -inf], [nan, 2.0, -inf, -inf]]]])
    call = torch.compile(
        lambda x: functional.max_pool2d(x, 2, return_indices=True),
        backend=argus_backend, options={"interpret": True, "strict": True},
    )  # fmt: skip
    torch._dynamo.reset()
    largest, at = call(x)
    wanted = functional.max_pool2d(x, 2, return_indices=True)
    torch.testing.assert_close(largest, wanted[0], equal_nan=True)
    assert torch.equal(at, wanted[1])


def test_parts_of_a_tensor_are_replaced_by_strides() -> None:
    def replaced(x: Any, y: Any) -> Any:
        return torch.ops.aten.as_strided_scatter(x, y, (2, 3), (1, 2), 4)

    torch._dynamo.reset()
    options = {"interpret": True, "strict": True}
    call = torch.compile(replaced, backend=argus_backend, options=options)
    x, y = random(3, 4), random(2, 3)
    assert torch.equal(call(x, y), replaced(x, y))
