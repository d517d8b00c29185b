"""Attention in graphs for `torch.compile`: one operator, with gradients.

    gather_attention(graph)     # before torch differentiates it

Which of its operators torch takes for `scaled_dot_product_attention` depends on masks,
sizes and devices: where it takes the general one, it differentiates products and the
softmax of f32, each stored. Here the call becomes `argus_programs::attention`, whose
gradients are `argus_programs::attention_gradients`; both have translations
(`attention_operators.py`), and compute the same in torch where a graph stays there.
"""

from __future__ import annotations

from functools import cache
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule

_NAMES = ("argus_programs::attention", "argus_programs::attention_gradients")
_DIMENSIONS = 4


def gather_attention(graph: GraphModule) -> None:
    """Replace the calls of a graph that dynamo traced, and of the graphs inside."""
    import torch
    from torch.fx import GraphModule

    called = torch.nn.functional.scaled_dot_product_attention
    for module in graph.modules():
        if not isinstance(module, GraphModule):
            continue
        found = [n for n in module.graph.nodes if n.target is called]
        for node in found:
            node.target = attention
        if found:
            module.recompile()


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """As `torch.nn.functional.scaled_dot_product_attention`, which it calls for others.

    Others draw random numbers, want a gradient of the mask, or are no floats of 16 or
    32 bits with batches, heads, positions and elements.
    """
    import torch

    given = (query, key, value)
    device = query.device.type
    if torch.is_autocast_enabled(device):
        narrow = torch.get_autocast_dtype(device)
        given = tuple(x.to(narrow) if x.is_floating_point() else x for x in given)
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.to(narrow)
    if dropout_p or not _fits(given, attn_mask, is_causal, enable_gqa):
        plain = torch.nn.functional.scaled_dot_product_attention
        return plain(
            query, key, value, attn_mask, dropout_p, is_causal,
            scale=scale, enable_gqa=enable_gqa,
        )  # fmt: skip
    return attention_operator()[0](*given, attn_mask, is_causal, scale)[0]


def _fits(given: tuple[Any, ...], mask: Any, is_causal: bool, enable_gqa: bool) -> bool:
    """Whether the operator says what torch would."""
    import torch

    q, k, v = given
    if any(x.ndim != _DIMENSIONS for x in given) or len({x.dtype for x in given}) > 1:
        return False
    if q.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return False
    inside: Any = vars(torch)["_C"]._functorch.maybe_current_level()
    if inside is not None:  # of vmap and its like
        return False
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0]:
        return False
    heads, shared = q.shape[1], k.shape[1]
    if heads != shared and not (enable_gqa and shared and heads % shared == 0):
        return False
    if mask is None:
        return True
    if is_causal or mask.requires_grad:
        return False
    return mask.dtype in (torch.bool, q.dtype)


@cache
def attention_operator() -> tuple[Any, Any]:
    """Attention and its gradients, as torch is told once."""
    from torch.library import custom_op

    define = cast("Callable[..., Any]", custom_op)
    said = "Tensor? mask, bool is_causal, float? scale"
    found = define(
        _NAMES[0],
        _computed,
        mutates_args=(),
        schema=f"(Tensor q, Tensor k, Tensor v, {said}) -> (Tensor, Tensor)",
    )
    gradients = define(
        _NAMES[1],
        _differentiated,
        mutates_args=(),
        schema=(
            "(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor out, "
            f"Tensor logsumexp, {said}) -> (Tensor, Tensor, Tensor)"
        ),
    )
    found.register_fake(_results)
    gradients.register_fake(_gradients_like)

    def kept(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, mask, ctx.is_causal, ctx.scale = inputs
        ctx.save_for_backward(*tensors, *output, mask)
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(True)

    def backward(ctx: Any, grad: Any, _: Any) -> Any:
        *tensors, mask = ctx.saved_tensors
        made = gradients(grad, *tensors, mask, ctx.is_causal, ctx.scale)
        return (*made, None, None, None)

    found.register_autograd(backward, setup_context=kept)
    return found, gradients


# ------------------------------------------------------------------ what results are


def _results(
    q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any]:
    """Empty tensors: the result lies as queries do, heads or positions first."""
    import torch

    batches, heads, rows, _ = q.shape
    width = v.shape[-1]
    if q.stride(1) < q.stride(2):
        out = q.new_empty((batches, rows, heads, width)).transpose(1, 2)
    else:
        out = q.new_empty((batches, heads, rows, width))
    return out, q.new_empty((batches, heads, rows), dtype=torch.float32)


def _gradients_like(grad: Any, q: Any, k: Any, v: Any, *_: Any) -> tuple[Any, Any, Any]:
    import torch

    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


# ------------------------------------------------------------------ computed by torch


def _computed(
    q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any]:
    """The result, and the logarithm of the sum of each row, in f32."""
    import torch

    out, logarithms = _results(q, k, v, mask, is_causal, scale)
    function = torch.nn.functional.scaled_dot_product_attention
    shared = q.shape[1] != k.shape[1]
    out.copy_(function(q, k, v, mask, 0.0, is_causal, scale=scale, enable_gqa=shared))
    scores = _scores(q, _repeated(k, q), mask, is_causal, _factor(q, scale))
    torch.logsumexp(scores, -1, out=logarithms)
    return out, logarithms


def _differentiated(
    grad: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any,
    mask: Any, is_causal: bool, scale: float | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of queries, keys and values, computed in f32."""
    factor, wide = _factor(q, scale), grad.float()
    keys, values = _repeated(k, q), _repeated(v, q)
    scores = _scores(q, keys, mask, is_causal, factor)
    shift = logsumexp.masked_fill(logsumexp == -inf, 0.0)  # rows without any key
    shares = (scores - shift[..., None]).exp()
    along = (wide * out.float()).sum(-1, keepdim=True)
    inner = shares * (wide @ values.transpose(-1, -2) - along) * factor
    found = (
        inner @ keys,
        _together(inner.transpose(-1, -2) @ q.float(), k),
        _together(shares.transpose(-1, -2) @ wide, v),
    )
    made = _gradients_like(grad, q, k, v)
    for one, other in zip(made, found, strict=True):
        one.copy_(other)
    return made


def _factor(q: Any, scale: float | None) -> float:
    return 1 / sqrt(q.shape[-1]) if scale is None else scale


def _repeated(x: Any, q: Any) -> Any:
    """Heads of keys or values, each for several of the queries', in f32."""
    return x.float().repeat_interleave(q.shape[1] // x.shape[1], 1)


def _together(gradient: Any, x: Any) -> Any:
    """The sum over the heads of queries that share one of ``x``."""
    return gradient.unflatten(1, (x.shape[1], -1)).sum(2)


def _scores(q: Any, keys: Any, mask: Any, is_causal: bool, factor: float) -> Any:
    import torch

    scores = q.float() @ keys.transpose(-1, -2) * factor
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, -inf)
    return scores + mask
