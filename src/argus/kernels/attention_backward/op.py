"""Attention that gradients are taken of, on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["attention_backward", "attention_forward"]

_LARGEST = 128
"""The head dimension beyond which gradients of a tile do not fit the registers."""


def attention_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention as `ops.attention`, and the logarithm of the sum of exponentials.

    q (B, H, S, D), k and v (B, G, T, D), H a multiple of G; the second result is f32
    (B, H, S). D: a multiple of 16, at most 128 (ArgusError AG0801 for another).
    """
    import torch

    d = _head(q)
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    logs = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
    _forward((q, k, v, out, logs, _scale(scale, d)), bool(causal))
    return out, logs


def attention_backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logs: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v of that of the output, in the same numbers in each run.

    ``out`` and ``logs`` are what `attention_forward` gave for the same arguments.
    """
    import torch

    d = _head(q)
    dense = torch.contiguous_format
    dq, dk, dv = (torch.empty_like(x, memory_format=dense) for x in (q, k, v))
    values = (q, k, v, out, dout, logs, dq, dk, dv, _scale(scale, d))
    _backward(values, bool(causal))
    return dq, dk, dv


def _head(q: Tensor) -> int:
    d = q.shape[-1]
    if d % 16 or not 0 < d <= _LARGEST:
        raise fail(
            "AG0801",
            None,
            f"gradients of attention take head dimensions 16, 32, ... 128, not {d}",
            help="pad the head dimension with zeros",
        )
    return d


def _scale(scale: float | None, d: int) -> float:
    return d**-0.5 if scale is None else scale


def _choose_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logs: Tensor,
    scale: float,
    causal: bool,
) -> tuple[Kernel, dict[str, object]]:
    return attention_training, training_statics(q.shape[-1], causal=causal)


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
