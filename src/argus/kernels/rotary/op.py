"""Rotary embedding on torch tensors, with its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.dispatch import Dispatch
from argus.kernels.autograd import TorchFunction
from argus.kernels.rotary.entry import rotary_statics
from argus.kernels.rotary.kernel import rotary as rotary_kernel
from argus.lang.kernel import Kernel
from argus.runtime.torch_op import OpParameter, tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor2, Tensor4

__all__ = ["rotary", "rotary_pair"]


def rotary(
    x: Tensor4, cos: Tensor2, sin: Tensor2, *, interleaved: bool = False
) -> Tensor:
    """Turn x (B, S, H, D) by the angles of which cos and sin (S, D / 2) are.

    Pairs of D are its halves' elements, or with ``interleaved`` neighbours. D is a
    power of two from 16 to 512 (ArgusError AG0801 for another). The result is
    contiguous; x has a gradient, and the angles have none. Of heads before positions,
    (B, H, S, D), give ``x.transpose(1, 2)``: rows may have any strides.
    """
    d = x.shape[-1]
    if not 16 <= d <= 512 or d & (d - 1):
        text = f"rotary embedding takes head dimensions 16, 32, 64, ... 512, not {d}"
        raise fail("AG0801", None, text)
    return _TURN(x, cos, sin, interleaved, False)


def rotary_pair(
    q: Tensor4, k: Tensor4, cos: Tensor2, sin: Tensor2, *, interleaved: bool = False
) -> tuple[Tensor, Tensor]:
    """Queries (B, S, H, D) and keys (B, S, G, D), each as `rotary` turns it."""
    return (
        rotary(q, cos, sin, interleaved=interleaved),
        rotary(k, cos, sin, interleaved=interleaved),
    )


def _turned(x: Tensor, *_: object) -> Tensor:
    return x.new_empty(x.shape)


def _launch(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, inverse: bool, y: Tensor
) -> None:
    if x.numel():
        _turn((x, cos, sin, y), int(interleaved), int(inverse))


def _choose(
    x: Tensor, cos: Tensor, sin: Tensor, y: Tensor, interleaved: int, inverse: int
) -> tuple[Kernel, dict[str, object]]:
    statics = rotary_statics(x.shape[2], x.shape[3])
    turns: dict[str, object] = {"PAIRS": bool(interleaved), "INVERSE": bool(inverse)}
    return rotary_kernel, {**statics, **turns}


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, cos, sin, *ctx.turns = inputs
    ctx.save_for_backward(cos, sin)


def _gradient(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
    cos, sin = ctx.saved_tensors
    interleaved, inverse = ctx.turns
    dx = _TURN(dy.contiguous(), cos, sin, interleaved, not inverse)
    return (dx, None, None, None, None)


_turn = Dispatch(_choose)
_TURN = TorchFunction(
    "argus::rotary",
    (
        *(tensor(name) for name in ("x", "cos", "sin")),
        *(OpParameter(name, "bool") for name in ("interleaved", "inverse")),
    ),
    _launch,
    _turned,
    keep=_keep,
    gradient=_gradient,
)
OPERATORS = (_TURN,)
