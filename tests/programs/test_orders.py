"""Rows in order at the sizes of models: what is compared is loaded once for a tile."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def test_ranks_of_many_rows_are_proved_and_compared_by_tiles() -> None:
    """Keys that are stored are four tensors; comparing them took over 20 s."""
    plan = plan_of(Formula(lambda x: x.sort(1)), (torch.empty(2048, 512),))
    assert not plan.left
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 1000
    assert len(plan.kernels) == 4
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_rows_that_lie_across_memory_are_put_in_order_before() -> None:
    plan = plan_of(Formula(lambda x: x.median(1)), (torch.empty(16, 256, 256),))
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < 600


def test_long_rows_stay_in_torch_where_there_are_many() -> None:
    plan = plan_of(Formula(lambda x: x.sort(1)), (torch.empty(2048, 1024),))
    assert [step.why for step in plan.left] == ["rows of 1024 elements in order"]
    assert not plan_of(Formula(lambda x: x.topk(2)), (torch.empty(8, 2048),)).left


ROWS: dict[str, Any] = {
    "numbers": lambda x: x,
    "equal ones": lambda x: x.round(),
    "missing": lambda x: torch.where(x > 1, nan, x.round()),
    "infinite": lambda x: torch.where(x > -0.5, -inf, x.round()),
    "16 bits": lambda x: x.bfloat16(),
    "64 bits": lambda x: x.double(),
    "whole": lambda x: (3 * x).to(torch.int64),
}


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", ROWS)
def test_the_first_few_are_those_of_torch(name: str, largest: bool) -> None:
    torch.manual_seed(0)
    x = ROWS[name](torch.randn(40, 33))
    plan = plan_of(Formula(lambda x: x.topk(3, 1, largest)), (x,))
    assert not plan.left
    values, at = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    wanted = x.topk(3, 1, largest).values
    torch.testing.assert_close(values, wanted, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(x.gather(1, at), wanted, rtol=0, atol=0, equal_nan=True)
    assert all(len(set(row)) == len(row) for row in at.tolist())
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


FEW: dict[str, tuple[Any, tuple[int, ...], float]] = {
    # comparing all with all took 968 and 353 us; the others stayed in torch
    "of 512": (lambda x: x.topk(8), (4096, 512), 100),
    "of 64": (lambda x: x.topk(2), (65536, 64), 100),
    "of 4096": (lambda x: x.topk(8), (256, 4096), 80),
    "of many rows": (lambda x: x.topk(5), (4096, 1000), 100),
    "of shares": (lambda x: x.softmax(1).topk(8), (8192, 128), 80),
}


@pytest.mark.parametrize("name", FEW)
def test_the_first_few_are_found_one_after_the_other(name: str) -> None:
    function, shape, most = FEW[name]
    plan = plan_of(Formula(function), (torch.empty(shape),))
    assert not plan.left
    assert sum(prediction_of(step).microseconds for step in plan.kernels) < most


def test_experts_that_are_chosen_by_shares_are_proved() -> None:
    def chosen(x: Any, w: Any) -> Any:
        values, at = (x @ w).softmax(1).topk(4)
        return values / values.sum(1, keepdim=True), at

    torch.manual_seed(0)
    given = torch.randn(64, 32), torch.randn(32, 40)
    plan = plan_of(Formula(chosen), given)
    values, at = run_plan(plan, given, plan.program.tensors, in_interpreter)
    wanted = chosen(*given)
    torch.testing.assert_close(values, wanted[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(at, wanted[1])
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text
