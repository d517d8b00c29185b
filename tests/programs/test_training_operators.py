"""Gradients of operators on kernels alone: beside eager torch, in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from argus.programs.backend import GraphReport  # noqa: E402
from few import few  # noqa: E402
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
    at = torch.arange(12, device=weight.device).reshape(3, 4) * 7 % 5
    return functional.embedding(at, weight, padding_idx=2).square()


_PLACES = 1.7 * random(2, 4, 3, 2)
"""Some of them outside of the image."""
_SPACE = (random(1, 2, 3, 4, 5), 1.3 * random(1, 2, 2, 3, 3))


def _sampled(**how: Any) -> Callable[..., Any]:
    return lambda x, at: functional.grid_sample(x, at, **how)


def _resized(size: tuple[int, int], mode: str) -> Callable[..., Any]:
    return lambda x: functional.interpolate(x, size, mode=mode, antialias=True)


def _segments(x: Any) -> Any:
    lengths = torch.tensor([2, 0, 3], device=x.device)
    made = [
        torch.segment_reduce(x, how, lengths=lengths, unsafe=True, initial=first)
        for how, first in (("sum", None), ("mean", 0.5), ("max", -2.0), ("prod", None))
    ]
    return torch.stack(made)


def _lengths(v: Any, g: Any) -> Any:
    return torch._weight_norm(v, g, 1)


def _replicated(x: Any) -> Any:
    one = functional.pad(x, (2, 1, 0, 3), mode="replicate")
    return one[..., :10] + functional.pad(x, (-1, 2, 3, 0), mode="replicate")


def _faked(x: Any) -> Any:
    scales = torch.tensor([0.2, 0.1, 0.3, 0.05], device=x.device)
    zeros = torch.tensor([0, 3, -2, 1], dtype=torch.int32, device=x.device)
    faked = torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -4, 7)
    return faked + torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)


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
    "an image read anywhere": (_sampled(align_corners=False), (_IMAGE, _PLACES)),
    "an image read by cubes": (
        _sampled(align_corners=True, mode="bicubic", padding_mode="reflection"),
        (_IMAGE[:1, :1, :3, :4], _PLACES[:1, :2, :1]),
    ),
    "elements that a mask takes": (
        lambda x, y: x.masked_scatter(_ROWS.to(x.device) > 0, y), (_ROWS, random(6, 6)),
    ),
    "segments": (_segments, (random(5, 3),)),
    "equal extremes of segments": (_segments, (random(5, 3).sign(),)),
    "an image read from its reflection": (
        _sampled(align_corners=False, padding_mode="reflection"), (_IMAGE, _PLACES),
    ),
    "an image read up to its border": (
        _sampled(align_corners=True, padding_mode="border"), (_IMAGE, _PLACES),
    ),
    "the nearest of an image": (
        _sampled(align_corners=True, mode="nearest"), (_IMAGE, _PLACES),
    ),
    "a space read anywhere": (_sampled(align_corners=True), _SPACE),
    "the nearest of a space": (_sampled(align_corners=True, mode="nearest"), _SPACE),
    "means of what a pixel covers": (_resized((4, 12), "bilinear"), (_IMAGE,)),
    "cubic of what a pixel covers": (_resized((5, 4), "bicubic"), (_IMAGE,)),
    "directions with lengths": (_lengths, (random(4, 5, 3), random(1, 5, 1))),
    "borders like the ends": (_replicated, (_IMAGE,)),
    "distances of pairs": (torch.pdist, (_ROWS,)),
    "distances of pairs of order 1": (lambda x: torch.pdist(x, 1.0), (_ROWS,)),
    "as in few bits": (_faked, (_ROWS,)),
    "most frequent": (lambda x: torch.mode((2 * x).round(), 1)[0] * x[:, 0], (_ROWS,)),
    "a diagonal put": (
        lambda x: torch.zeros_like(x).fill_diagonal_(2.0) + x.clone().fill_diagonal_(0),
        (_ROWS,),
    ),
    "bilinear": (
        functional.bilinear, (random(4, 5), random(4, 6), random(3, 5, 6)),
    ),
}  # fmt: skip


TRIED = few(
    GRADIENTS,
    *GRADIENTS.keys() - {
        "largest", "largest far apart", "largest of uneven parts",
        "an image read up to its border", "a space read anywhere",
        "cubic of what a pixel covers", "distances of pairs of order 1",
    },
)  # fmt: skip
"""Those left out have fewer dimensions, or other numbers, than those beside them.

Of images that are read between pixels: a reflection ends at the border. A space has
more corners, and of its own only what finds the places.
"""


@pytest.mark.parametrize("name", TRIED)
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
