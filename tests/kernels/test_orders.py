"""Products of factors in any order, and of batches, are what torch computes. No GPU."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.compiler import prove  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.ir.dtypes import bf16, f32  # noqa: E402
from argus.kernels.gemm.orders import batched_orders, gemm_orders  # noqa: E402
from argus.kernels.gemm.turned import turned_product  # noqa: E402
from argus.lang.library import identity  # noqa: E402
from argus.requests import Request  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import rest, spread  # noqa: E402

ORDERS = list(product((False, True), repeat=2))
SMALL = {"BM": 64, "BN": 64, "BC": 32, "STAGES": 2, "WARPGROUPS": 1, "TMA_STORE": False}


@pytest.fixture
def unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(0)


def factor(turned: bool, *shape: int, kind: Any = torch.bfloat16) -> Any:
    """A random one; turned: its last dimension but one is contiguous."""
    made = torch.randn(shape).to(kind)
    return made.mT.contiguous().mT if turned else made


def close(found: Any, want: Any) -> bool:
    return bool((found.double() - want).norm() < 5e-3 * want.norm())


SIZES = [(70, 51, 33), (64, 72, 96), (130, 8, 24), (2, 3, 5)]


# Rows that are odd, and many rows that are not.
@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("size", spread(SIZES, 2))
@pytest.mark.parametrize("turns", ORDERS)
def test_any_order(size: tuple[int, int, int], turns: tuple[bool, bool]) -> None:
    m, n, k = size
    a, b = factor(turns[0], m, k), factor(turns[1], n, k)
    want = a.double() @ b.double().T
    assert close(ops.gemm(a, b), want)
    bias, residual = torch.randn(n), torch.randn(m, n).bfloat16()
    want = torch.relu(want + bias.double()) + residual.double()
    assert close(ops.gemm(a, b, bias, residual, "relu"), want)


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("turns", ORDERS)
@pytest.mark.parametrize("size", [(3, 64, 72, 96), (2, 200, 40, 24), (1, 3, 8, 8)])
def test_batches(size: tuple[int, int, int, int], turns: tuple[bool, bool]) -> None:
    p, m, n, k = size
    kind = torch.float16
    if turns[0]:
        m = -(-m // 8) * 8
    a, b = factor(turns[0], p, m, k, kind=kind), factor(turns[1], p, n, k, kind=kind)
    assert close(ops.batched_gemm(a, b), a.double() @ b.double().mT)


@pytest.mark.parametrize(
    ("turns", "epilogue"),
    [
        *((turns, False) for turns in ORDERS),
        ((True, True), True),
        *rest(*((turns, True) for turns in ORDERS[:3])),
    ],
)
def test_each_order_is_equal(turns: tuple[bool, bool], epilogue: bool) -> None:
    names = ("TurnedA" if turns[0] else "A", "TurnedB" if turns[1] else "B", "C")
    dtypes = dict.fromkeys(names, bf16)
    if epilogue:
        dtypes |= {"Bias": f32, "Residual": bf16}
    facts = {"N": 1, "C_s0": 1, "Residual_s0": 1} if epilogue else {"N": 1, "C_s0": 1}
    request = Request(gemm_orders, dtypes, {**SMALL, "CLUSTER": 2}, facts=facts)
    assert prove(request).report.verdict is Verdict.EQUAL


# One factor turned, which has both.
@pytest.mark.parametrize("turns", [ORDERS[1], ORDERS[2], *rest(ORDERS[0], ORDERS[3])])
def test_each_batch_is_equal(turns: tuple[bool, bool]) -> None:
    names = ("TurnedA" if turns[0] else "A", "TurnedB" if turns[1] else "B", "C")
    statics = {**SMALL, "TMA_STORE": True}
    request = Request(batched_orders, dict.fromkeys(names, bf16), statics)
    assert prove(request).report.verdict is Verdict.EQUAL


@pytest.mark.parametrize("turns", ORDERS[1:])
@pytest.mark.parametrize(
    "size", [(4096, 4096, 4096), (4096, 4000, 1000), (64, 64, 65536)]
)
def test_large_products_are_not_copied(
    size: tuple[int, int, int], turns: tuple[bool, bool]
) -> None:
    m, n, k = size
    half: Any = {"dtype": torch.bfloat16, "device": "meta"}
    a = torch.empty((k, m) if turns[0] else (m, k), **half)
    b = torch.empty((k, n) if turns[1] else (n, k), **half)
    out = torch.empty(m, n, **half)
    made = turned_product((a, b, out, None, None), turns, bf16, identity)
    names = [step.kernel.name for step in made.steps]
    if k > m:  # by parts of the sum
        assert names[: sum(turns)] == ["turned_rows"] * sum(turns)
    else:
        assert names == ["gemm_orders"]


def test_what_is_refused() -> None:
    a = torch.zeros(2, 8, 16).bfloat16()
    with pytest.raises(ArgusError, match="AG0801"):
        ops.batched_gemm(a, torch.zeros(3, 8, 16).bfloat16())
    with pytest.raises(ArgusError, match="TMA cannot address the rows of `b`"):
        ops.batched_gemm(a, torch.zeros(2, 8, 17).bfloat16()[:, :, :16])
    with pytest.raises(ArgusError, match="nothing to sum"):
        ops.batched_gemm(a[:, :, :0], a[:, :, :0])
    assert ops.batched_gemm(a[:0], a[:0]).shape == (0, 8, 8)
