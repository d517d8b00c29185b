"""Kernels of modules give what torch does where products are fused with sums."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.running import execution  # noqa: E402
from contraction import contracted  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

LARGE = torch.tensor([1.3e30, -1e30, 3e4])[:, None]


def _softmaxes(x: Any) -> tuple[Any, ...]:
    s = x * 0.37
    return s.softmax(-1), s.log_softmax(-1), torch.logsumexp(s, 1)


def _differences(x: Any, y: Any) -> tuple[Any, ...]:
    cross = x * y - y * x
    return torch.exp(cross), torch.sqrt(cross), torch.log(1 + cross), cross


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (_softmaxes, (LARGE.expand(3, 40).contiguous(),)),
        (_softmaxes, (LARGE.expand(3, 9000).contiguous(),)),  # in parts
        (_differences, (1e15 * random(4, 24), random(4, 24))),
    ],
)
def test_equal_products_leave_nothing(
    monkeypatch: pytest.MonkeyPatch, function: Any, inputs: Any, last: bool
) -> None:
    plan = plan_of(Formula(function).eval(), inputs)
    assert plan.whole
    placed = execution.placed_program
    monkeypatch.setattr(
        execution, "placed_program", lambda r: contracted(placed(r), last=last)[0]
    )
    runner = execution.in_interpreter
    made = execution.run_plan(plan, inputs, plan.program.tensors, runner)
    for got, wanted in zip(made, function(*inputs), strict=True):
        torch.testing.assert_close(got, wanted, rtol=2e-6, atol=2e-6)
