"""What a function does with a tensor that requires a gradient: give it, or refuse."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from argus import ops
from argus.diagnostics import ArgusError
from argus.kernels.attention_backward.op import OPERATORS
from argus.kernels.library import parts


def _drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape).bfloat16().requires_grad_()


@pytest.fixture(autouse=True)
def unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proved elsewhere."""
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(0)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_has_gradients(causal: bool) -> None:
    q, k, v = _drawn(1, 2, 70, 64), _drawn(1, 1, 70, 64), _drawn(1, 1, 70, 64)
    exact = [t.detach().double().requires_grad_() for t in (q, k, v)]
    out = ops.attention(q, k, v, causal=causal, scale=0.1)
    wanted: Any = scaled_dot_product_attention(
        exact[0], exact[1], exact[2], is_causal=causal, enable_gqa=True, scale=0.1
    )
    scale = torch.randn(out.shape)
    (out * scale).sum().backward()
    (wanted * scale).sum().backward()
    pairs = [(out, wanted)]
    pairs += [(t.grad, e.grad) for t, e in zip((q, k, v), exact, strict=True)]
    for found, want in pairs:
        assert found is not None
        assert (found.detach() - want.detach()).norm() < 8e-3 * want.detach().norm()


def test_attention_is_an_operator_as_torch_wants_them() -> None:
    forward, backward = OPERATORS
    q, k, v = _drawn(1, 2, 20, 32), _drawn(1, 1, 30, 32), _drawn(1, 1, 30, 32)
    torch.library.opcheck(forward.operator, (q, k, v, False, 0.2))
    given = [t.detach() for t in (q, k, v)]
    out, logs = forward(*given, False, 0.2)
    torch.library.opcheck(backward.operator, (out, *given, out, logs, False, 0.2))


def test_a_compiled_program_takes_attention_whole() -> None:
    def program(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return ops.attention(2 * q, k, v).square().sum()

    given = _drawn(1, 2, 20, 32), _drawn(1, 1, 30, 32), _drawn(1, 1, 30, 32)
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(*given), given)
    wanted = torch.autograd.grad(program(*given), given)
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).norm() <= 1e-2 * b.norm()


@pytest.mark.parametrize("given", [{"window": 8}, {"softcap": 1.0}, {"d": 256}])
def test_attention_without_a_gradient_is_refused(given: dict[str, Any]) -> None:
    d = given.pop("d", 32)
    q = _drawn(1, 2, 20, d)
    with pytest.raises(ArgusError, match="AG0801"):
        ops.attention(q, q, q, **given)
    with torch.no_grad():
        assert not ops.attention(q, q, q, **given).requires_grad


@pytest.mark.parametrize("size", [(24, 40, 16), (35, 13, 27)])
@pytest.mark.parametrize("turned", [False, True])
def test_products_have_gradients(size: tuple[int, int, int], turned: bool) -> None:
    m, n, k = size
    a = _drawn(k, m).detach().T.requires_grad_() if turned else _drawn(m, k)
    b, bias, residual = _drawn(n, k), _drawn(n), _drawn(m, n)
    given = (a, b, bias, residual)
    exact = [t.detach().double().requires_grad_() for t in given]
    scale = torch.randn(m, n)
    out = ops.gemm(a, b, bias, residual)
    wanted = exact[0] @ exact[1].T + exact[2] + exact[3]
    found = torch.autograd.grad((out * scale).sum(), given)
    want = torch.autograd.grad((wanted * scale).sum(), exact)
    for one, other in zip((out, *found), (wanted, *want), strict=True):
        assert (one - other).norm() < 8e-3 * other.norm()
    torch.library.opcheck(torch.ops.argus.gemm.default, given)


def test_batches_of_products_have_gradients() -> None:
    a, b = _drawn(3, 16, 24), _drawn(3, 40, 24)
    exact = [t.detach().double().requires_grad_() for t in (a, b)]
    out, wanted = ops.batched_gemm(a, b), exact[0] @ exact[1].mT
    scale = torch.randn(out.shape)
    found = torch.autograd.grad((out * scale).sum(), (a, b))
    want = torch.autograd.grad((wanted * scale).sum(), exact)
    for one, other in zip((out, *found), (wanted, *want), strict=True):
        assert (one - other).norm() < 8e-3 * other.norm()
    torch.library.opcheck(torch.ops.argus.batched_gemm.default, (a, b))


def test_a_compiled_program_takes_products_whole() -> None:
    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = ops.gemm(2 * a, b)
        return ops.batched_gemm(c[None], c[None]).square().sum()

    given = _drawn(24, 40), _drawn(16, 40)
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(*given), given)
    wanted = torch.autograd.grad(program(*given), given)
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).norm() <= 1e-2 * b.norm()


def test_products_without_a_gradient_are_refused() -> None:
    a, b = _drawn(8, 8), _drawn(8, 8)
    with pytest.raises(ArgusError, match="AG0801"):
        ops.gemm(a, b, activation="relu")
    with pytest.raises(ArgusError, match="AG0801"):
        ops.gemm(a, b, out=torch.empty(8, 8).bfloat16())
    with pytest.raises(ArgusError, match="AG0801"):
        ops.gemm(a.float(), b.float())


PLAIN = [n for p in parts("op") if not hasattr(p, "OPERATORS") for n in p.__all__]


@pytest.mark.parametrize("name", PLAIN)
def test_no_function_drops_a_gradient(name: str) -> None:
    x = _drawn(4, 4)
    with pytest.raises(ArgusError, match=f"ops.{name} has no gradient"):
        getattr(ops, name)(x)
    with pytest.raises(ArgusError, match="has no gradient"):
        getattr(ops, name)(weights=x)
    with torch.no_grad(), pytest.raises(TypeError):
        getattr(ops, name)(wrong=x)
