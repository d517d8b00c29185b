"""Attention of ATen: products of queries and keys, their softmax, products with values.

What torch chooses between (`_scaled_dot_product_flash_attention` and so on) differs in
how it is computed, and computes the same.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from argus.ir.dtypes import DType, boolean
from argus.ir.numerics import arithmetic
from argus.programs.tensors.numpy_functions import wide_product
from argus.programs.tensors.operator_table import OWN, own
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import UntranslatedError

EFFICIENT_ROWS = 32
"""Logarithms of `_scaled_dot_product_efficient_attention` are a multiple of it."""


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
    return _attended(q, k, v, attn_mask, dropout_p, is_causal, scale, True)


@own("_scaled_dot_product_efficient_attention")
def efficient_attention(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    attn_bias: TensorArray | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> list[Any]:
    """The same; torch says that there are logarithms for a multiple of 32 queries."""
    found = _attended(q, k, v, attn_bias, dropout_p, is_causal, scale, True)
    if not compute_log_sumexp:
        return found[:1]
    more = -q.shape[-2] % EFFICIENT_ROWS
    widths = [(0, 0)] * (q.ndim - 2) + [(0, more)]
    return [found[0], np.pad(found[1], widths) if more else found[1]]


@own("_scaled_dot_product_cudnn_attention")
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
    """The same, as cuDNN gives it: logarithms are a column."""
    found = _attended(q, k, v, attn_bias, dropout_p, is_causal, scale, True)
    if not compute_log_sumexp:
        return found[:1]
    return [found[0], np.expand_dims(found[1], -1)]


def gathered_attention(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    mask: TensorArray | None,
    is_causal: bool,
    scale: float | None,
) -> list[Any]:
    """Those calls that `attention_calls.py` has made one operator of."""
    return _attended(q, k, v, mask, 0.0, is_causal, scale, True)


def gathered_result(*given: Any) -> Any:
    """The same without logarithms of sums."""
    return gathered_attention(*given)[0]


def attention_gradients(
    grad: TensorArray,
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    out: TensorArray,
    logsumexp: TensorArray,
    attn_mask: TensorArray | None,
    is_causal: bool,
    scale: float | None,
) -> list[Any]:
    """Gradients of queries, keys and values (Dao et al. 2022, algorithm 4).

    Shares are computed again from the logarithms of sums.
    """
    factor, heads = _scale(q, scale), k.shape[-3]
    k, v = (repeated_heads(x, q.shape[-3]) for x in (k, v))
    scores = scores_of(q, k, attn_mask, is_causal, factor)
    shift: Any = np.expand_dims(logsumexp, -1)
    if attn_mask is not None:  # rows without any key
        shift = np.where(np.equal(shift, -inf), 0.0, shift)
    shares: Any = np.exp(scores - shift)
    along: Any = np.sum(_wide(grad) * _wide(out), axis=-1, keepdims=True)
    inner: Any = (shares * (_product(grad, _turned(v)) - along)) * factor
    narrow, inner = shares.cast(q.element), inner.cast(q.element)
    found = (
        _product(inner, k),
        _shared(_product(_turned(inner), q), heads),
        _shared(_product(_turned(narrow), grad), heads),
    )
    return [x.cast(q.element) for x in found]


OWN["argus_programs.attended.default"] = gathered_result
OWN["argus_programs.attention.default"] = gathered_attention
OWN["argus_programs.attention_gradients.default"] = attention_gradients


def _wide(x: TensorArray) -> Any:
    return x.cast(arithmetic(x.element))


def _shared(x: TensorArray, heads: int) -> TensorArray:
    """Gradients of heads that several of the queries' share: their sum."""
    ahead, own, rest = x.shape[:-3], x.shape[-3], x.shape[-2:]
    if own == heads:
        return x
    split = x.reshape(*ahead, heads, own // heads, *rest)
    found: Any = np.sum(split, -3)  # type: ignore[call-overload]
    return found


def _turned(x: TensorArray) -> TensorArray:
    """Rows as columns."""
    found: Any = np.swapaxes(x, -1, -2)
    return found


def _product(x: TensorArray, y: TensorArray) -> TensorArray:
    """A product of matrices, of floats as they are computed."""
    return TensorArray(x.recorder, wide_product(x.recorder, x.operand, y.operand))


def _scale(q: TensorArray, scale: float | None) -> float:
    if q.ndim < 2 or not q.shape[-1]:
        raise UntranslatedError("attention of queries without elements")
    return 1 / sqrt(q.shape[-1]) if scale is None else scale


def scores_of(
    q: TensorArray,
    k: TensorArray,
    mask: TensorArray | None,
    causal: bool,
    scale: float,
) -> Any:
    """Products of queries and keys, scaled and masked, as they are computed."""
    recorder = q.recorder
    scores: Any = _product(q, _turned(k)) * scale
    if causal:
        rows, columns = scores.ndim - 2, scores.ndim - 1
        one, other = (
            TensorArray(recorder, recorder.positions(scores.shape[-2:], d - rows))
            for d in (rows, columns)
        )
        scores = np.where(np.greater_equal(one, other), scores, -inf)
    if mask is None:
        return scores
    if mask.element == boolean:
        return np.where(mask, scores, -inf)
    return scores + mask.cast(scores.element)


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
    factor = _scale(q, scale)
    if grouped:
        k, v = (repeated_heads(x, q.shape[-3]) for x in (k, v))
    scores = scores_of(q, k, mask, causal, factor)
    return attended_by(scores, v, q.element, masked=mask is not None)


def attended_by(
    scores: Any, v: TensorArray, element: DType, *, masked: bool
) -> list[Any]:
    """Values by the softmax of scores, rounded to a type, and logarithms of sums.

    ``masked``: there may be rows without any key, which are 0.
    """
    most: Any = np.max(scores, axis=-1, keepdims=True)
    if masked:  # rows without any key; a causal query sees the first one
        most = np.where(np.equal(most, -inf), 0.0, most)
    weights: Any = np.exp(scores - most)
    total: Any = np.sum(weights, axis=-1, keepdims=True)
    divisor = np.where(np.equal(total, 0.0), 1.0, total) if masked else total
    shares = (weights / divisor).cast(element)
    logarithm = np.squeeze(np.log(total) + most, axis=-1)
    return [_product(shares, v).cast(element), logarithm]


def repeated_heads(x: TensorArray, heads: int) -> TensorArray:
    """Heads of keys or values, each for several of the queries'."""
    own = x.shape[-3]
    if own == heads:
        return x
    if not own or heads % own:
        raise UntranslatedError(f"{own} heads of keys for {heads} of queries")
    ahead, rest = x.shape[:-3], x.shape[-2:]
    one: Any = np.expand_dims(x, x.ndim - 2)
    wide: Any = np.broadcast_to(one, (*ahead, own, heads // own, *rest))
    found: Any = np.reshape(wide, (*ahead, heads, *rest))
    return found
