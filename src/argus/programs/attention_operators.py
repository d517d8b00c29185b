"""Attention of ATen: products of queries and keys, their softmax, products with values.

What torch chooses between (`_scaled_dot_product_flash_attention` and so on) differs in
how it is computed, and computes the same.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from argus.ir.dtypes import boolean
from argus.programs.numpy_functions import wide_product
from argus.programs.operator_table import own
from argus.programs.tensor_array import TensorArray
from argus.programs.tensor_program import UntranslatedError


@own("scaled_dot_product_attention")
def scaled_dot_product_attention(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    attn_mask: TensorArray | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> TensorArray:
    """``softmax(scale * q @ k.T + mask) @ v``; a row without any key is 0.

    ``q`` is (..., L, E), ``k`` (..., S, E), ``v`` (..., S, D). A mask of truth values
    says what is kept, another one is added. ``scale`` is 1 / sqrt(E) if None. Raises
    UntranslatedError for dropout.
    """
    return _attended(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)[0]


@own(
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu"
)
def flash_attention(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *_: Any,
    attn_mask: TensorArray | None = None,
    scale: float | None = None,
) -> list[Any]:
    """The result, and the logarithm of the sum of each row."""
    return _attended(q, k, v, attn_mask, dropout_p, is_causal, scale, False)


@own("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention")
def attention_with_bias(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    attn_bias: TensorArray | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *_: Any,
    scale: float | None = None,
) -> list[Any]:
    """The same, as two others give it."""
    found = _attended(q, k, v, attn_bias, dropout_p, is_causal, scale, False)
    return found if compute_log_sumexp else found[:1]


def _attended(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    mask: TensorArray | None,
    dropout: float,
    causal: bool,
    scale: float | None,
    grouped: bool,
) -> list[Any]:
    if dropout:
        raise UntranslatedError("attention with dropout")
    if q.ndim < 2 or not q.shape[-1]:
        raise UntranslatedError("attention of queries without elements")
    if grouped:
        k, v = (_repeated(x, q.shape[-3]) for x in (k, v))
    recorder = q.recorder
    keys: Any = np.swapaxes(k, -1, -2)
    scores: Any = TensorArray(recorder, wide_product(recorder, q.operand, keys.operand))
    scores = scores * (1 / sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        rows, columns = scores.ndim - 2, scores.ndim - 1
        one, other = (
            TensorArray(recorder, recorder.positions(scores.shape[-2:], d - rows))
            for d in (rows, columns)
        )
        scores = np.where(np.greater_equal(one, other), scores, -inf)
    if mask is not None:
        if mask.element == boolean:
            scores = np.where(mask, scores, -inf)
        else:
            scores = scores + mask.cast(scores.element)
    most: Any = np.max(scores, axis=-1, keepdims=True)
    masked = mask is not None
    if masked:  # rows without any key; a causal query sees the first one
        most = np.where(np.equal(most, -inf), 0.0, most)
    weights: Any = np.exp(scores - most)
    total: Any = np.sum(weights, axis=-1, keepdims=True)
    divisor = np.where(np.equal(total, 0.0), 1.0, total) if masked else total
    shares = (weights / divisor).cast(q.element)
    found = TensorArray(recorder, wide_product(recorder, shares.operand, v.operand))
    logarithm = np.squeeze(np.log(total) + most, axis=-1)
    return [found.cast(q.element), logarithm]


def _repeated(x: TensorArray, heads: int) -> TensorArray:
    """Heads of keys or values, each for several of the queries'."""
    own = x.shape[-3]
    if not own or heads % own:
        raise UntranslatedError(f"{own} heads of keys for {heads} of queries")
    ahead, rest = x.shape[:-3], x.shape[-2:]
    one: Any = np.expand_dims(x, x.ndim - 2)
    wide: Any = np.broadcast_to(one, (*ahead, own, heads // own, *rest))
    found: Any = np.reshape(wide, (*ahead, heads, *rest))
    return found
