"""Images that are read anywhere: `grid_sample`, as a formula of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

_NEAREST = 1
CUBIC = 2
_BORDER, _REFLECTION = 1, 2
_CUBIC = -0.75
"""The coefficient of the bicubic filter, as torch has it where nothing shrinks."""


def sampled_plane(x: Any, grid: Any, *how: Any) -> Any:
    """Torch's own decomposition, but for 16 bits: places need more of them."""
    import torch
    from torch import _decomp

    operator = torch.ops.aten.grid_sampler_2d.default
    formula: Any = vars(_decomp)["decomposition_table"][operator]
    return _in_f32(formula, x, grid, *how)


def _in_f32(formula: Callable[..., Any], x: Any, grid: Any, *how: Any) -> Any:
    """A formula of images and places of 16 bits, rounded once as torch's kernel is."""
    if x.dtype.itemsize > 2:
        return formula(x, grid, *how)
    return formula(x.float(), grid.float(), *how).to(x.dtype)


def sampled(x: Any, grid: Any, mode: int, padding: int, aligned: bool) -> Any:
    """``x`` (N, C, *in) at the places ``grid`` (N, *out, dims), whose last is first.

    In modes 0 (between the corners around a place), 1 (the nearest element) and, of
    planes, 2 (cubic between four elements along each dimension).
    """
    return _in_f32(_sampled, x, grid, mode, padding, aligned)


def _sampled(x: Any, grid: Any, mode: int, padding: int, aligned: bool) -> Any:
    import torch

    sizes = x.shape[2:]
    at = [
        _unscaled(grid[..., len(sizes) - 1 - d], n, aligned)
        for d, n in enumerate(sizes)
    ]
    flat = x.flatten(2)
    if mode == CUBIC:
        return _cubic(flat, sizes, at, padding, aligned)
    at = [_inside(a, n, padding, aligned) for a, n in zip(at, sizes, strict=True)]
    if mode == _NEAREST:
        return _corner(flat, sizes, [torch.round(a) for a in at])
    low = [torch.floor(a) for a in at]
    total = None
    for ends in product((0, 1), repeat=len(sizes)):
        share = None
        for a, below, end in zip(at, low, ends, strict=True):
            one = a - below if end else below + 1 - a
            share = one if share is None else share * one
        corner = _corner(flat, sizes, [b + e for b, e in zip(low, ends, strict=True)])
        part = corner * share.unsqueeze(1)  # type: ignore[union-attr]
        total = part if total is None else total + part
    return total


def _cubic(
    flat: Any, sizes: Sequence[int], at: Sequence[Any], padding: int, aligned: bool
) -> Any:
    """A product with the share that each element of a plane has in each place.

    It is what is differentiated: sixteen elements, each looked up by itself, would be
    as many searches among all places.
    """
    shape = at[0].shape
    tall, wide = (
        _cubic_row(a.reshape(shape[0], -1), n, padding, aligned)
        for a, n in zip(at, sizes, strict=True)
    )
    shares = (tall.unsqueeze(-1) * wide.unsqueeze(-2)).flatten(2)
    return (flat @ shares.mT).reshape(*flat.shape[:2], *shape[1:])


def _cubic_row(at: Any, n: int, padding: int, aligned: bool) -> Any:
    """(N, places, n): shares of ``n`` elements, four of which are not 0."""
    import torch

    low = torch.floor(at).detach()
    steps = torch.arange(4, device=at.device, dtype=at.dtype)
    near = _inside(low.unsqueeze(-1) + (steps - 1), n, padding, aligned)
    share = torch.stack(_cubic_shares(at - low), -1)
    own = near.unsqueeze(-1) == torch.arange(n, device=at.device)
    return torch.where(own, share.unsqueeze(-1), 0.0).sum(-2)


def _cubic_shares(t: Any) -> tuple[Any, ...]:
    """Of the elements at -1, 0, 1 and 2 in what lies at ``t`` from 0 to 1."""

    def near(x: Any) -> Any:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _unscaled(place: Any, n: int, aligned: bool) -> Any:
    """Places from -1 to 1 as positions among ``n`` elements."""
    return (place + 1) * ((n - 1) / 2) if aligned else ((place + 1) * n - 1) / 2


def _inside(at: Any, n: int, padding: int, aligned: bool) -> Any:
    """Positions that are moved to where ``n`` elements are, but for zeros around."""
    import torch

    if padding == _REFLECTION:
        low, span = (0.0, n - 1) if aligned else (-0.5, n)
        if not span:
            at = torch.zeros_like(at)
        else:
            away = (at - low).abs()
            times = torch.floor(away / span)
            extra = away - times * span
            odd = times - 2 * torch.floor(times / 2)
            at = torch.where(odd == 0, extra + low, span + low - extra)
    if padding in (_BORDER, _REFLECTION):  # at an end, places have no gradient
        at = torch.where(at > 0, torch.where(at < n - 1, at, n - 1.0), 0.0)
    return at


def _corner(flat: Any, sizes: Sequence[int], at: Sequence[Any]) -> Any:
    """Elements of ``flat`` (N, C, in) at whole positions; outside of it 0."""
    import torch

    seen, place = None, None
    for a, n in zip(at, sizes, strict=True):
        one = (a >= 0) & (a < n)
        seen = one if seen is None else seen & one
        step = a.detach().clamp(0, n - 1).to(torch.int64)
        place = step if place is None else place * n + step
    shape = place.shape  # type: ignore[union-attr]
    table = place.reshape(shape[0], 1, -1)  # type: ignore[union-attr]
    read = flat.gather(2, table.expand(-1, flat.shape[1], -1))
    read = read.reshape(shape[0], flat.shape[1], *shape[1:])
    return torch.where(seen.unsqueeze(1), read, 0.0)  # type: ignore[union-attr]
