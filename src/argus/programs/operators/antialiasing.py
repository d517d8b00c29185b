"""Images in another size by means of what a pixel covers: `antialias=True`.

Each dimension is a product with a matrix of shares, which sizes alone decide; the
gradient is the product with its transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

_CUBIC = -0.5
"""The coefficient of the bicubic filter, as torch has it for images that shrink."""


def antialiasing_decompositions() -> dict[Any, Callable[..., Any]]:
    """Formulas by the operator of torch that they are."""
    import torch

    aten = torch.ops.aten
    return {
        aten._upsample_bilinear2d_aa.default: partial(_resized, _linear, 1),
        aten._upsample_bilinear2d_aa_backward.default: partial(_backward, _linear, 1),
        aten._upsample_bicubic2d_aa.default: partial(_resized, _cubic, 2),
        aten._upsample_bicubic2d_aa_backward.default: partial(_backward, _cubic, 2),
    }


_Filter = Callable[[Any], Any]


def _resized(
    share: _Filter, reach: int, x: Any, size: Sequence[int], aligned: bool,
    *scales: float | None,
) -> Any:  # fmt: skip
    if not x.dtype.is_floating_point:
        return NotImplemented
    tall, wide = _matrices(share, reach, x, x.shape[2:], size, aligned, scales)
    return (tall @ (x.to(wide.dtype) @ wide.mT)).to(x.dtype)


def _backward(
    share: _Filter, reach: int, gradient: Any, size: Sequence[int],
    given: Sequence[int], aligned: bool, *scales: float | None,
) -> Any:  # fmt: skip
    tall, wide = _matrices(share, reach, gradient, given[2:], size, aligned, scales)
    return (tall.mT @ (gradient.to(wide.dtype) @ wide)).to(gradient.dtype)


def _matrices(
    share: _Filter, reach: int, like: Any, given: Sequence[int], size: Sequence[int],
    aligned: bool, scales: Sequence[float | None],
) -> list[Any]:  # fmt: skip
    """(result, given) for each of two dimensions: shares, which add up to 1."""
    import torch

    kind = torch.promote_types(like.dtype, torch.float32)
    found: list[Any] = []
    for n, m, told in zip(given, size, (*scales, None, None), strict=False):
        if aligned:
            scale = (n - 1) / (m - 1) if m > 1 else 0.0
        else:
            scale = 1 / told if told is not None and told > 0 else n / m
        wide = max(scale, 1.0)
        middle = scale * (torch.arange(m, device=like.device, dtype=kind) + 0.5)
        at = torch.arange(n, device=like.device, dtype=kind)[None]
        first = torch.floor((middle - reach * wide + 0.5).clamp_min(0))[:, None]
        end = torch.floor(middle + reach * wide + 0.5)[:, None]
        part = share((at - middle[:, None] + 0.5) / wide)
        part = torch.where((at >= first) & (at < end), part, 0.0)
        found.append(part / part.sum(1, keepdim=True))
    return found


def _linear(at: Any) -> Any:
    return (1 - at.abs()).clamp_min(0)


def _cubic(at: Any) -> Any:
    import torch

    x, a = at.abs(), _CUBIC
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))
