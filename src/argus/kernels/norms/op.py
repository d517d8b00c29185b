"""Row norms on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.autograd import TorchFunction, followed, without_gradient
from argus.kernels.norms.choice import softmax_backward_statics
from argus.kernels.norms.entry import RMSNORM_FORMS, SOFTMAX_FORMS
from argus.kernels.norms.kernel import softmax_backward
from argus.kernels.tensors import multiprocessors
from argus.kernels.training_norms import op as training
from argus.lang.kernel import Kernel
from argus.runtime.torch_op import tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["rmsnorm", "softmax"]


def softmax(x: Tensor2, out: Tensor2 | None = None) -> Tensor:
    """Softmax along the last axis of x (M, N); any number of columns.

    x has a gradient, without ``out`` (ArgusError AG0801 for one with it).
    """
    import torch

    if out is not None:
        without_gradient("a softmax that is written into out=", x)
    elif followed(x):
        return SOFTMAX(x)
    else:
        out = torch.empty_like(x)
    _softmax((x, out))
    return out


def rmsnorm(
    x: Tensor2, weight: Tensor1, eps: float = 1e-6, out: Tensor2 | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + eps) * weight`` over the rows of x (M, N).

    x and weight have gradients, for N up to 16384 (ArgusError AG0801 for longer rows)
    and without ``out``.
    """
    import torch

    if out is not None:
        without_gradient("a norm that is written into out=", x, weight)
    elif followed(x, weight):
        return training.add_rmsnorm(x, None, weight, eps)[0]
    out = torch.empty_like(x) if out is None else out
    _rmsnorm((x, weight, out, eps))
    return out


def _alike(x: Tensor, *_: Tensor) -> Tensor:
    return x.new_empty(x.shape)


def _launch_softmax(x: Tensor, y: Tensor) -> None:
    if x.numel():
        _softmax((x, y))


def _keep_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _softmax_gradient(ctx: Any, dy: Tensor) -> Tensor:
    (y,) = ctx.saved_tensors
    return SOFTMAX_BACKWARD(y, dy.contiguous())


def _launch_softmax_gradient(y: Tensor, dy: Tensor, dx: Tensor) -> None:
    if y.numel():
        _softmax_backward((y, dy, dx))


def _choose_softmax_gradient(
    y: Tensor, dy: Tensor, dx: Tensor
) -> tuple[Kernel, dict[str, object]]:
    return softmax_backward, softmax_backward_statics(y.shape[-1])


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
_softmax_backward = Dispatch(_choose_softmax_gradient)
SOFTMAX_BACKWARD = TorchFunction(
    "argus::softmax_backward",
    (tensor("y"), tensor("dy")),
    _launch_softmax_gradient,
    _alike,
)
SOFTMAX = TorchFunction(
    "argus::softmax",
    (tensor("x"),),
    _launch_softmax,
    _alike,
    keep=_keep_softmax,
    gradient=_softmax_gradient,
)
OPERATORS = (SOFTMAX, SOFTMAX_BACKWARD, *training.OPERATORS)
