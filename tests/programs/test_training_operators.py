"""Gradients of operators on kernels alone: beside eager torch, in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport  # noqa: E402
from programs.modules import random  # noqa: E402


def _spelled(x: Any) -> Any:
    """Parts of tensors that are changed in place, through views."""
    made = torch.zeros_like(x)
    made[1:3, ::2] = x[1:3, ::2].relu()
    made.diagonal().mul_(2.0).add_(x.diagonal())
    made.t()[0, :2] = x[0, :2]
    return made * x


def _shared_heads(q: Any, k: Any, v: Any) -> Any:
    attention = functional.scaled_dot_product_attention
    return attention(q, k, v, is_causal=True, enable_gqa=True)


_IMAGE = random(2, 3, 7, 9).round()
_ROWS = random(4, 9)


def _of_rows(weight: Any) -> Any:
    at = torch.arange(12).reshape(3, 4) * 7 % 5
    return functional.embedding(at, weight, padding_idx=2).square()


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "largest": (lambda x: functional.max_pool2d(x, 2), (_IMAGE,)),
    "largest with borders": (lambda x: functional.max_pool2d(x, 3, 2, 1), (_IMAGE,)),
    "largest far apart": (lambda x: functional.max_pool2d(x, 3, 2, 1, 2), (_IMAGE,)),
    "largest in space": (lambda x: functional.max_pool3d(x, 2), (_IMAGE,)),
    "largest of uneven parts": (
        lambda x: functional.adaptive_max_pool2d(x, (3, 4)), (_IMAGE,),
    ),
    "largest of uneven parts in space": (
        lambda x: functional.adaptive_max_pool3d(x, (3, 2, 4)), (_IMAGE,),
    ),
    "means of uneven parts": (
        lambda x: functional.adaptive_avg_pool2d(x, (3, 4)), (_IMAGE,),
    ),
    "means of even parts": (
        lambda x: functional.adaptive_avg_pool2d(x, (7, 3)), (_IMAGE,),
    ),
    "distances": (torch.cdist, (random(2, 5, 6), random(2, 7, 6))),
    "distances of order 3": (
        lambda x, y: torch.cdist(x, y, 3.0), (random(2, 5, 6), random(2, 7, 6)),
    ),
    "norm of order 3": (lambda x: torch.linalg.vector_norm(x, 3, dim=1), (_ROWS,)),
    "rows of a table": (_of_rows, (random(5, 6),)),
    "running extremes": (lambda x: x.cummax(1)[0], (_ROWS,)),
    "running exponentials": (lambda x: x.logcumsumexp(1), (_ROWS,)),
    "sorted": (lambda x: x.sort(1)[0], (_ROWS,)),
    "parts with steps": (
        lambda x: functional.silu(x[:, ::2]) * x[:, 1::2], (_ROWS[:, 1:],),
    ),
    "in place through views": (_spelled, (_ROWS,)),
    "shared heads": (
        _shared_heads, (random(2, 4, 9, 8), random(2, 2, 9, 8), random(2, 2, 9, 8) * 2),
    ),
    "bilinear": (
        functional.bilinear, (random(4, 5), random(4, 6), random(3, 5, 6)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_torch(name: str) -> None:
    function, given = GRADIENTS[name]
    reports: list[GraphReport] = []
    options = {"interpret": True, "report": reports.append}
    torch._dynamo.reset()
    faster = torch.compile(function, backend="argus", options=options)
    gradients: list[list[Any]] = []
    for called in (function, faster):
        inputs = [x.detach().clone().requires_grad_() for x in given]
        made = called(*inputs)
        factors = torch.linspace(0.5, 1.5, made.numel()).view(made.shape)
        (made * factors).sum().backward()
        gradients.append([made.detach(), *(x.grad for x in inputs)])
    for wanted, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert [r.role for r in reports] == ["forward", "backward"]
    assert not any(r.left or r.whole for r in reports), [str(r) for r in reports]
