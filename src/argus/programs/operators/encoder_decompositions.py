"""Layers of encoders that torch computes by one operator where nothing has gradients.

`torch.nn.TransformerEncoderLayer` and `MultiheadAttention` call them in evaluation.
Here they are products, softmax, norms and functions, as the layers are otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

_OF_POSITIONS, _OF_KEYS = 0, 1
"""What a mask is of: (queries, keys); (batch, keys); else (batch, heads, both)."""


def encoder_decompositions() -> dict[Any, Callable[..., Any]]:
    """Formulas by the operator of torch that they are."""
    import torch

    aten = torch.ops.aten
    return {
        aten._native_multi_head_attention.default: _multi_head_attention,
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    }


def _multi_head_attention(
    query: Any, key: Any, value: Any, width: int, heads: int,
    weight: Any, bias: Any, out_weight: Any, out_bias: Any,
    mask: Any = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:  # fmt: skip
    """The result, and shares of keys where they are wanted.

    Of (batch, length, width). A mask says what is left out.
    """
    import torch
    from torch.nn import functional

    parts: Any
    if query is key and key is value:
        parts = functional.linear(query, weight, bias).chunk(3, -1)
    else:
        parts = [
            functional.linear(x, w, b)
            for x, w, b in zip(
                (query, key, value), weight.chunk(3), bias.chunk(3), strict=True
            )
        ]
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in parts)
    scores = (q * (width // heads) ** -0.5) @ k.transpose(-1, -2)
    if mask is not None:
        out = mask.to(torch.bool)
        if mask_type == _OF_KEYS:
            out = out[:, None, None, :]
        elif mask_type == _OF_POSITIONS:
            out = out[None, None]
        scores = scores.masked_fill(out, -inf)
    shares = scores.softmax(-1)
    result = (shares @ v).transpose(1, 2).flatten(2)
    result = functional.linear(result, out_weight, out_bias)
    if not need_weights:
        return result, query.new_empty(0)
    return result, shares.mean(1) if average_attn_weights else shares


def _encoder_layer(
    x: Any, width: int, heads: int,
    weight: Any, bias: Any, out_weight: Any, out_bias: Any,
    use_gelu: bool, norm_first: bool, eps: float,
    norm_weight: Any, norm_bias: Any, norm_weight_2: Any, norm_bias_2: Any,
    inner_weight: Any, inner_bias: Any, inner_weight_2: Any, inner_bias_2: Any,
    mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Attention, and two products, each with what goes around it and a norm."""
    from torch.nn import functional

    def first(y: Any) -> Any:
        return functional.layer_norm(y, (width,), norm_weight, norm_bias, eps)

    def second(y: Any) -> Any:
        return functional.layer_norm(y, (width,), norm_weight_2, norm_bias_2, eps)

    def attended(y: Any) -> Any:
        return _multi_head_attention(
            y, y, y, width, heads, weight, bias, out_weight, out_bias,
            mask, False, mask_type=mask_type,
        )[0]  # fmt: skip

    def inner(y: Any) -> Any:
        wide = functional.linear(y, inner_weight, inner_bias)
        wide = functional.gelu(wide) if use_gelu else functional.relu(wide)
        return functional.linear(wide, inner_weight_2, inner_bias_2)

    if norm_first:
        x = x + attended(first(x))
        return (x + inner(second(x))).contiguous()
    x = first(x + attended(x))
    return second(x + inner(x)).contiguous()
