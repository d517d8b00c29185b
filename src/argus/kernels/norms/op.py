"""Row norms on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.norms.entry import RMSNORM_FORMS, SOFTMAX_FORMS
from argus.kernels.tensors import multiprocessors
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["rmsnorm", "softmax"]


def softmax(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax along the last axis of x (M, N); any number of columns."""
    import torch

    out = torch.empty_like(x) if out is None else out
    _softmax((x, out))
    return out


def rmsnorm(
    x: Tensor, weight: Tensor, eps: float = 1e-6, out: Tensor | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + eps) * weight`` over the rows of x (M, N)."""
    import torch

    out = torch.empty_like(x) if out is None else out
    _rmsnorm((x, weight, out, eps))
    return out


def _choose_softmax(
    x: Tensor, out: Tensor
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    return SOFTMAX_FORMS.choose(
        x.shape[0], x.shape[-1], 8 * x.element_size(), multiprocessors(x)
    )


def _choose_rmsnorm(
    x: Tensor, weight: Tensor, out: Tensor, eps: float
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    return RMSNORM_FORMS.choose(
        x.shape[0], x.shape[-1], 8 * x.element_size(), multiprocessors(x)
    )


_softmax = Dispatch(_choose_softmax)
_rmsnorm = Dispatch(_choose_rmsnorm)
