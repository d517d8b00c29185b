"""Windows that are added up where they overlap: `fold`, and gradients of `unfold`."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses import FakeTensorMode  # noqa: E402
from torch.nn import functional  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from few import spread  # noqa: E402
from programs.modules import Formula  # noqa: E402

_LINES = [
    (n, taps, dilation, padding, stride)
    for n, taps, dilation, padding, stride in product(
        (7, 12), (1, 3, 10), (1, 2), (0, 2), (1, 2, 3)
    )
    if n + 2 * padding > dilation * (taps - 1)
]


def same(function: Any, x: Any) -> None:
    plan = plan_of(Formula(function), (x,))
    assert plan.whole
    got = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(x))


@pytest.mark.parametrize("case", spread(_LINES, 5))
def test_lines_are_folded(case: tuple[int, ...]) -> None:
    n, taps, dilation, padding, stride = case
    windows = (n + 2 * padding - dilation * (taps - 1) - 1) // stride + 1

    def folded(x: Any) -> Any:
        ways = (1, taps), (1, dilation), (0, padding), (1, stride)
        return functional.fold(x, (1, n), *ways)

    same(folded, torch.randn(2, 2 * taps, windows))


def test_images_are_folded() -> None:
    def folded(x: Any) -> Any:
        return functional.fold(x, (8, 7), (3, 2), (2, 1), (1, 0), (2, 3))

    x = torch.randn(2, 3 * 6, 3 * 2)
    same(folded, x)
    plan = plan_of(Formula(folded), (x.bfloat16(),))
    got = run_plan(plan, (x.bfloat16(),), {}, in_interpreter)
    torch.testing.assert_close(got, folded(x.bfloat16().float()).bfloat16())


@pytest.mark.parametrize(
    ("shape", "dim", "size", "step"),
    [((18,), 0, 2, 1), ((4, 9), 1, 3, 2), ((3, 20, 2), 1, 5, 2), ((5, 3), 1, 2, 5)],
)
def test_gradients_of_windows_are_added_up(
    shape: tuple[int, ...], dim: int, size: int, step: int
) -> None:
    def gradient(given: Any) -> Any:
        return torch.ops.aten.unfold_backward(given, shape, dim, size, step)

    same(gradient, torch.randn(torch.zeros(shape).unfold(dim, size, step).shape))


@pytest.mark.parametrize(
    ("shape", "function", "most"),
    [
        (
            (8, 64, 511, 2),
            lambda x: torch.ops.aten.unfold_backward(x, (8, 64, 512), 2, 2, 1),
            10,
        ),
        ((8, 576, 784), lambda x: functional.fold(x, (56, 56), 3, 1, 1, 2), 25),
    ],
)
def test_nothing_is_compared(
    shape: tuple[int, ...], function: Any, most: float
) -> None:
    """Each element was looked for in all windows: 308 microseconds; in torch."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        plan = plan_of(Formula(function), (torch.empty(shape),))
    assert plan.whole
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < most
