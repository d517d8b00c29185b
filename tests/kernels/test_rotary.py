"""Rotary embedding as users call it, interpreted: beside complex numbers, and back."""

from __future__ import annotations

import pytest
import torch

from argus import ops
from argus.diagnostics import ArgusError
from argus.kernels.rotary.op import OPERATORS


def angles(s: int, d: int) -> torch.Tensor:
    rates = 10000 ** (-torch.arange(0, d, 2) / d)
    return torch.arange(s)[:, None] * rates


def turned(x: torch.Tensor, by: torch.Tensor, interleaved: bool) -> torch.Tensor:
    """As numbers of the plane."""
    b, s, h, d = x.shape
    pairs = x.double().reshape(b, s, h, *((d // 2, 2) if interleaved else (2, d // 2)))
    if not interleaved:
        pairs = pairs.transpose(-1, -2)
    plane = torch.view_as_complex(pairs.contiguous())
    unit = torch.polar(torch.ones_like(by), by).to(plane.dtype)
    found = torch.view_as_real(plane * unit[None, :, None, :])
    found = found if interleaved else found.transpose(-1, -2)
    return found.reshape(x.shape)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("s", "h", "d"), [(5, 3, 64), (9, 1, 16), (3, 12, 32)])
def test_it_turns_and_its_gradient_turns_back(
    s: int, h: int, d: int, interleaved: bool
) -> None:
    x, y = torch.randn(2, s, h, d), torch.randn(2, s, h, d)
    by = angles(s, d)
    x.requires_grad_()
    found = ops.rotary(x, by.cos(), by.sin(), interleaved=interleaved)
    wanted = turned(x.detach(), by, interleaved)
    assert torch.allclose(found.double(), wanted, atol=1e-5)
    (found * y).sum().backward()
    assert x.grad is not None
    back = turned(y, -by, interleaved)
    assert torch.allclose(x.grad.double(), back, atol=1e-5)


def test_heads_before_positions() -> None:
    q, k = torch.randn(2, 4, 6, 32).transpose(1, 2), torch.randn(2, 6, 1, 32)
    by = angles(6, 32)
    u, v = ops.rotary_pair(q, k, by.cos(), by.sin())
    assert torch.allclose(u.double(), turned(q, by, False), atol=1e-5)
    assert torch.allclose(v.double(), turned(k, by, False), atol=1e-5)


def test_head_dimensions_that_there_are_not() -> None:
    with pytest.raises(ArgusError, match="AG0801"):
        ops.rotary(torch.zeros(1, 1, 1, 24), torch.zeros(1, 12), torch.zeros(1, 12))


def test_torch_checks_the_operator() -> None:
    by = angles(3, 16)
    x = torch.randn(1, 3, 2, 16, requires_grad=True)
    given = (x, by.cos(), by.sin(), True, False)
    torch.library.opcheck(OPERATORS[0].operator, given)
