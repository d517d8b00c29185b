"""Discrete Fourier transforms as products with tables of roots of unity.

Of a length n = a * b they are transforms of length a of each b-th element, turned, and
of length b of what these give: two products of few columns, where one would have n. A
complex number is a pair of floats, so that each is one product of real numbers.

Of floats of 64 bits, of lengths that have a long prime, and where products are of fewer
bits (TF32), which cuFFT's are not, they stay in torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, pi, prod, sqrt
from typing import Any

__all__ = ["fourier_decompositions"]

_SHORT = 64
"""Up to here a transform is one product."""
_WHOLE = 256
"""So long is one product that is not of two such lengths."""
_BY_ROOT, _BY_LENGTH = 1, 2


def fourier_decompositions() -> dict[Any, Callable[..., Any]]:
    """Formulas by the operator that they are."""
    import torch

    aten = torch.ops.aten
    return {
        aten._fft_c2c.default: _complex,
        aten._fft_r2c.default: _of_real,
        aten._fft_c2r.default: _to_real,
    }


def _factors(n: int) -> list[int] | None:
    """Lengths of transforms of which one of ``n`` is made; None: it stays in torch."""
    if n <= _SHORT:
        return [n]
    for one in range(isqrt(n), 1, -1):
        if n % one == 0 and n // one <= _SHORT:
            return [one, n // one]
    return [n] if n <= _WHOLE else None


def _stays(x: Any, lengths: Sequence[int]) -> bool:
    import torch

    exact = x.dtype in (torch.float32, torch.complex64)
    tf32 = torch.backends.cuda.matmul.allow_tf32
    return not exact or bool(tf32) or any(not n or _factors(n) is None for n in lengths)


def _complex(x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    """``x`` (complex) along each of ``dim``."""
    import torch

    lengths = [x.shape[d] for d in dim]
    if _stays(x, lengths):
        return NotImplemented
    pairs = torch.view_as_real(x)
    for d in dim:
        pairs = _along(pairs, d % x.ndim, forward)
    return torch.view_as_complex(pairs * _scale(normalization, lengths))


def _of_real(x: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    """``x`` (real); ``onesided``: the first half of the last of ``dim``, and one."""
    import torch

    lengths = [x.shape[d] for d in dim]
    if _stays(x, lengths):
        return NotImplemented
    last, n = dim[-1] % x.ndim, lengths[-1]
    kept = n // 2 + 1 if onesided else n
    if len(_factors(n) or ()) == 1:
        table = torch.stack(_roots(x, n, n, kept, True), -1).flatten(1)
        pairs = (x.movedim(last, -1) @ table).unflatten(-1, (kept, 2))
        pairs = pairs.movedim(-2, last)
    else:
        pairs = _along(torch.stack([x, torch.zeros_like(x)], -1), last, True)
        pairs = pairs.narrow(last, 0, kept)
    for d in dim[:-1]:
        pairs = _along(pairs, d % x.ndim, True)
    return torch.view_as_complex((pairs * _scale(normalization, lengths)).contiguous())


def _to_real(x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """The real numbers, of which ``x`` (complex) is the one-sided transform."""
    import torch

    n, last = last_dim_size, dim[-1] % x.ndim
    lengths = [*(x.shape[d] for d in dim[:-1]), n]
    if _stays(x, lengths):
        return NotImplemented
    pairs = torch.view_as_real(x)
    for d in dim[:-1]:
        pairs = _along(pairs, d % x.ndim, False)
    kept = n // 2 + 1
    pairs = pairs.narrow(last, 0, kept).movedim(last, -2)
    if len(_factors(n) or ()) == 1:
        cos, sin = _roots(x, n, kept, n, True)
        at = torch.arange(kept, device=x.device)
        # What is left out are the same numbers, conjugate.
        twice = torch.where((at == 0) | (2 * at == n), 1.0, 2.0)[:, None]
        table = torch.stack([cos * twice, sin * twice], 1).flatten(0, 1)
        found = pairs.flatten(-2) @ table
    else:
        rest = pairs.narrow(-2, 1, n - kept).flip(-2)
        rest = torch.stack([rest[..., 0], -rest[..., 1]], -1)
        first = torch.stack(
            [pairs[..., :1, 0], torch.zeros_like(pairs[..., :1, 0])], -1
        )
        whole = torch.cat([first, pairs.narrow(-2, 1, kept - 1), rest], -2)
        found = _last(whole, False)[..., 0]
    return found.movedim(-1, last) * _scale(normalization, lengths)


def _scale(normalization: int, lengths: Sequence[int]) -> float:
    n = prod(lengths)
    if normalization == _BY_ROOT:
        return 1 / sqrt(n)
    return 1 / n if normalization == _BY_LENGTH else 1.0


def _along(pairs: Any, dim: int, forward: bool) -> Any:
    """Transforms of pairs (..., 2) along an axis."""
    return _last(pairs.movedim(dim, -2), forward).movedim(-2, dim)


def _last(pairs: Any, forward: bool) -> Any:
    """Transforms of pairs (..., n, 2)."""
    import torch

    n = pairs.shape[-2]
    found = _factors(n) or [n]
    if len(found) == 1:
        return _short(pairs, forward)
    a, b = found
    inner = pairs.unflatten(-2, (a, b)).transpose(-3, -2)
    inner = _short(inner, forward)  # (..., b, a, 2)
    cos, sin = _roots(pairs, n, b, a, forward)
    real, imaginary = inner[..., 0], inner[..., 1]
    turned = torch.stack(
        [real * cos - imaginary * sin, real * sin + imaginary * cos], -1
    )
    outer = _short(turned.transpose(-3, -2), forward)  # (..., a, b, 2)
    return outer.transpose(-3, -2).flatten(-3, -2)


def _short(pairs: Any, forward: bool) -> Any:
    """The same as one product."""
    import torch

    n = pairs.shape[-2]
    cos, sin = _roots(pairs, n, n, n, forward)
    table = torch.stack(
        [torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], 1
    ).reshape(2 * n, 2 * n)
    return (pairs.flatten(-2) @ table).unflatten(-1, (n, 2))


def _roots(x: Any, n: int, rows: int, columns: int, forward: bool) -> tuple[Any, Any]:
    """Cosines and sines of ``2 pi i j / n`` for i below ``rows``, j below ``columns``.

    Of the negative angle where it goes ``forward``. Of angles in 64 bits, and what is 0
    is 0, so that sums of real numbers have no imaginary part, nor an angle of it.
    """
    import torch

    i = torch.arange(rows, device=x.device)[:, None]
    j = torch.arange(columns, device=x.device)
    turns = i * j % n
    angle = turns.double() * ((-2 if forward else 2) * pi / n)
    cos = torch.where(4 * turns % (2 * n) == n, 0.0, torch.cos(angle))
    sin = torch.where(2 * turns % n == 0, 0.0, torch.sin(angle))
    return cos.float(), sin.float()
