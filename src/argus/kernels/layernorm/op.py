"""Layer normalisation on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.autograd import followed, without_gradient
from argus.kernels.layernorm.entry import FORMS
from argus.kernels.tensors import multiprocessors
from argus.kernels.training_norms import op as training
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["layernorm"]


def layernorm(
    x: Tensor2,
    weight: Tensor1,
    bias: Tensor1,
    eps: float = 1e-5,
    out: Tensor2 | None = None,
) -> Tensor:
    """``(x - mean) * rsqrt(variance + eps) * weight + bias`` over the rows of x (M, N).

    ``weight`` and ``bias`` are (N,); the variance is that of the whole row, not of a
    sample. x, weight and bias have gradients, as those of `rmsnorm`.
    """
    import torch

    if out is not None:
        without_gradient("a norm that is written into out=", x, weight, bias)
    elif followed(x, weight, bias):
        return training.add_layernorm(x, None, weight, bias, eps)[0]
    out = torch.empty_like(x) if out is None else out
    _launch((x, weight, bias, out, eps))
    return out


def _choose(
    x: Tensor, weight: Tensor, bias: Tensor, out: Tensor, eps: float
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    return FORMS.choose(
        x.shape[0], x.shape[-1], 8 * x.element_size(), multiprocessors(x)
    )


_launch = Dispatch(_choose)
OPERATORS = training.OPERATORS
