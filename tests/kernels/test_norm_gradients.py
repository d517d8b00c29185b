"""Gradients of plain norms and of softmax, interpreted: beside torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from argus import ops
from argus.diagnostics import ArgusError
from few import few

Function = Callable[..., torch.Tensor]


def _ours(name: str) -> Function:
    return getattr(ops, name)


def _torch_s(name: str, *given: Any) -> torch.Tensor:
    x, *rest = given
    n = (x.shape[-1],)
    if name == "softmax":
        return torch.softmax(x, -1)
    if name == "rmsnorm":
        return rms_norm(x, n, *rest, 1e-6)
    return layer_norm(x, n, *rest, 1e-5)


def _given(name: str, m: int, n: int, dtype: torch.dtype) -> list[torch.Tensor]:
    made = torch.Generator().manual_seed(m + n)
    count = {"softmax": 0, "rmsnorm": 1, "layernorm": 2}[name]
    shapes = [(m, n), *[(n,)] * count]
    drawn = (torch.randn(s, generator=made).to(dtype) for s in shapes)
    return [t.requires_grad_() for t in drawn]


NORMS = ["rmsnorm", "layernorm", "softmax"]


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(
    ("m", "n", "dtype"),
    [(5, 7, torch.float32), (40, 64, torch.bfloat16), (3, 20000, torch.float32)],
    ids=str,
)
def test_gradients_are_torch_s(
    name: str, m: int, n: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
    given = _given(name, m, n, dtype)
    if n > 16384 and name != "softmax":
        with pytest.raises(ArgusError, match="longer than 16384"):
            _ours(name)(*given)
        with torch.no_grad():
            assert _ours(name)(*given).grad_fn is None
        return
    torch.manual_seed(3)
    y = _ours(name)(*given)
    exact = [t.detach().double().requires_grad_() for t in given]
    wanted = _torch_s(name, *exact)
    scale = torch.randn(m, n)
    (y * scale).sum().backward()
    (wanted * scale.double()).sum().backward()
    most = 1e-2 if dtype == torch.bfloat16 else 1e-5
    pairs = [
        (y, wanted),
        *((g.grad, e.grad) for g, e in zip(given, exact, strict=True)),
    ]
    for found, want in pairs:
        assert found is not None and want is not None
        error = (found.detach().double() - want.detach()).norm()
        assert error <= most * want.detach().norm()


@pytest.mark.parametrize("name", NORMS)
def test_without_a_gradient_nothing_is_kept(name: str) -> None:
    given = _given(name, 2, 64, torch.float32)
    with torch.no_grad():
        made = _ours(name)(*given)
    plain = _ours(name)(*(t.detach() for t in given))
    assert made.grad_fn is None and plain.grad_fn is None
    assert torch.equal(made, plain)
    out = torch.empty_like(plain)
    with pytest.raises(ArgusError, match="has no gradient"):
        _ours(name)(*given, out=out)
    assert _ours(name)(*(t.detach() for t in given), out=out) is out


# The one with the most arguments, and the one with the fewest.
@pytest.mark.parametrize("name", few(NORMS, "layernorm", "softmax"))
def test_torch_compile_takes_them_as_operators(name: str) -> None:
    given = _given(name, 3, 64, torch.float32)
    again = [t.detach().requires_grad_() for t in given]
    compiled: Any = torch.compile(_ours(name), backend="aot_eager", fullgraph=True)
    compiled(*given).square().sum().backward()
    _ours(name)(*again).square().sum().backward()
    for a, b in zip(given, again, strict=True):
        assert a.grad is not None and b.grad is not None
        assert torch.allclose(a.grad, b.grad)


def test_softmax_is_an_operator_as_torch_wants_them() -> None:
    from argus.kernels.norms.op import SOFTMAX, SOFTMAX_BACKWARD

    x = torch.randn(3, 40).requires_grad_()
    torch.library.opcheck(SOFTMAX.operator, (x,))
    y = x.detach().softmax(-1)
    torch.library.opcheck(SOFTMAX_BACKWARD.operator, (y, torch.randn(3, 40)))
