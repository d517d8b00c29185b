"""Loops that are one: rows behind a border, too."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.functional import conv2d, pad  # noqa: E402

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402

CASES: dict[str, tuple[Any, int]] = {
    # what is computed, and loops of its kernel
    "rows behind": (lambda x: pad(x, (0, 0, 0, 2)), 2),
    "rows before": (lambda x: pad(x, (0, 0, 3, 0), value=-1.5) + 1, 2),
    "rows cut off": (lambda x: pad(x, (0, 0, -1, 2)).neg(), 2),
    "channels last": (lambda x: pad(x, (0, 0, 1, 1)).permute(0, 2, 3, 1) * 1, 2),
    "columns, too": (lambda x: pad(x, (0, 1, 0, 2)) * 2, 3),
    "columns alone": (lambda x: pad(x, (0, 1)) * 2, 2),
    "channels": (lambda x: pad(x, (0, 0, 0, 0, 0, 1)) * 2, 2),
    "rows and channels": (lambda x: pad(x, (0, 0, 1, 0, 0, 1)) * 2, 3),
    "backwards": (lambda x: pad(x.flip(2), (0, 0, 0, 2)) + 1, 3),
    "beside its row": (lambda x: pad(x, (0, 0, 0, 2)) + torch.arange(8.0), 3),
    "beside one number": (lambda x: pad(x, (0, 0, 0, 2)) + x[0, 0, 0, 0], 2),
    "every other row": (lambda x: pad(x[:, :, ::2], (0, 0, 0, 2)) * 2, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_with_a_border_are_one_loop_with_what_lies_in_them(name: str) -> None:
    function, loops = CASES[name]
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 5, 8),)
    plan = plan_of(Formula(function), inputs)
    (step,) = plan.kernels
    assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
    walked = [n for n in step.source.sizes if not n.startswith("E")]
    assert len(walked) == loops, step.source.text
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs), rtol=0, atol=0)


def test_sums_are_over_one_loop_where_a_border_lets_them() -> None:
    def function(x: Any) -> Any:
        return pad(x, (0, 0, 1, 2), value=0.25).sum((2, 3))

    inputs = (torch.arange(240.0).reshape(2, 3, 5, 8),)
    plan = plan_of(Formula(function), inputs)
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, function(*inputs))
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_windows_keep_a_border_of_their_own() -> None:
    """A filter of three rows and one column moves with its taps."""
    torch.manual_seed(0)
    inputs = (torch.randn(2, 4, 6, 5), torch.randn(3, 4, 3, 1))
    plan = plan_of(Formula(lambda x, w: conv2d(x, w, padding=(1, 0))), inputs)
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    wanted = conv2d(*inputs, padding=(1, 0))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_images_that_are_turned_and_padded_take_as_long_as_memory() -> None:
    """Blocks of 128 elements, three of four warps of them idle, took 358 us."""
    inputs = (torch.empty(1024, 3, 16, 32, 32),)

    def function(x: Any) -> Any:
        return pad(x, (0, 0, 0, 1, 0, 0, 0, 1)).permute(0, 2, 3, 4, 1).contiguous()

    plan = plan_of(Formula(function), inputs)
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 180
