"""What NVRTC fuses leaves nothing of equal products, however large they are."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.gpu
torch = pytest.importorskip("torch")

KERNEL = """
import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], factor: f32):
    M, N = X.shape
    ag.require(N == 64, "a row is a tile")
    ag.launch(warps=1)
    m = ag.block(M)
    x = ag.load(X[m, 0:], (64,))
    s = x * factor
    Y[m, 0:] = {value}
"""
VALUES = {
    "ag.exp2(s - ag.max(s, 'N'))": 1.0,
    "ag.exp2(s - ag.max(x, 'N') * factor)": 1.0,
    "ag.exp2(s - X[m, 3] * factor)": 1.0,
    "ag.sqrt(s - ag.abs(s))": 0.0,
    "1.0 / (1.0 + (s - factor * x))": 1.0,
    "ag.fmod(s, s)": 0.0,
}


@pytest.mark.parametrize("value", VALUES)
def test_equal_products_leave_nothing(value: str) -> None:
    from argus.lang.kernel import load_kernels

    kernel = load_kernels("fused.py", KERNEL.format(value=value)).kernels["k"]
    x = torch.tensor([1.3e30, 2.3, 3e9])[:, None].expand(3, 64).contiguous().cuda()
    y = torch.full_like(x, torch.nan)
    kernel(x, y, 0.37)
    assert torch.equal(y, torch.full_like(x, VALUES[value]))


@pytest.mark.parametrize("n", [250, 9000])
def test_losses_and_softmax_of_rows_of_one_number(n: int) -> None:
    from argus import ops

    numbers = (torch.finfo(torch.float32).min, -1e30, 1.3e30, 2.0)
    x = torch.tensor(numbers)[:, None].expand(4, n).contiguous().cuda()
    t = torch.arange(4, device="cuda")
    loss = ops.cross_entropy(x, t, reduction="none")
    torch.testing.assert_close(loss, torch.full_like(loss, n).log())
    torch.testing.assert_close(ops.softmax(x), torch.full_like(x, 1 / n))
