"""Attention in graphs for `torch.compile`: one operator, with gradients.

    gather_attention(graph)     # before torch differentiates it

Which of its operators torch takes for `scaled_dot_product_attention` depends on masks,
sizes and devices: where it takes the general one, it differentiates products and the
softmax of f32, each stored. Here the call becomes `argus_programs::attention`, whose
gradients are `argus_programs::attention_gradients`, or `argus_programs::attended`, of
which there are none. All have translations (`attention_operators.py`), and compute the
same in torch where a graph stays there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, sqrt
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx import GraphModule

_DIMENSIONS = 4
_SCORES = 1 << 26
"""Scores that torch has in memory at a time."""


def gather_attention(graph: GraphModule) -> None:
    """Replace the calls of a graph that dynamo traced, and of the graphs inside."""
    import torch
    from torch.fx import GraphModule

    called = torch.nn.functional.scaled_dot_product_attention
    within = torch.nn.functional.multi_head_attention_forward
    put = {called: attention, within: _with_attention(within)}
    for module in graph.modules():
        if not isinstance(module, GraphModule):
            continue
        found = [
            n for n in module.graph.nodes if n.op == "call_function" and n.target in put
        ]
        for node in found:
            node.target = put[node.target]
        if found:
            module.recompile()


def _with_attention(function: Any) -> Any:
    """A function of torch that calls attention, with `attention` in its place."""
    names = {**function.__globals__, "scaled_dot_product_attention": attention}
    made = FunctionType(function.__code__, names, function.__name__)
    made.__defaults__, made.__kwdefaults__ = (
        function.__defaults__, function.__kwdefaults__,
    )  # fmt: skip
    made.__module__ = __name__  # torch's are found by their names
    names[function.__name__] = made  # it says who it is to those that trace it
    return made


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
    made = attention_operators()
    if torch.is_grad_enabled() and any(x.requires_grad for x in given):
        return made.attention(*given, attn_mask, is_causal, scale)[0]
    return made.attended(*given, attn_mask, is_causal, scale)


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


@dataclass(frozen=True)
class AttentionOperators:
    """Operators of torch: a result; a result and logarithms of sums; gradients."""

    attended: Any
    attention: Any
    gradients: Any


@cache
def attention_operators() -> AttentionOperators:
    """The operators, as torch is told once."""
    from torch.library import custom_op

    define = cast("Callable[..., Any]", custom_op)

    def made(name: str, run: Any, fake: Any, given: str, results: str) -> Any:
        schema = f"({given}, Tensor? mask, bool is_causal, float? scale) -> {results}"
        found = define(f"argus_programs::{name}", run, mutates_args=(), schema=schema)
        found.register_fake(fake)
        return found

    tensors = "Tensor q, Tensor k, Tensor v"
    attended = made("attended", _attended, _attended_like, tensors, "Tensor")
    found = made("attention", _computed, _results, tensors, "(Tensor, Tensor)")
    gradients = made(
        "attention_gradients",
        _differentiated,
        _gradients_like,
        f"Tensor grad, {tensors}, Tensor out, Tensor logsumexp",
        "(Tensor, Tensor, Tensor)",
    )

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
    return AttentionOperators(attended, found, gradients)


# ------------------------------------------------------------------ what results are


def _attended_like(q: Any, k: Any, v: Any, *_: Any) -> Any:
    """An empty result: it lies as queries do, heads or positions first."""
    batches, heads, rows, _ = q.shape
    width = v.shape[-1]
    if q.stride(1) < q.stride(2):
        return q.new_empty((batches, rows, heads, width)).transpose(1, 2)
    return q.new_empty((batches, heads, rows, width))


def _results(q: Any, k: Any, v: Any, *_: Any) -> tuple[Any, Any]:
    import torch

    return _attended_like(q, k, v), q.new_empty(q.shape[:3], dtype=torch.float32)


def _gradients_like(grad: Any, q: Any, k: Any, v: Any, *_: Any) -> tuple[Any, Any, Any]:
    import torch

    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


# ------------------------------------------------------------------ computed by torch


def _attended(
    q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None
) -> Any:
    import torch

    function = torch.nn.functional.scaled_dot_product_attention
    shared = q.shape[1] != k.shape[1]
    found = function(q, k, v, mask, 0.0, is_causal, scale=scale, enable_gqa=shared)
    return _attended_like(q, k, v).copy_(found)


def _computed(
    q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any]:
    """The result, and the logarithm of the sum of each row, in f32."""
    import torch

    _, logarithms = _results(q, k, v)
    for rows, scores in _scores(q, _repeated(k, q), mask, is_causal, scale):
        logarithms[:, :, rows] = torch.logsumexp(scores, -1)
    return _attended(q, k, v, mask, is_causal, scale), logarithms


def _differentiated(
    grad: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any,
    mask: Any, is_causal: bool, scale: float | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of queries, keys and values, computed in f32."""
    import torch

    keys, values = _repeated(k, q), _repeated(v, q)
    found = torch.zeros_like(q, dtype=torch.float32)
    by_keys, by_values = torch.zeros_like(keys), torch.zeros_like(values)
    shift = logsumexp.masked_fill(logsumexp == -inf, 0.0)  # rows without any key
    for rows, scores in _scores(q, keys, mask, is_causal, scale):
        wide = grad[:, :, rows].float()
        shares = (scores - shift[:, :, rows, None]).exp()
        along = (wide * out[:, :, rows].float()).sum(-1, keepdim=True)
        inner = shares * (wide @ values.transpose(-1, -2) - along) * _factor(q, scale)
        found[:, :, rows] = inner @ keys
        by_keys += inner.transpose(-1, -2) @ q[:, :, rows].float()
        by_values += shares.transpose(-1, -2) @ wide
    made = _gradients_like(grad, q, k, v)
    for one, other in zip(
        made, (found, _together(by_keys, k), _together(by_values, v)), strict=True
    ):
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


def _scores(
    q: Any, keys: Any, mask: Any, is_causal: bool, scale: float | None
) -> Iterator[tuple[slice, Any]]:
    """Scores of some rows at a time, masked, in f32."""
    import torch

    count, length = q.shape[2], keys.shape[2]
    if is_causal:
        ones = torch.ones((count, length), dtype=torch.bool, device=q.device)
        mask = ones.tril()
    if mask is not None:
        mask = mask.expand(*q.shape[:3], length)
    step = max(1, _SCORES // max(1, q.shape[0] * q.shape[1] * length))
    for first in range(0, count, step):
        rows = slice(first, first + step)
        scores = q[:, :, rows].float() @ keys.transpose(-1, -2) * _factor(q, scale)
        if mask is not None and mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask[:, :, rows], -inf)
        elif mask is not None:
            scores = scores + mask[:, :, rows]
        yield rows, scores
