"""Cross-entropy on torch tensors, with its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.autograd import TorchFunction
from argus.kernels.losses.choice import gradient_launch, loss_launches
from argus.kernels.tensors import multiprocessors
from argus.runtime.torch_op import OpParameter, tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["cross_entropy"]

_REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(
    logits: Tensor2,
    target: Tensor1,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Cross-entropy of logits (M, N), bf16, f16 or f32, and classes (M,), int64.

    As `torch.nn.functional.cross_entropy`, but for the result, which is always f32: a
    number, or (M,) for the reduction "none". Rows whose target is ``ignore_index``
    count for nothing and have the gradient 0. A target that is no class makes the loss
    infinite. ``z_loss`` times the square of the logarithm of the sum of exponentials is
    added to the loss of each row.

    The gradient of the logits is computed; it is no function that can be differentiated
    again. Raises ArgusError AG0801 for another reduction.
    """
    if reduction not in _REDUCTIONS:
        text = f"a loss is reduced by one of {', '.join(_REDUCTIONS)}, not {reduction}"
        raise fail("AG0801", None, text)
    numbers = (int(ignore_index), float(label_smoothing), float(z_loss))
    loss, _ = _FORWARD(logits, target, *numbers, reduction)
    return loss


def _result(
    x: Tensor, t: Tensor, ignore: int, smoothing: float, z: float, reduction: str
) -> tuple[Tensor, Tensor]:
    """The loss, and what its gradient needs beside the arguments."""
    import torch

    m, none = x.shape[0], reduction == "none"
    loss = torch.empty((m,) if none else (), dtype=torch.float32, device=x.device)
    return loss, loss.new_empty(2 * m if none else 3 * m + 1)


def _launch(
    x: Tensor,
    t: Tensor,
    ignore: int,
    smoothing: float,
    z: float,
    reduction: str,
    loss: Tensor,
    kept: Tensor,
) -> None:
    if not x.shape[0]:
        loss.fill_(float("nan") if reduction == "mean" else 0.0)
        return
    values = (x, t, loss, kept, ignore, smoothing, z)
    _forward(values, reduction, int(smoothing != 0.0))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, t, *numbers = inputs
    ctx.save_for_backward(x, t, output[1])
    ctx.numbers = numbers
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _gradient(ctx: Any, dloss: Tensor | None, _: Tensor | None) -> tuple[Any, ...]:
    if dloss is None:
        return (None,) * 6
    x, t, kept = ctx.saved_tensors
    return (_BACKWARD(x, t, kept, dloss.contiguous(), *ctx.numbers), *(None,) * 5)


def _gradient_result(x: Tensor, *_: object) -> Tensor:
    import torch

    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _launch_gradient(
    x: Tensor,
    t: Tensor,
    kept: Tensor,
    dloss: Tensor,
    ignore: int,
    smoothing: float,
    z: float,
    reduction: str,
    dx: Tensor,
) -> None:
    if not x.shape[0]:
        return
    _backward((x, t, kept, dloss, dx, ignore, smoothing, z), reduction)


def _choose(
    x: Tensor,
    t: Tensor,
    loss: Tensor,
    kept: Tensor,
    ignore: int,
    smoothing: float,
    z: float,
    reduction: str,
    smooth: int,
) -> LaunchSequence:
    m, n = x.shape
    bits, count = 8 * x.element_size(), multiprocessors(x)
    return loss_launches(m, n, bits, count, smooth=bool(smooth), reduction=reduction)


def _choose_gradient(
    x: Tensor,
    t: Tensor,
    kept: Tensor,
    dloss: Tensor,
    dx: Tensor,
    ignore: int,
    smoothing: float,
    z: float,
    reduction: str,
) -> LaunchSequence:
    return gradient_launch(*x.shape, reduction=reduction)


_forward = Dispatch(_choose)
_backward = Dispatch(_choose_gradient)
_NUMBERS = (
    OpParameter("ignore_index", "int"),
    OpParameter("label_smoothing", "float"),
    OpParameter("z_loss", "float"),
    OpParameter("reduction", "str"),
)
_BACKWARD = TorchFunction(
    "argus::cross_entropy_backward",
    (tensor("logits"), tensor("target"), tensor("kept"), tensor("dloss"), *_NUMBERS),
    _launch_gradient,
    _gradient_result,
)
_FORWARD = TorchFunction(
    "argus::cross_entropy",
    (tensor("logits"), tensor("target"), *_NUMBERS),
    _launch,
    _result,
    2,
    _keep,
    _gradient,
)
OPERATORS = (_FORWARD, _BACKWARD)
