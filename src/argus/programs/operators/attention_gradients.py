"""Gradients of attention for graphs with gradients: one operator for all of torch's.

What torch chooses between gives logarithms of sums beside its results, and what random
numbers it drew. The gradients are those of `attention_operators.attention_gradients`,
which needs no random numbers: an operator that is decomposed so keeps none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Decomposition = Callable[..., Any]


def gradient_decompositions() -> dict[Any, _Decomposition]:
    """Torch's operators, as calls of the one that is translated.

    With dropout or with a gradient of the mask an operator stays what it is.
    """
    import torch

    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_backward.default: _flash,
        aten._scaled_dot_product_cudnn_attention_backward.default: _cudnn,
        aten._scaled_dot_product_efficient_attention_backward.default: _efficient,
    }


def _one(
    tensors: tuple[Any, ...],
    mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> Any:
    import torch

    if dropout_p:
        return NotImplemented
    gradients = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    return gradients(*tensors, 0.0, is_causal, attn_mask=mask, scale=scale)


def _flash(
    grad: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any,
    cum_seq_q: Any, cum_seq_k: Any, max_q: Any, max_k: Any,
    dropout_p: float, is_causal: bool, *_: Any, scale: float | None = None,
) -> Any:  # fmt: skip
    tensors = (grad, q, k, v, out, logsumexp)
    return _one(tensors, None, dropout_p, is_causal, scale)


def _cudnn(
    grad: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any,
    seed: Any, offset: Any, attn_bias: Any, cum_seq_q: Any, cum_seq_k: Any,
    max_q: Any, max_k: Any,
    dropout_p: float, is_causal: bool, *, scale: float | None = None,
) -> Any:  # fmt: skip
    shape = (*q.shape[:-1],)
    tensors = (grad, q, k, v, out, logsumexp.reshape(shape))
    return _one(tensors, attn_bias, dropout_p, is_causal, scale)


def _efficient(
    grad: Any, q: Any, k: Any, v: Any, attn_bias: Any, out: Any, logsumexp: Any,
    seed: Any, offset: Any, dropout_p: float, wanted: Any, is_causal: bool = False,
    *, scale: float | None = None,
) -> Any:  # fmt: skip
    if len(wanted) > 3 and wanted[3]:
        return NotImplemented
    tensors = (grad, q, k, v, out, logsumexp[..., : q.shape[-2]])
    found = _one(tensors, attn_bias, dropout_p, is_causal, scale)
    return found if found is NotImplemented else (*found, None)
