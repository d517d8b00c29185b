"""Row norms on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.calls import launch
from argus.kernels.norms import kernel
from argus.kernels.norms.rows import row_statics

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["rmsnorm", "softmax"]


def softmax(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax along the last axis of x (M, N); see ``kernel.py``."""
    import torch

    out = torch.empty_like(x) if out is None else out
    launch(kernel.softmax, (x, out), row_statics(x.shape[-1], 8 * x.element_size()))
    return out


def rmsnorm(
    x: Tensor, weight: Tensor, eps: float = 1e-6, out: Tensor | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + eps) * weight`` over the rows of x (M, N)."""
    import torch

    out = torch.empty_like(x) if out is None else out
    statics = row_statics(x.shape[-1], 8 * x.element_size())
    launch(kernel.rmsnorm, (x, weight, out, eps), statics)
    return out
