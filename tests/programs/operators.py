"""Modules of one operator, by a name: the function, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from programs.modules import random

inf, nan = float("inf"), float("nan")
_SPECIAL = torch.tensor([-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan])
_PAIRS = (_SPECIAL[:, None].expand(10, 10), _SPECIAL.expand(10, 10))
_X = random(3, 9)
_TIES = torch.tensor([[2.0, 1.0, 2.0, nan, 1.0], [0.0, -0.0, -inf, inf, 3.0]])
_AT = torch.tensor([[0, 2, 1, 2], [4, 4, 0, 1]])
_ROWS = torch.tensor([2, 0, 2])
_NONE = torch.where(torch.tensor([[True], [False]]), -inf, random(2, 7))


def _routed(x: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """Tokens go to the two experts of their largest gates, and are added up."""
    weights, chosen = torch.topk(gates.softmax(-1), 2)
    spread = torch.zeros_like(gates).scatter(1, chosen, weights)
    outputs = torch.stack([x * (e + 1) for e in range(gates.shape[1])], 1)
    return (outputs * spread[..., None]).sum(1)


OPERATORS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "power": (torch.pow, _PAIRS),
    "powers of a number": (lambda x: (2.5**x, x**0.75, x**-1.5), (_SPECIAL,)),
    "angles": (torch.atan2, _PAIRS),
    "signs": (
        lambda x, y: (torch.copysign(x, y), torch.signbit(x), torch.fmax(x, y + 0.25)),
        (_SPECIAL[:-1, None].expand(9, 10), _PAIRS[1][:9]),
    ),
    "inverse functions": (
        lambda x: (x.asin(), x.acos(), x.asinh(), (x + 2).acosh(), x.atanh()),
        (torch.linspace(-0.999, 0.999, 31),),
    ),
    "hyperbolic": (lambda x: (x.sinh(), x.cosh(), x.isinf()), (_SPECIAL,)),
    "sums of exponentials": (torch.logaddexp, _PAIRS),
    "rounded": (lambda x: x.round(decimals=2), (_X,)),
    "numbers alone": (lambda x: x * torch.full((), 2.0).log2().floor(), (_X,)),
    "one row": (lambda a, b: torch.block_diag(a, b), (random(1, 5), random(2, 5))),
    "rows without any": (torch.ops.aten._safe_softmax, (_NONE, -1)),
    "by strides": (lambda x: x.as_strided((2, 3), (1, 4), 3), (random(4, 5),)),
    "largest": (lambda x: (*x.topk(3), *x.topk(1, 0, largest=False)), (_X,)),
    "of a rank": (lambda x: x.kthvalue(4, 1), (_X,)),
    "searched": (
        lambda e, x: (torch.bucketize(x, e), torch.searchsorted(e, x, right=True)),
        (torch.tensor([-1.0, 0.0, 0.5]), torch.tensor([[0.0, nan], [-2.0, 0.5]])),
    ),
    "scattered": (lambda x, t, s: x.scatter(1, t[:, :2], s), (_TIES, _AT, _X[:2])),
    "added up": (lambda x, t, s: x.scatter_add(1, t, s), (_TIES, _AT, _X[:2])),
    "combined": (
        lambda x, t, s: tuple(
            x.scatter_reduce(0, t, s, how, include_self=own)
            for how in ("prod", "mean", "amax", "amin")
            for own in (True, False)
        ),
        (random(5, 4), _AT, _X[:2]),
    ),
    "rows added": (lambda x, t, s: x.index_add(0, t, s, alpha=2), (_X, _ROWS, _X)),
    "put": (
        lambda x, t, s: (
            torch.ops.aten.index_put(x, [None, t[:2] - 3], s[:, :2]),
            torch.ops.aten.index_put(x, [t, t], s[0, :3], True),
        ),
        (_X, _ROWS, _X),
    ),
    "put by truth": (
        lambda x: torch.ops.aten.index_put(x, [x > 0], torch.tensor(2.0)),
        (_X,),
    ),
    "routed": (_routed, (random(6, 5), random(6, 4))),
    "unpooled": (
        lambda x, t: functional.max_unpool2d(x, t, 2),
        (random(1, 1, 2, 2), torch.tensor([[[[0, 3], [9, 14]]]])),
    ),
}
"""Operators, each on its own; scattered entries that collide are in no replacement."""
