"""Products with weights of eight bits are what torch computes. No GPU."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.kernels.eight_bit.choice import best_tiles, plan_of_numbers  # noqa: E402


@pytest.mark.parametrize("m", [1, 9, 40, 130])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("biased", [False, True])
def test_it_is_the_product(
    m: int, kind: Any, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(m)
    n, k = 37, 1040
    a, bias = torch.randn(m, k).to(kind), torch.randn(n) if biased else None
    weight = torch.randint(-128, 128, (n, k), dtype=torch.int8)
    scales = torch.rand(n) / 64
    found = ops.int8_gemm(a, weight, scales, bias)
    want = a.double() @ weight.double().T * scales.double()
    want = want if bias is None else want + bias
    assert found.dtype == kind
    assert (found.double() - want).norm() < 5e-3 * want.norm()


def test_tiles_fit() -> None:
    for m in (1, 8, 9, 33, 64, 100, 192, 400, 5000):
        for n, k in ((1, 16), (16, 4096), (4096, 16), (28672, 8192), (128, 131072)):
            plan = best_tiles(m, n, k, 132)
            assert plan.resident > 0
            # No part is empty, and all of them have K.
            steps = ceil(k / plan.depth)
            assert (plan.parts - 1) * plan.steps(k) < steps
            assert plan.parts * plan.steps(k) >= steps


def test_many_rows_meet_numbers_of_all_weights() -> None:
    assert plan_of_numbers(64, 4096, 4096, 128, 132) is None
    assert plan_of_numbers(8192, 4096, 4096, 128, 132) is not None


def test_what_does_not_fit_is_told() -> None:
    a, scales = torch.randn(2, 256).bfloat16(), torch.ones(8)
    weight = torch.zeros(8, 256, dtype=torch.int8)
    with pytest.raises(ArgusError, match="`weight` is"):
        ops.int8_gemm(a, weight[:, :128], scales)
    with pytest.raises(ArgusError, match="`scales` is"):
        ops.int8_gemm(a, weight, scales[:4])
    with pytest.raises(ArgusError, match="TMA cannot address the rows of `weight`"):
        ops.int8_gemm(a, torch.zeros(8, 257, dtype=torch.int8)[:, 1:], scales)
    with pytest.raises(ArgusError, match="no multiple of 16"):
        ops.int8_gemm(a[:, :248].contiguous(), weight[:, :248], scales)
    assert ops.int8_gemm(a[:0], weight, scales).shape == (0, 8)
