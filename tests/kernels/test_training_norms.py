"""Norms with a residual, as users call them, interpreted: beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from argus import ops
from argus.diagnostics import ArgusError
from argus.kernels.training_norms.op import OPERATORS
from few import few, rest


def drawn(m: int, n: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    made = torch.Generator().manual_seed(seed)
    return torch.randn(m, n, generator=made).to(dtype).squeeze(0).requires_grad_()


def close(found: torch.Tensor, wanted: torch.Tensor, most: float) -> None:
    assert found.shape == wanted.shape
    error = (found.double() - wanted.double()).norm()
    assert error <= most * wanted.double().norm(), (found, wanted)


SHORT = (5, 7, torch.float32)
CASES = [
    (*size, added, centred)
    for size in (SHORT, (40, 64, torch.bfloat16), (300, 1000, torch.float32))
    for added in (False, True)
    for centred in (False, True)
]
# Each choice with each other for short rows.
HALF = (40, 64, torch.bfloat16, False, False)
KEPT = [case for case in CASES if case[:3] == SHORT or case == HALF]


@pytest.mark.parametrize(
    ("m", "n", "dtype", "added", "centred"), few(CASES, *KEPT), ids=str
)
def test_it_is_torch_s(
    m: int, n: int, dtype: torch.dtype, added: bool, centred: bool
) -> None:
    x, w, b = drawn(m, n, dtype, 1), drawn(1, n, dtype, 2), drawn(1, n, dtype, 3)
    r = drawn(m, n, dtype, 4) if added else None
    if centred:
        y, h = ops.add_layernorm(x, r, w, b)
    else:
        y, h = ops.add_rmsnorm(x, r, w)
    given = [t for t in (x, w, b, r) if t is not None]
    ex, ew, eb, *er = (t.detach().double().requires_grad_() for t in given)
    eh = ex + er[0] if er else ex
    # Its numbers are those that are stored, its gradient that of the sum.
    eh = eh + (h.detach().double() - eh.detach())
    if centred:
        ey = layer_norm(eh, (n,), ew, eb, 1e-5)
    else:
        ey = rms_norm(eh, (n,), ew, 1e-6)
    most = 8e-3 if dtype == torch.bfloat16 else 1e-5
    close(y.detach(), ey.detach(), most)
    scale = torch.linspace(0.5, 2, m * n).reshape(m, n)
    ((y * scale).sum() + (h * scale).sum()).backward()
    ((ey * scale.double()).sum() + (eh * scale.double()).sum()).backward()
    pairs = [(x, ex), (w, ew), *([(b, eb)] if centred else [])]
    pairs += [(r, er[0])] if r is not None else []
    for found, wanted in pairs:
        assert found.grad is not None and wanted.grad is not None
        close(found.grad, wanted.grad, most)


@pytest.mark.parametrize("centred", [False, *rest(True)])
def test_eight_bits_with_a_scale_for_each_row(centred: bool) -> None:
    x, r = drawn(6, 200, torch.bfloat16, 1), drawn(6, 200, torch.bfloat16, 2)
    w, b = drawn(1, 200, torch.bfloat16, 3), drawn(1, 200, torch.bfloat16, 4)
    x = torch.cat([x.detach(), torch.zeros(1, 200, dtype=x.dtype)])
    r = torch.cat([r.detach(), torch.zeros(1, 200, dtype=x.dtype)])
    b = torch.zeros_like(b)
    if centred:
        (y, scale, h), (wanted, eh) = (
            ops.quantised_layernorm(x, w, b, r),
            ops.add_layernorm(x, r, w, b),
        )
    else:
        (y, scale, h), (wanted, eh) = (
            ops.quantised_rmsnorm(x, w, r),
            ops.add_rmsnorm(x, r, w),
        )
    assert y.dtype == torch.float8_e4m3fn
    assert torch.equal(h, eh)
    assert (y.float().abs().amax(1)[:-1] == 448).all()
    assert not y[-1].float().any()
    close(y.float() * scale[:, None], wanted.detach(), 4e-2)


def test_the_sums_alone_have_a_gradient() -> None:
    x, r, w = (drawn(k, 30, torch.float32, k) for k in (3, 3, 1))
    _, h = ops.add_rmsnorm(x, r, w)
    h.sum().backward()
    assert x.grad is not None and r.grad is not None
    assert (x.grad == 1).all()
    assert (r.grad == 1).all()
    assert w.grad is None


def test_rows_that_are_too_long() -> None:
    with pytest.raises(ArgusError, match="AG0801"):
        ops.add_rmsnorm(torch.zeros(1, 16385), None, torch.zeros(16385))
    y, _ = ops.add_rmsnorm(torch.zeros(0, 16), None, torch.zeros(16))
    assert y.shape == (0, 16)


def test_torch_checks_the_operators() -> None:
    forward, backward = OPERATORS
    x, r, w, b = (drawn(k, 24, torch.float32, k) for k in (4, 4, 1, 1))
    given: tuple[Any, ...] = (x, r, w, b, 1e-5, True, False)
    torch.library.opcheck(forward.operator, given)
    for fewer in rest((x, None, w, None, 1e-5, False, False)):
        torch.library.opcheck(forward.operator, fewer)
    _, h, kept = forward(*(t.detach() for t in (x, r, w, b)), 1e-5, True, False)
    dy = torch.ones_like(h)
    torch.library.opcheck(backward.operator, (h, w.detach(), dy, dy, kept, True))


def test_a_compiled_program_takes_it_whole() -> None:
    def program(x: torch.Tensor, r: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y, h = ops.add_rmsnorm(2 * x, r, w)
        return (y * h).sum()

    x, r, w = (drawn(k, 30, torch.float32, k) for k in (5, 5, 1))
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(x, r, w), (x, r, w))
    wanted = torch.autograd.grad(program(x, r, w), (x, r, w))
    for a, b in zip(found, wanted, strict=True):
        close(a, b, 1e-6)
