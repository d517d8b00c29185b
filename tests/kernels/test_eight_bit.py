"""Products with weights of eight bits are what torch computes. No GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from few import rest  # noqa: E402


@pytest.mark.parametrize(
    ("m", "biased"),
    [(9, True), (130, False), *rest(*((m, b) for m in (1, 40) for b in (False, True)))],
)
def test_it_is_the_product(
    m: int, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both types with each number of rows, and each with and without a bias.
    kind = torch.float16 if (m in (1, 40)) == biased else torch.bfloat16
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
