"""Roles that drain without a product, and take buffers in turns, come to an end."""

from __future__ import annotations

from typing import Any

import pytest

from verifier.equality.kernels import turns

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(60)]
torch = pytest.importorskip("torch")


def drawn(*shape: int, dtype: Any = None) -> Any:
    return torch.randn(shape, device="cuda", dtype=dtype or torch.bfloat16)


def test_each_other_half_of_many_fills() -> None:
    """Releases by one thread let a warp wait for a completion that was passed."""
    a, b = drawn(1024, 8192), drawn(512, 8192)
    c = drawn(1024, 512)
    for _ in range(20):
        turns.each_other_half(a, b, c)
    wanted = a.float() @ b.float().T
    torch.testing.assert_close(c.float(), wanted, rtol=2e-2, atol=1.0)


def test_some_steps_of_many() -> None:
    a, b = drawn(512, 16384), drawn(256, 16384)
    keep = (torch.rand(16384, device="cuda") < 0.3).int()
    c = drawn(512, 256, dtype=torch.float32)
    for _ in range(20):
        turns.some_steps(a, b, keep, c)
    kept = a.float() * (keep[::64] > 0).repeat_interleave(64)
    torch.testing.assert_close(c, kept @ b.float().T, rtol=1e-3, atol=0.1)


def test_a_buffer_that_two_roles_take_in_turns() -> None:
    x = drawn(1024, 4096, dtype=torch.float32)
    y = torch.zeros_like(x)
    turns.one_buffer(x, y)
    assert torch.equal(y, x * 2)
