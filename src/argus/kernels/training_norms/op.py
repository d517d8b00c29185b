"""Norms with a residual, in eight bits, and with gradients, on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.autograd import TorchFunction
from argus.kernels.tensors import multiprocessors
from argus.kernels.training_norms.choice import (
    forward_launch,
    gradient_launches,
    require_columns,
)
from argus.runtime.torch_op import OpParameter, tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = [
    "add_layernorm",
    "add_rmsnorm",
    "quantised_layernorm",
    "quantised_rmsnorm",
]


def add_rmsnorm(
    x: Tensor2, residual: Tensor2 | None, weight: Tensor1, eps: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """``(h * rsqrt(mean(h**2) + eps) * weight, h)`` of rows of ``h = x + residual``.

    x and residual are (M, N) of one float type, weight is (N,), N at most 16384; h is
    rounded to the type of x before it is normalised, and is x where there is no
    residual. All have gradients, that of the weight in the same numbers in each run.
    Raises ArgusError AG0801 for longer rows.
    """
    return _normed(x, residual, weight, None, eps, False)


def add_layernorm(
    x: Tensor2,
    residual: Tensor2 | None,
    weight: Tensor1,
    bias: Tensor1,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor]:
    """Layer norm of ``h = x + residual``, times weight, plus bias; and h.

    As `add_rmsnorm` otherwise; bias is (N,) of the type of weight.
    """
    return _normed(x, residual, weight, bias, eps, True)


def quantised_rmsnorm(
    x: Tensor2, weight: Tensor1, residual: Tensor2 | None = None, eps: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """`add_rmsnorm` in float8_e4m3fn: the elements, scales f32 (M,), and h.

    An element times the scale of its row is the norm; the largest is 448. No gradients.
    """
    y, h, kept = _quantised(x, residual, weight, None, eps, False)
    return y, h, kept


def quantised_layernorm(
    x: Tensor2,
    weight: Tensor1,
    bias: Tensor1,
    residual: Tensor2 | None = None,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """`add_layernorm` in float8_e4m3fn, as `quantised_rmsnorm`."""
    y, h, kept = _quantised(x, residual, weight, bias, eps, True)
    return y, h, kept


def _normed(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    eps: float,
    centred: bool,
) -> tuple[Tensor, Tensor]:
    require_columns(x.shape[-1])
    y, h, _ = _FORWARD(x, residual, weight, bias, float(eps), centred, False)
    return y, x if residual is None else h


def _quantised(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    eps: float,
    centred: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    require_columns(x.shape[-1])
    given = (x, residual, weight, bias)
    y, h, kept = _FORWARD(
        *(None if t is None else t.detach() for t in given), float(eps), centred, True
    )
    return y, kept, x if residual is None else h


def _results(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    eps: float,
    centred: bool,
    quantised: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The norm, the sum (nothing without a residual), and statistics of rows."""
    import torch

    m, n = x.shape
    kind = torch.float8_e4m3fn if quantised else x.dtype
    several = 2 if centred and not quantised else 1
    return (
        x.new_empty((m, n), dtype=kind),
        x.new_empty((0, n) if residual is None else (m, n)),
        x.new_empty(several * m, dtype=torch.float32),
    )


def _launch(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    eps: float,
    centred: bool,
    quantised: bool,
    y: Tensor,
    h: Tensor,
    kept: Tensor,
) -> None:
    if not x.numel():
        return
    values = (x, residual, weight, bias, y, h, kept, eps)
    _forward(values, int(centred), int(quantised))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, residual, weight, _, _, ctx.centred, _ = inputs
    _, h, kept = output
    ctx.added = residual is not None
    ctx.save_for_backward(h if ctx.added else x, weight, kept)
    ctx.mark_non_differentiable(*((kept,) if ctx.added else (h, kept)))
    ctx.set_materialize_grads(False)


def _gradient(
    ctx: Any, dy: Tensor | None, dh: Tensor | None, _: Tensor | None
) -> tuple[Any, ...]:
    import torch

    h, weight, kept = ctx.saved_tensors
    if dy is None:
        both = (dh, dh if ctx.added else None)
        return (*both, None, None, None, None, None)
    dy = dy.contiguous()
    dh = None if dh is None else dh.contiguous()
    dx, dw, db = _BACKWARD(h, weight, dy, dh, kept, ctx.centred)
    assert isinstance(dx, torch.Tensor)
    bias = db if ctx.centred else None
    return dx, dx if ctx.added else None, dw, bias, None, None, None


def _gradients(
    h: Tensor,
    weight: Tensor,
    dy: Tensor,
    dh: Tensor | None,
    kept: Tensor,
    centred: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    n = h.shape[1]
    moved = weight.new_empty(n if centred else 0)
    return h.new_empty(h.shape), weight.new_empty(n), moved


def _launch_gradient(
    h: Tensor,
    weight: Tensor,
    dy: Tensor,
    dh: Tensor | None,
    kept: Tensor,
    centred: bool,
    dx: Tensor,
    dw: Tensor,
    db: Tensor,
) -> None:
    if not h.numel():
        dw.zero_()
        db.zero_()
        return
    _backward((h, weight, dy, dh, kept, dx, dw, db), int(centred))


def _choose(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    y: Tensor,
    h: Tensor,
    kept: Tensor,
    eps: float,
    centred: int,
    quantised: int,
) -> LaunchSequence:
    m, n = x.shape
    return forward_launch(
        m,
        n,
        8 * x.element_size(),
        centred=bool(centred),
        quantised=bool(quantised),
        bias=bias is not None,
        residual=residual is not None,
    )


def _choose_gradient(
    h: Tensor,
    weight: Tensor,
    dy: Tensor,
    dh: Tensor | None,
    kept: Tensor,
    dx: Tensor,
    dw: Tensor,
    db: Tensor,
    centred: int,
) -> LaunchSequence:
    m, n = h.shape
    return gradient_launches(
        m, n, multiprocessors(h), centred=bool(centred), passed=dh is not None
    )


_forward = Dispatch(_choose)
_backward = Dispatch(_choose_gradient)
_BACKWARD = TorchFunction(
    "argus::norm_backward",
    (
        *(tensor("h"), tensor("weight"), tensor("dy")),
        OpParameter("dh", "optional_tensor"),
        tensor("kept"),
        OpParameter("centred", "bool"),
    ),
    _launch_gradient,
    _gradients,
    3,
)
_FORWARD = TorchFunction(
    "argus::norm",
    (
        tensor("x"),
        OpParameter("residual", "optional_tensor"),
        tensor("weight"),
        OpParameter("bias", "optional_tensor"),
        OpParameter("eps", "float"),
        OpParameter("centred", "bool"),
        OpParameter("quantised", "bool"),
    ),
    _launch,
    _results,
    3,
    _keep,
    _gradient,
)
OPERATORS = (_FORWARD, _BACKWARD)
