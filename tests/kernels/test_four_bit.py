"""Products with weights of four bits are what torch computes. No GPU."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from few import spread  # noqa: E402


def weights(n: int, k: int) -> tuple[Any, Any]:
    """Packed numbers of four bits, and those numbers by themselves."""
    q = torch.randint(0, 16, (n, k), dtype=torch.uint8)
    return q[:, 0::2] | q[:, 1::2] << 4, q.double()


@pytest.fixture(autouse=True)
def unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(0)


SIZES = [
    (1, 20, 256, 128, torch.bfloat16),
    (9, 33, 1152, 64, torch.float16),
    (16, 16, 96, 32, torch.bfloat16),
    (2, 7, 768, 256, torch.bfloat16),
    (18, 40, 256, 128, torch.bfloat16),
    (70, 51, 96, 32, torch.float16),
]
CASES = [
    (*size, other)
    for size, order in zip(SIZES, (1, -1) * 3, strict=True)
    for other in (False, True)[::order]
]


# Each size with one or the other by default.
@pytest.mark.parametrize(("m", "n", "k", "group", "kind", "other"), spread(CASES, 2))
def test_whole_numbers(
    m: int, n: int, k: int, group: int, kind: Any, other: bool
) -> None:
    # Each form with few, 16 and many rows; each shape with two that share nothing.
    forms = ("plain", "both") if m in (1, 16, 70) else ("signed", "zeros")
    form = forms[other]
    packed, q = weights(n, k)
    a = torch.randn(m, k).to(kind)
    scales = torch.rand(n, k // group).to(kind) + 0.5
    signed = form in ("signed", "both")
    zeros = None
    if form in ("zeros", "both"):
        zeros = torch.randint(0, 16, scales.shape).to(kind)
    bias = torch.randn(n) if form == "both" else None
    made = ops.int4_gemm(a, packed, scales, zeros, bias, group=group, signed=signed)

    if signed:
        q = torch.where(q > 7, q - 16, q)
    zero = zeros if zeros is not None else torch.full_like(scales, 0 if signed else 8)
    zero, scale = (x.double().repeat_interleave(group, dim=1) for x in (zero, scales))
    want = a.double() @ ((q - zero) * scale).T
    want = want if bias is None else want + bias
    assert made.dtype == kind
    assert (made.double() - want).norm() / want.norm() < 5e-3


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@pytest.mark.parametrize(
    ("m", "n", "k", "kind"),
    [
        (1, 20, 32, torch.bfloat16),
        (16, 33, 1184, torch.float16),
        (18, 40, 256, torch.bfloat16),
        (70, 51, 96, torch.float16),
    ],
)
def test_mxfp4(m: int, n: int, k: int, kind: Any) -> None:
    biased = m in (16, 18)
    packed, codes = weights(n, k)
    values = torch.tensor((*E2M1, *(-x for x in E2M1)), dtype=torch.float64)
    scales = torch.randint(122, 131, (n, k // 32), dtype=torch.uint8)
    power = torch.exp2(scales.double() - 127).repeat_interleave(32, dim=1)
    a, bias = torch.randn(m, k).to(kind), torch.randn(n) if biased else None
    made = ops.mxfp4_gemm(a, packed, scales, bias)
    want = a.double() @ (values[codes.long()] * power).T
    want = want if bias is None else want + bias
    assert made.dtype == kind
    assert (made.double() - want).norm() / want.norm() < 5e-3


@pytest.mark.parametrize(
    ("kind", "biased"), [(torch.bfloat16, False), (torch.float16, True)]
)
def test_numbers_of_all_weights_first(
    kind: Any, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argus.kernels.four_bit import op
    from argus.kernels.gemm.plan import ProductPlan, best_plan

    def plans(m: int, n: int, k: int, rows: int, *_: float) -> ProductPlan:
        return best_plan(m, n, k, (rows, 128))

    monkeypatch.setattr(op, "plan_of_numbers", plans)
    n, k = (36, 384) if biased else (35, 768)
    packed, q = weights(n, k)
    a, bias = torch.randn(19, k).to(kind), torch.randn(n) if biased else None
    scales = torch.rand(n, k // 384).to(kind) + 0.5
    zeros = torch.randint(0, 16, scales.shape).to(kind)
    made = op.int4_gemm(a, packed, scales, zeros, bias, group=384)
    zero, scale = (x.double().repeat_interleave(384, dim=1) for x in (zeros, scales))
    want = a.double() @ ((q - zero) * scale).T
    want = want if bias is None else want + bias
    assert (made.double() - want).norm() / want.norm() < 5e-3

    values = torch.tensor((*E2M1, *(-x for x in E2M1)), dtype=torch.float64)
    powers = torch.randint(122, 131, (n, k // 32), dtype=torch.uint8)
    scale = torch.exp2(powers.double() - 127).repeat_interleave(32, dim=1)
    made = op.mxfp4_gemm(a, packed, powers, bias)
    want = a.double() @ (values[q.long()] * scale).T
    want = want if bias is None else want + bias
    assert (made.double() - want).norm() / want.norm() < 5e-3


def test_what_does_not_fit_is_told() -> None:
    packed, _ = weights(8, 256)
    a, scales = torch.randn(2, 256).bfloat16(), torch.ones(8, 2).bfloat16()
    with pytest.raises(ArgusError, match="groups of 48"):
        ops.int4_gemm(a, packed, scales, group=48)
    with pytest.raises(ArgusError, match="no whole groups"):
        ops.int4_gemm(a, packed, scales, group=384)
    with pytest.raises(ArgusError, match="`scales` is"):
        ops.int4_gemm(a, packed, scales, group=64)
    with pytest.raises(ArgusError, match="`weight` is"):
        ops.int4_gemm(a, packed[:, :64], scales)
    with pytest.raises(ArgusError, match="`scales` is"):
        ops.mxfp4_gemm(a, packed, scales)
    with pytest.raises(ArgusError, match="TMA cannot address the rows of `a`"):
        ops.int4_gemm(torch.randn(2, 257).bfloat16()[:, 1:], packed, scales)
    assert ops.int4_gemm(a[:0], packed, scales).shape == (0, 8)
