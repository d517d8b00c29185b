"""Rows in order at the sizes of models: what is compared is loaded once for a tile."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
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
