"""Normalisations, and what else ATen keeps whole: by their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.specification.aten.pointwise import where
from argus.specification.aten.reducing import softmax
from argus.specification.aten.table import aten, in_reals
from argus.specification.creating import arange
from argus.terms import Unknown


def _normal(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """Centred and scaled by the deviation; the mean; the inverse deviation."""
    middle = np.mean(x, axes, keepdims=True)
    centred = x - middle
    scale = 1.0 / np.sqrt(np.mean(centred * centred, axes, keepdims=True) + eps)
    return centred * scale, middle, scale


@aten("native_layer_norm")
def layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalised over the last dimensions."""
    made, middle, scale = _normal(x, tuple(range(-len(shape), 0)), eps)
    if weight is not None:
        made = made * weight
    return (made if bias is None else made + bias), middle, scale


@aten("rms_norm")
def rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Divided by the root of the mean square over the last dimensions."""
    return fused_rms_norm(x, shape, weight, eps)[0]


@aten("_fused_rms_norm")
def fused_rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """The same, and what it was multiplied by."""
    if eps is None:
        raise Unknown("the graph has an RMS norm whose epsilon is that of the type")
    axes = tuple(range(-len(shape), 0))
    scale = 1.0 / np.sqrt(np.mean(x * x, axes, keepdims=True) + eps)
    made = x * scale
    return (made if weight is None else made * weight), scale


@aten("native_group_norm")
def group_norm(
    x: Any, weight: Any, bias: Any, count: Any, channels: Any, rest: Any, groups: int,
    eps: float,
) -> Any:  # fmt: skip
    """Normalised over groups of channels and all positions."""
    made, middle, scale = _normal(x.reshape(x.shape[0], groups, -1), (-1,), eps)
    made = made.reshape(x.shape)
    one = [1] * (x.ndim - 2)
    if weight is not None:
        made = made * weight.reshape(-1, *one)
    if bias is not None:
        made = made + bias.reshape(-1, *one)
    return made, middle[..., 0], scale[..., 0]


@aten("_native_batch_norm_legit_no_training")
def batch_norm(
    x: Any, weight: Any, bias: Any, middle: Any, variance: Any, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Normalised by what was learnt of each channel."""
    one = [1] * (x.ndim - 2)
    scale = 1.0 / np.sqrt(variance + eps)
    made = (x - middle.reshape(-1, *one)) * scale.reshape(-1, *one)
    if weight is not None:
        made = made * weight.reshape(-1, *one)
    if bias is not None:
        made = made + bias.reshape(-1, *one)
    return made, None, None


@in_reals("scaled_dot_product_attention")
def attention(
    q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0,
    causal: bool = False, *, scale: Any = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Means of values, weighted by the softmax of products of queries and keys.

    Torch takes it apart into products of three dimensions, whose sizes it asks.
    """
    if dropout:
        raise Unknown("the graph draws random numbers (dropout)")
    if enable_gqa:  # exports write the keys of a group out, see `exporting.py`
        raise Unknown("the graph has attention whose heads share keys")
    scores = q @ np.swapaxes(k, -1, -2)
    scores = scores * (1.0 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        rows, columns = (arange(q.tracing, n) for n in scores.shape[-2:])
        mask = columns <= rows.reshape(-1, 1)
    if mask is not None:
        taken = mask.dtype == np.bool_
        scores = where(mask, scores, -np.inf) if taken else scores + mask
    return softmax(scores, -1) @ v
