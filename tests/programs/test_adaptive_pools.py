"""Pools whose windows have different sizes read these, and nothing beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

MEANS = torch.ops.aten._adaptive_avg_pool2d_backward
SMALL: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], int]] = {
    # function, shapes, kernels
    "line": (lambda x: functional.adaptive_avg_pool1d(x, 5), ((2, 3, 23),), 1),
    "largest": (lambda x: functional.adaptive_max_pool1d(x, 5), ((2, 3, 23),), 1),
    "image": (
        lambda x: functional.adaptive_avg_pool2d(x, (7, 4)), ((2, 3, 10, 13),), 1,
    ),
    "enlarged": (
        lambda x: functional.adaptive_avg_pool2d(x, (9, 11)), ((2, 3, 5, 7),), 1,
    ),
    "large windows": (
        lambda x: functional.adaptive_max_pool2d(x, (3, 3)), ((2, 3, 40, 41),), 2,
    ),
    "space": (
        lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 5)), ((2, 3, 5, 7, 9),), 3,
    ),
    "gradient": (MEANS, ((2, 3, 7, 4), (2, 3, 10, 13)), 2),
    "gradient of parts": (MEANS, ((2, 3, 5, 4), (2, 3, 10, 13)), 2),
    "gradient of large windows": (MEANS, ((2, 3, 3, 3), (2, 3, 40, 41)), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_windows_of_different_sizes_are_torchs(name: str) -> None:
    function, shapes, kernels = SMALL[name]
    torch.manual_seed(0)
    given = tuple(torch.randn(shape) for shape in shapes)
    plan = plan_of(Formula(function), given)
    assert len(plan.kernels) <= kernels, [s.source.name for s in plan.kernels]
    assert not plan.left
    got = run_plan(plan, given, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(got, function(*given), rtol=1e-5, atol=1e-5)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


LARGE: dict[str, tuple[Callable[..., Any], tuple[int, ...], float]] = {
    # all compared with all took 4554, 397, 2964 and 768 us
    "line": (lambda x: functional.adaptive_avg_pool1d(x, 100), (64, 128, 4099), 100),
    "image": (lambda x: functional.adaptive_avg_pool2d(x, 7), (64, 256, 60, 60), 150),
    "enlarged": (
        lambda x: functional.adaptive_avg_pool2d(x, 100), (64, 64, 60, 60), 300,
    ),
    "space": (lambda x: functional.adaptive_max_pool3d(x, 5), (16, 64, 32, 32, 32), 90),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_no_element_is_compared_with_all_windows(name: str) -> None:
    function, shape, most = LARGE[name]
    plan = plan_of(Formula(function), (torch.empty(shape),))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < most
