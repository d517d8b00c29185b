"""Gradients of attention are those of torch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from argus.kernels.attention.kernel import attention_training  # noqa: E402
from argus.kernels.attention_backward.kernel import (  # noqa: E402
    attention_backward_keys,
    attention_backward_queries,
    attention_backward_sums,
)

SMALL = {"BQ": 64, "BT": 64, "WARPGROUPS": 1, "REGISTERS": 0}


@pytest.mark.parametrize(
    ("sizes", "causal"),
    [((1, 4, 2, 70, 100, 64), True), ((2, 2, 1, 65, 33, 32), False)],
)
def test_gradients_are_those_of_torch(
    sizes: tuple[int, ...], causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(0)
    b, h, g, s, t, d = sizes
    shapes = ((b, h, s, d), (b, g, t, d), (b, g, t, d), (b, h, s, d))
    q, k, v, do = (torch.randn(x).bfloat16() for x in shapes)
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    keys, values = (x.repeat_interleave(h // g, 1) for x in exact[1:])
    scores = exact[0] @ keys.mT * 0.5
    if causal:
        seen = torch.ones(s, t, dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    (scores.softmax(-1) @ values).backward(do.double())

    out, sums, logs = torch.empty_like(q), torch.empty(b, h, s), torch.empty(b, h, s)
    statics = {"D": d, "CAUSAL": causal, **SMALL}
    attention_training(q, k, v, out, logs, 0.5, **statics)
    torch.testing.assert_close(
        logs.double(), scores.logsumexp(-1), rtol=1e-4, atol=1e-4
    )
    attention_backward_sums(out, do, sums, D=d)
    found = [torch.empty_like(x) for x in (q, k, v)]
    read = (q, k, v, do, logs, sums)
    attention_backward_queries(*read, found[0], 0.5, **statics)
    attention_backward_keys(*read, *found[1:], 0.5, **statics)
    for got, wanted in zip(found, exact, strict=True):
        assert wanted.grad is not None
        error = (got.double() - wanted.grad).norm() / wanted.grad.norm()
        assert error < 8e-3
