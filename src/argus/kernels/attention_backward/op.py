"""Attention that gradients are taken of, on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.dispatch import (
    Buffer,
    Dispatch,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
)
from argus.kernels.attention.kernel import attention_training
from argus.kernels.attention_backward.choice import training_statics
from argus.kernels.attention_backward.kernel import (
    attention_backward_keys,
    attention_backward_queries,
    attention_backward_sums,
)
from argus.kernels.autograd import TorchFunction, without_gradient
from argus.kernels.masked_attention.choice import causal_statics
from argus.kernels.masked_attention.kernel import masked_attention
from argus.kernels.tensors import multiprocessors, tma_rows
from argus.lang.kernel import Kernel
from argus.runtime.torch_op import OpParameter, tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor3, Tensor4

__all__ = ["attention_backward", "attention_forward"]

LARGEST = 128
"""The head dimension beyond which gradients of a tile do not fit the registers."""


def attention_forward(
    q: Tensor4,
    k: Tensor4,
    v: Tensor4,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention as `ops.attention`, and the logarithm of the sum of exponentials.

    q (B, H, S, D), k and v (B, G, T, D), H a multiple of G; the second result is f32
    (B, H, S). D: a multiple of 16, at most 128 (ArgusError AG0801 for another). q, k
    and v have gradients; the logarithms have none to give.
    """
    out, logs = _FORWARD(q, k, v, bool(causal), _scale(scale, _head(q)))
    return out, logs


def attention_backward(
    dout: Tensor4,
    q: Tensor4,
    k: Tensor4,
    v: Tensor4,
    out: Tensor4,
    logs: Tensor3,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v of that of the output, in the same numbers in each run.

    ``out`` and ``logs`` are what `attention_forward` gave for the same arguments.
    """
    without_gradient("attention_backward", dout, q, k, v, out)
    given = (dout, q, k, v, out, logs)
    dq, dk, dv = _BACKWARD(*given, bool(causal), _scale(scale, _head(q)))
    return dq, dk, dv


def _head(q: Tensor) -> int:
    d = q.shape[-1]
    if d % 16 or not 0 < d <= LARGEST:
        raise fail(
            "AG0801",
            None,
            f"gradients of attention take head dimensions 16, 32, ... 128, not {d}",
            help="pad the head dimension with zeros",
        )
    return d


def _scale(scale: float | None, d: int) -> float:
    return d**-0.5 if scale is None else scale


def _results(q: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    import torch

    logs = q.new_empty(q.shape[:-1], dtype=torch.float32)
    return q.new_empty(q.shape), logs


def _launch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool,
    scale: float,
    out: Tensor,
    logs: Tensor,
) -> None:
    if q.numel():
        _forward((q, k, v, out, logs, scale), causal)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, ctx.causal, ctx.scale = inputs
    out, logs = output
    ctx.save_for_backward(q, k, v, out, logs)
    ctx.mark_non_differentiable(logs)
    ctx.set_materialize_grads(False)


def _gradient(ctx: Any, dout: Tensor | None, _: Tensor | None) -> tuple[Any, ...]:
    if dout is None:
        return (None,) * 5
    dout = dout.contiguous()
    found = _BACKWARD(dout, *ctx.saved_tensors, ctx.causal, ctx.scale)
    return (*found, None, None)


def _gradients(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: object
) -> tuple[Tensor, Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _launch_gradient(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logs: Tensor,
    causal: bool,
    scale: float,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
) -> None:
    if q.numel():
        _backward((q, k, v, out, dout, logs, dq, dk, dv, scale), causal)
    else:
        dk.zero_()
        dv.zero_()


def _choose_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logs: Tensor,
    scale: float,
    causal: bool,
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """`masked_attention` where that is faster; it has logarithms, too."""
    b, h, rows, d = q.shape
    rest = {"heads": b * h, "multiprocessors": multiprocessors(q)}
    if causal:
        given = causal_statics(d, rows, k.shape[2], tma_store=tma_rows(out), **rest)
        if given is not None:
            values = (*(GivenTensor(i) for i in range(5)), GivenScalar(5), 1.0, None)
            return LaunchSequence((LaunchStep(masked_attention, values, given),))
    return attention_training, training_statics(d, rows, causal=causal, **rest)


def _choose_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    dout: Tensor,
    logs: Tensor,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    scale: float,
    causal: bool,
) -> LaunchSequence:
    b, h, s, d = q.shape
    given, factor = [GivenTensor(i) for i in range(9)], GivenScalar(9)
    sums = Buffer("f32", (b, h, s))
    read = (given[0], given[1], given[2], given[4], given[5], sums)
    statics = {"D": d, "CAUSAL": causal}
    return LaunchSequence(
        (
            LaunchStep(attention_backward_sums, (given[3], given[4], sums), {"D": d}),
            LaunchStep(
                attention_backward_keys, (*read, given[7], given[8], factor), statics
            ),
            LaunchStep(attention_backward_queries, (*read, given[6], factor), statics),
        )
    )


_forward = Dispatch(_choose_forward)
_backward = Dispatch(_choose_backward)
_NUMBERS = (OpParameter("causal", "bool"), OpParameter("scale", "float"))
_BACKWARD = TorchFunction(
    "argus::attention_backward",
    (*(tensor(n) for n in ("dout", "q", "k", "v", "out", "logs")), *_NUMBERS),
    _launch_gradient,
    _gradients,
    3,
)
_FORWARD = TorchFunction(
    "argus::attention",
    (*(tensor(n) for n in "qkv"), *_NUMBERS),
    _launch,
    _results,
    2,
    _keep,
    _gradient,
)
OPERATORS = (_FORWARD, _BACKWARD)
