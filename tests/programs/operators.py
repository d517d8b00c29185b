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
_MORE_TIES = torch.tensor([[2.0, 1.0, 2.0, nan, 1.0], [1.0, 3.0, -inf, inf, 3.0]])
_WIDE = torch.tensor([7, -7, 0, 123456789012, -123456789013, 2**40 + 1])
_DIVISORS = torch.tensor([3, -3, 5, 7, 7, -3])
_AT = torch.tensor([[0, 2, 1, 2], [4, 4, 0, 1]])
_ROWS = torch.tensor([2, 0, 2])
_POOLED = random(2, 3, 7, 9).round() + 0.0  # no -0.0
_POOLED[0, 0, 2, 3:5] = nan
_POOLED[1, 1] = -inf
_NONE = torch.where(torch.tensor([[True], [False]]), -inf, random(2, 7))


def _quotients(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Of numbers that no float of 32 bits has."""
    return (
        torch.div(x, y, rounding_mode="trunc"),
        torch.div(x, -3, rounding_mode="trunc"),
        torch.div(x, y, rounding_mode="floor"),
        torch.div(2**40 + 1, y, rounding_mode="trunc"),
        torch.div(x.float(), y, rounding_mode="trunc"),
    )


def _bits(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.bitwise_left_shift(x, 2), torch.bitwise_right_shift(x, 1),
        torch.bitwise_left_shift(3, y), torch.bitwise_right_shift(-100, y),
        torch.bitwise_and(5, x), torch.bitwise_or(6, x), torch.bitwise_xor(7, x),
        torch.remainder(17, x * 2 + 1),
    )  # fmt: skip


def _with_positions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        *functional.max_pool2d(x, 3, 2, 1, return_indices=True),
        *functional.max_pool2d(x, 2, 1, 0, 2, True, return_indices=True),
        *functional.max_pool3d(x, (2, 3, 3), 2, 1, return_indices=True),
        *functional.adaptive_max_pool2d(x, (3, 4), return_indices=True),
        *functional.adaptive_max_pool2d(x, (7, 3), return_indices=True),
    )


def _uneven(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        functional.adaptive_avg_pool2d(x, (3, 4)),
        functional.adaptive_avg_pool3d(x, (2, 7, 10)),
        functional.interpolate(x, size=(5, 4), mode="area"),
    )


def _norms(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    orders = (0, 1, 2, 3, 0.5, inf, -inf)
    return tuple(torch.linalg.vector_norm(x, o, dim=1) for o in orders)


def _replaced(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.slice_scatter(x, x[:, :3] + 1, 1, 2, 9, 3),
        torch.diagonal_scatter(x, x[:, 0]),
        torch.diagonal_scatter(x, x[:2, 0], -1),
        torch.diagonal_scatter(x[None] * 2, x[:1, :3], 0, 1, 2),
    )


def _nothing(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    none = x[:, :0]
    return (
        none.sum(1), none.prod(1), none.mean(1), (none > 0).all(1), x[:0].sum(),
        none @ x[:0, :0].reshape(0, 4) + 1,
    )  # fmt: skip


def _repeated(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wide, one = x[:, None].expand(3, 4, 9), x[:, :1].expand(3, 9)
    return (
        wide.cumsum(1), wide.flip(1).cumsum(1).flip(1), one.cumsum(1), one.cumsum(0),
        wide.sum(1), one.prod(1), one.argmax(1), wide.amax(1), one.softmax(1),
        torch.ones(3, 4).cumsum(1), x.repeat(2, 3), x[0].repeat(4, 1),
    )  # fmt: skip


def _bordered_ones(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    ones = functional.pad(torch.ones(1, 7), (2, 0))
    counted = functional.pad(torch.arange(7), (2, 0), value=-3)
    return (
        x + ones,
        x[:, :9] * ones,
        torch.slice_scatter(ones, x[:1, :3], 1, 4, 7),
        (counted + x),
    )


def _of_one_number(
    x: torch.Tensor, t: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return (
        x.scatter(0, t, x + 1), x.index_select(0, t), x.scatter_add(0, t, x * 3),
        x.index_add(0, t, x), y.scatter(0, t, y[0]), x.scatter(0, t, 7.0),
    )  # fmt: skip


def _products(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wide = x[:, None].expand(3, 4, 9).reshape(12, 9)
    return wide @ wide.T, wide @ (wide + 1).T, (wide @ torch.ones(9, 12)) * x[0, 0]


def _nearest(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    image = x[None, None]
    return (
        functional.interpolate(image, size=(5, 7)),
        functional.interpolate(image, scale_factor=1.7),
        functional.interpolate(image, scale_factor=(2, 0.5)),
        functional.interpolate(x[None], size=18),
    )


def _bags(
    t: torch.Tensor, weight: torch.Tensor, factors: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return (
        functional.embedding_bag(t, weight, mode="mean"),
        functional.embedding_bag(t, weight, mode="sum", per_sample_weights=factors),
    )


def _padded_bags(t: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Of positions that do not count; and of nothing else."""
    return (
        functional.embedding_bag(t, weight, mode="max"),
        *(
            functional.embedding_bag(t, weight, mode=mode, padding_idx=2)
            for mode in ("sum", "mean", "max")
        ),
    )


def _strided(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Parts that are written by strides, with gaps, along two dimensions."""
    scattered = torch.as_strided_scatter
    return (
        scattered(x, y[:2, :2], (2, 2), (14, 3), 1),
        scattered(x, y[:2, :3], (2, 3), (2, 9), 5),
        scattered(x, y[0, :4], (4,), (7,), 0),
        torch.ones(7, 3).fill_diagonal_(5.0, wrap=True) * x[0, 0],
    )


def _cut(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Borders of own elements beside what is cut off."""
    return tuple(
        functional.pad(x[None], widths, mode=mode)
        for mode in ("reflect", "replicate")
        for widths in ((-1, 2, 3, -1), (-2, -3, -1, 0), (2, -4, 0, 1))
    )


def _chosen_beside_borders(
    x: torch.Tensor, t: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Rows and elements of what has a border, or was put together."""
    wide = functional.pad(x, (1, 2))
    return (
        functional.pad(x, (0, 0, 0, 1))[t],
        functional.embedding(t, functional.pad(x.T, (0, 0, 1, 0), value=2.0)),
        wide.gather(1, t[:, None] + torch.tensor([0, 3, 8])),
        wide[:, t],
        wide[t],
        x.flip(1)[t],
        x.flip(0)[:, t],
        functional.pad(x[None], (2, 2), mode="reflect")[0].gather(1, t[:, None] + 9),
        x.T.reshape(9, 3)[:, t],
        x.T.reshape(3, 9).gather(1, t[:, None] * 3),
    )


def _margins(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Rows of targets that end at different places."""
    names = torch.tensor([[1, 3, -1, 0, 0], [0, -1, 2, 2, 2], [4, 3, 2, 1, 0]])
    loss = functional.multilabel_margin_loss
    rows = x[:3, :5]
    return tuple(loss(rows, names, reduction=r) for r in ("mean", "sum", "none"))


def _frequent(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    few = x.round().abs()
    return *few.mode(1), *few.long().mode(0, keepdim=True), (x > 0).mode(1)[0]


def _routed(x: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """Tokens go to the two experts of their largest gates, and are added up."""
    weights, chosen = torch.topk(gates.softmax(-1), 2)
    spread = torch.zeros_like(gates).scatter(1, chosen, weights)
    outputs = torch.stack([x * (e + 1) for e in range(gates.shape[1])], 1)
    return (outputs * spread[..., None]).sum(1)


_NEAR = random(7, 9)
"""Of which a multiple is rounded: it is not a multiple then."""

OPERATORS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chosen beside borders": (_chosen_beside_borders, (_X, _ROWS)),
    "bags with padding": (
        _padded_bags,
        (torch.tensor([[0, 2, 1], [2, 2, 2], [1, 1, 2]]), _X),
    ),
    "rows that are filled": (
        lambda x, t: (
            x.index_fill(0, t, 2.0),
            x.T.index_fill(-1, t, -1.0),
            x[::2] + 1,
            x[0, 0].index_fill(0, t[:1] * 0, x[1, 1]),
            x.index_fill(1, t, x[2, 2]),
        ),
        (_X, _ROWS),
    ),
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
    "remainders": (
        lambda x, y: (x.fmod(y), x.remainder(y), x // y, x.fmod(0.3), (-x) // 0.7),
        (
            torch.cat([3 * _NEAR, torch.full((1, 9), 1e30)]),
            torch.cat([_NEAR, _NEAR[:1]]),
        ),
    ),
    "remainders of whole numbers": (
        lambda x, y: (x.fmod(y), x.remainder(y), x // y, x.fmod(-3)),
        (torch.arange(-9, 9), torch.tensor([2, -3, 5] * 6)),
    ),
    "quotients of whole numbers": (_quotients, (_WIDE, _DIVISORS)),
    "bits beside numbers": (_bits, (torch.arange(-9, 9), torch.arange(18) % 7)),
    "hyperbolic": (lambda x: (x.sinh(), x.cosh(), x.isinf()), (_SPECIAL,)),
    "sums of exponentials": (torch.logaddexp, _PAIRS),
    "rounded": (lambda x: x.round(decimals=2), (_X,)),
    "numbers alone": (lambda x: x * torch.full((), 2.0).log2().floor(), (_X,)),
    "one row": (lambda a, b: torch.block_diag(a, b), (random(1, 5), random(2, 5))),
    "rows without any": (torch.ops.aten._safe_softmax, (_NONE, -1)),
    "written by strides": (_strided, (random(4, 9), random(3, 9))),
    "borders that cut off": (_cut, (random(4, 9),)),
    "margins of many labels": (_margins, (random(4, 9),)),
    "most frequent": (_frequent, (random(4, 9),)),
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
    "pooled with positions": (_with_positions, (_POOLED,)),
    "windows of different sizes": (_uneven, (random(2, 3, 7, 9),)),
    "sorted": (
        lambda x: (*x.sort(1), *x.sort(0, True), x.argsort(dim=1, stable=True)),
        (_TIES,),
    ),
    "medians": (
        lambda x: (
            *x.median(1),
            *x.nanmedian(1),
            x.median(),
            x.nanmedian(),
            *x.T.median(1, keepdim=True),
            *torch.tensor(2.0).median(0),
        ),
        (_MORE_TIES,),
    ),
    "running extremes": (
        lambda x: (*x.cummax(1), *x.cummin(0), *x.cummin(1), *(x > 1).cummax(1)),
        (_MORE_TIES,),
    ),
    "running exponentials": (
        lambda x, y: (x.logcumsumexp(1), (40 * y).logcumsumexp(1)),
        (_TIES, _X),
    ),
    "counted": (
        lambda x: (torch.histc(x, 5, -1, 2), torch.histc(x, 7, -3, 3)),
        (torch.cat([_X, torch.tensor([[2.0] * 9])]),),
    ),
    "distances": (
        lambda x, y: tuple(torch.cdist(x, y, p) for p in (0.0, 1.0, 2.0, 3.0, inf)),
        (random(2, 5, 6), random(2, 7, 6)),
    ),
    "norms of any order": (_norms, (_X,)),
    "parts replaced": (_replaced, (_X,)),
    "of no elements": (_nothing, (_X,)),
    "along what is repeated": (_repeated, (_X,)),
    "a border around one number": (_bordered_ones, (_X,)),
    "truth alone": (torch.logical_not, (_X > 0,)),
    "memory of any numbers": (
        lambda x: (torch.empty_like(x).fill_(1) + x, x.new_empty(3).zero_()),
        (_X,),
    ),
    "scattered over one number": (
        _of_one_number,
        (torch.tensor(2.0), torch.tensor(0), random(4)),
    ),
    "products of what is repeated": (_products, (_X,)),
    "nearest": (_nearest, (_X,)),
    "bilinear": (functional.bilinear, (random(4, 5), random(4, 6), random(3, 5, 6))),
    "batches added up": (
        torch.addbmm,
        (random(3, 4), random(2, 3, 5), random(2, 5, 4)),
    ),
    "root mean squares": (lambda x: functional.rms_norm(x, (9,)), (_X,)),
    "masked": (lambda x: x.masked_scatter(x > 0, x.flip(0)), (_X,)),
    "put in a line": (
        lambda x, t, s: (
            torch.ops.aten.put(x, t[:2], s[:2]),
            torch.ops.aten.put(x, t, s, True),
        ),
        (_X, _ROWS, _X[0, :3]),
    ),
    "whole powers": (
        lambda x, y: (x**y, y ** x.abs(), 2**y, x**2, torch.pow(-1, x)),
        (torch.arange(-3, 4), torch.tensor([0, 1, 2, 3, 5, 62, 63])),
    ),
    "bags": (_bags, (torch.tensor([[0, 2, 1], [3, 3, 0]]), random(4, 6), random(2, 3))),
    "error and gamma functions": (
        lambda x, y: (
            torch.erfc(x),
            torch.erfinv(y / 5),
            torch.lgamma(x),
            torch.lgamma(y),
            torch.digamma(y),
            torch.polygamma(1, y),
        ),
        (
            _SPECIAL,
            torch.tensor([0.03, 0.7, 1.0, 1.46, 2.0, 3.3, -0.4, -2.6, 4.99, 7.99, 8.1]),
        ),
    ),
    "Bessel functions": (
        lambda x: (
            torch.i0(x),
            torch.special.i0e(x),
            torch.special.i1(x) / 64,
            torch.special.i1e(x),
        ),
        (torch.cat([_SPECIAL, torch.tensor([-9.5, -8.0, -7.9, 1e-30, 5.1, 8.1])]),),
    ),
    "of one number": (
        lambda x: (
            x.index_select(0, torch.tensor([0])),
            x.gather(0, torch.tensor([0])),
        ),
        (torch.tensor(3.0),),
    ),
    "masked, and repeated": (
        lambda x, m: (x[0].masked_scatter(m, x), x.masked_scatter(m[0], x)),
        (_X, _X > 0),
    ),
    "repeated as told": (
        lambda x, t: torch.repeat_interleave(x, t, dim=0, output_size=6) * 2,
        (_X[:3], torch.tensor([2, 0, 4])),
    ),
    "in segments": (
        lambda x, t: tuple(
            torch.segment_reduce(x, how, lengths=t, unsafe=True, initial=first)
            for how in ("sum", "mean", "max", "min", "prod")
            for first in (None, 0.5)
        ),
        (random(5, 3), torch.tensor([2, 0, 3])),
    ),
    "between two values": (
        lambda x, y, t: (
            x.lerp(y, 1.0),
            x.lerp(y, 0.999),
            x.lerp(y, 0.3),
            x.lerp(y, -0.7),
            x.lerp(y, t),
        ),
        (
            torch.tensor([1e8, 1.0, -torch.inf, 3.0]),
            torch.tensor([1.0, torch.inf, 2.0, -1e8]),
            torch.tensor([1.0, -0.5, 0.7, 0.2]),
        ),
    ),
    "cut to few bits": (
        lambda x: (
            x.to(torch.uint8),
            x.to(torch.int8),
            x.to(torch.int16),
            x.to(torch.int32),
            x.clamp(-128, 127).to(torch.int8),
            x.round().clamp(0, 255).to(torch.uint8),
            x.clamp(max=300).to(torch.int8),
        ),
        (torch.tensor([-50.0, -1.5, 255.0, 256.0, 300.0, -0.5, -200.0, -3e4, 4e4]),),
    ),
    "infinite rows": (
        lambda x, y: (x.logsumexp(1), y.logsumexp((0, 1)), y.logsumexp(0, True)),
        (_NONE, _PAIRS[0]),
    ),
    "numbers without sign": (
        lambda x: (x.sigmoid(), functional.softmax(x, 0, dtype=torch.float32)),
        (torch.tensor([0, 1, 100, 255], dtype=torch.uint8),),
    ),
    "unpooled": (
        lambda x, t: functional.max_unpool2d(x, t, 2),
        (random(1, 1, 2, 2), torch.tensor([[[[0, 3], [9, 14]]]])),
    ),
}
"""Operators, each on its own; scattered entries that collide are in no replacement."""
