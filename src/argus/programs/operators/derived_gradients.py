"""Gradients that torch does not take apart: what formulas differentiate to.

A gradient for which torch has an operator of its own, and no decomposition, is that of
a formula of torch operators: autograd walks it while the graph is traced, so that the
operators of the gradient stand in the graph. Formulas are made of operators whose own
gradients change nothing in place: of `clamp` and `norm` they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argus.programs.operators.sampled_images import CUBIC, sampled
from argus.programs.operators.scattering_operators import MOST_COMPARISONS
from argus.programs.operators.segment_decompositions import (
    members,
    placed_segments,
    segmented,
)


def derived_gradients() -> dict[Any, Callable[..., Any]]:
    """Decompositions of gradients by the operator that torch has for them."""
    import torch

    aten = torch.ops.aten
    return {
        aten.grid_sampler_2d_backward.default: _of_sampled,
        aten.grid_sampler_3d_backward.default: _of_sampled,
        aten._weight_norm_interface_backward.default: _of_weight_norm,
        aten._segment_reduce_backward.default: _of_segments,
    }


def differentiated(
    formula: Callable[..., Any], given: Sequence[Any], gradient: Any
) -> tuple[Any, ...]:
    """The gradients of ``formula(*given)`` with respect to each of ``given``.

    ``gradient`` is that of its result. It runs below autograd, where decompositions
    do: the keys of autograd are let in again while the formula is computed. Gradients
    have a graph, since only then torch adds nothing up in place.
    """
    import torch

    own_keys: Any = vars(torch)["_C"]
    keys: Any = own_keys.DispatchKey
    out = own_keys._dispatch_tls_local_exclude_set()
    for key in (
        keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradCPU,
        keys.AutogradCUDA, keys.AutogradMeta, keys.ADInplaceOrView,
    ):  # fmt: skip
        out = out.remove(key)
    into = own_keys._dispatch_tls_local_include_set().add(keys.ADInplaceOrView)
    with own_keys._ForceDispatchKeyGuard(into, out), torch.enable_grad():
        own = [t.detach().requires_grad_() for t in given]
        made = formula(*own)
        found = torch.autograd.grad(
            made, own, gradient, create_graph=True, materialize_grads=True
        )
    return tuple(t.detach() for t in found)


def _of_sampled(
    gradient: Any, x: Any, grid: Any, mode: int, padding: int, aligned: bool,
    wanted: Sequence[bool],
) -> Any:  # fmt: skip
    """Gradients of `sampled`: of the image, and of where it is read.

    An image gets its gradient by as many comparisons as it has places for each that is
    read; what is more than `MOST_COMPARISONS` stays in torch. In mode 2 it is a
    product, in which an infinity reaches all places.
    """
    corners = 1 if mode == CUBIC else 1 << (x.dim() - 2)
    entries = gradient.numel() * corners
    if x[0, 0].numel() * entries > MOST_COMPARISONS:
        return NotImplemented

    def formula(x: Any, grid: Any) -> Any:
        return sampled(x, grid, mode, padding, aligned)

    of_x, of_grid = differentiated(formula, (x, grid), gradient)
    return (of_x if wanted[0] else None), (of_grid if wanted[1] else None)


def _of_weight_norm(gradient: Any, v: Any, g: Any, norms: Any, dim: int) -> Any:
    """Gradients of a direction and of its length, in the types of torch's formula."""
    import torch

    def formula(v: Any, g: Any) -> Any:
        rest = [d for d in range(v.dim()) if d != dim]
        kind = torch.float32 if g.dtype == torch.bfloat16 else None
        wide = v if kind is None else v.to(kind)
        found = (wide * wide).sum(rest, keepdim=True).sqrt()
        return v * (g / found.to(g.dtype))

    return differentiated(formula, (v, g), gradient)


def _of_segments(
    gradient: Any, made: Any, data: Any, reduce: str, *, lengths: Any = None,
    offsets: Any = None, axis: int = 0, initial: Any = None,
) -> Any:  # fmt: skip
    """Gradients of rows; of equal extremes as in torch, which halves positive ones."""
    import torch

    starts, lengths = placed_segments(lengths, offsets, axis)
    if data.numel() * lengths.shape[axis] > MOST_COMPARISONS or not data.numel():
        return NotImplemented
    if reduce in ("max", "min"):
        own = members(data, starts, lengths, axis)
        rows = data.unsqueeze(axis)
        made, each = (t.unsqueeze(axis + 1) for t in (made, gradient))
        found = own & ((rows == made) | (rows != rows))
        count = found.sum(axis + 1, keepdim=True)
        each = torch.where((count > 1) & (each > 0), each / count, each)
        return torch.where(found, each, 0.0).sum(axis)

    def formula(data: Any) -> Any:
        return segmented(data, reduce, starts, lengths, axis, initial)

    return differentiated(formula, (data,), gradient)[0]
