"""Row norms on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.calls import launch
from argus.kernels.norms.entry import RMSNORM_FORMS, SOFTMAX_FORMS

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["rmsnorm", "softmax"]


def softmax(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax along the last axis of x (M, N); any number of columns."""
    import torch

    out = torch.empty_like(x) if out is None else out
    kernel, statics = SOFTMAX_FORMS.choose(x.shape[-1], 8 * x.element_size())
    launch(kernel, (x, out), statics)
    return out


def rmsnorm(
    x: Tensor, weight: Tensor, eps: float = 1e-6, out: Tensor | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + eps) * weight`` over the rows of x (M, N)."""
    import torch

    out = torch.empty_like(x) if out is None else out
    kernel, statics = RMSNORM_FORMS.choose(x.shape[-1], 8 * x.element_size())
    launch(kernel, (x, weight, out, eps), statics)
    return out
