"""Operators of torch that torch does not take apart, as formulas of others.

Torch traces them in place of the operator, so that they are written in its functions.
Where torch's own decomposition is wrong, there is one here, too:
`multilabel_margin_loss` counts targets behind the end of a row in torch 2.11, and what
`index_fill` makes of a transposed tensor there is copied in place, which torch refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argus.programs.operators.antialiasing import antialiasing_decompositions
from argus.programs.operators.embedding_bags import bag_decompositions
from argus.programs.operators.encoder_decompositions import encoder_decompositions
from argus.programs.operators.sampled_images import sampled, sampled_plane
from argus.programs.operators.segment_decompositions import segment_decompositions

_MEAN, _SUM = 1, 2


def own_decompositions() -> dict[Any, Callable[..., Any]]:
    """Formulas by the operator that they are."""
    import torch

    aten = torch.ops.aten
    pads = (
        aten.replication_pad1d_backward, aten.replication_pad2d_backward,
        aten.replication_pad3d_backward,
    )  # fmt: skip
    return {
        aten.grid_sampler_2d.default: sampled_plane,
        aten.grid_sampler_3d.default: sampled,
        aten._pdist_forward.default: _pdist,
        aten._pdist_backward.default: _pdist_backward,
        aten.mode.default: _mode,
        aten.index_fill.int_Scalar: _filled,
        aten.index_fill.int_Tensor: _filled,
        aten.rrelu.default: _rrelu,
        aten.multilabel_margin_loss_forward.default: _multilabel_margin,
        aten.fake_quantize_per_tensor_affine_cachemask.default: _fake_quantized,
        aten.fake_quantize_per_channel_affine_cachemask.default: _fake_by_channel,
        aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default:
            _fake_by_tensors,
        **{one.default: _replicated_backward for one in pads},
        **antialiasing_decompositions(),
        **bag_decompositions(),
        **encoder_decompositions(),
        **segment_decompositions(),
    }  # fmt: skip


def _rrelu(
    x: Any, low: float = 1 / 8, high: float = 1 / 3, training: bool = False,
    generator: Any = None,
) -> Any:  # fmt: skip
    """Where nothing is trained, the slope below 0 is known: none is drawn."""
    import torch

    if training:
        return NotImplemented
    return torch.nn.functional.leaky_relu(x, (low + high) / 2)


def _filled(x: Any, dim: int, index: Any, value: Any) -> Any:
    """Rows, columns, … of these positions have the value, the others their own."""
    import torch

    if not x.dim():
        return _filled(x.unsqueeze(0), 0, index, value).squeeze(0)
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=x.dtype, device=x.device)
    at = [None] * (dim % x.dim()) + [index]
    return torch.ops.aten.index_put(x, at, value)


# -- borders


def _replicated_backward(gradient: Any, x: Any, padding: Sequence[int]) -> Any:
    """Ends take what was copied from them; a border that was cut off gets none."""
    import torch

    for d in range(len(padding) // 2):
        dim = gradient.dim() - 1 - d
        before, after = padding[2 * d], padding[2 * d + 1]
        cut = [0] * (2 * d) + [max(0, -before), max(0, -after)]
        gradient = torch.constant_pad_nd(gradient, cut)
        before, after = max(0, before), max(0, after)
        n = x.shape[dim]
        whole = gradient
        gradient = whole.narrow(dim, before, n)
        ends = [(before, 0, 0)] if before else []
        ends += [(after, before + n, n - 1)] if after else []
        for count, start, place in ends:
            added = whole.narrow(dim, start, count).sum(dim, keepdim=True)
            rest = [0] * (2 * d) + [place, n - 1 - place]
            gradient = gradient + torch.constant_pad_nd(added, rest)
    return gradient


# -- distances of pairs


def _pdist(x: Any, order: float = 2.0) -> Any:
    """(n (n - 1) / 2): the norm of row i less row j, for each i < j."""
    import torch

    n = x.shape[0]
    pairs = torch.triu_indices(n, n, 1, device=x.device)
    every = torch.ops.aten._cdist_forward(x, x, order, None)
    return every.reshape(-1).gather(0, pairs[0] * n + pairs[1])


def _pdist_backward(gradient: Any, x: Any, order: float, found: Any) -> Any:
    """The gradient of the rows, from both ends of each pair."""
    import torch

    n = x.shape[0]
    if n < 2:
        return torch.zeros_like(x)
    at = torch.arange(n, device=x.device)
    low, high = (f(at[:, None], at) for f in (torch.minimum, torch.maximum))
    one = at[:, None] == at
    place = low * n - low * (low + 1) // 2 + high - low - 1
    place = torch.where(one, 0, place).reshape(-1)
    square = [
        torch.where(one, 0.0, t.gather(0, place).reshape(n, n))
        for t in (gradient, found)
    ]
    return torch.ops.aten._cdist_backward(square[0], x, x, order, square[1])


# -- what occurs most


def _mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of the elements that are most frequent, and its last position."""
    import torch

    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    kind = torch.int8 if x.dtype == torch.bool else x.dtype
    rows = x.movedim(dim, -1).to(kind)
    count = (rows.unsqueeze(-1) == rows.unsqueeze(-2)).to(torch.int64).sum(-1)
    most = count == count.amax(-1, keepdim=True)
    large = torch.inf if kind.is_floating_point else torch.iinfo(kind).max
    value = torch.where(most, rows, large).to(kind).amin(-1, keepdim=True)
    at = torch.arange(rows.shape[-1], device=x.device)
    place = torch.where(rows == value, at, 0).amax(-1, keepdim=True)
    parts = [t.movedim(-1, dim) for t in (value.to(x.dtype), place)]
    return tuple(t if keepdim else t.squeeze(dim) for t in parts)


# -- losses


def _multilabel_margin(x: Any, target: Any, reduction: int) -> Any:
    """The loss, and which classes are targets: those before the first -1 of a row."""
    import torch

    n = x.shape[-1]
    rows, names = x.reshape(-1, n), target.reshape(-1, n)
    at = torch.arange(n, device=x.device)
    end = torch.where(names == -1, at, n).amin(-1, keepdim=True)
    named = at < end
    own = rows.gather(1, torch.where(named, names, 0))
    among = (torch.where(named, names, -1).unsqueeze(-1) == at).any(1)
    short = (1 - own.unsqueeze(-1) + rows.unsqueeze(1)).clamp_min(0)
    counted = named.unsqueeze(-1) & ~among.unsqueeze(1)
    loss = torch.where(counted, short, 0.0).sum((1, 2)) / n
    if reduction == _MEAN:
        loss = loss.mean()
    elif reduction == _SUM:
        loss = loss.sum()
    else:
        loss = loss.reshape(x.shape[:-1])
    return loss, among.to(x.dtype).reshape(target.shape)


# -- numbers as they would be in few bits


def _fake_quantized(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    """``x`` rounded to steps of ``scale`` around ``zero``, and where it fits."""
    import torch

    step = torch.round(x.to(torch.float32) * (1.0 / scale)) + zero
    fits = (step >= low) & (step <= high)
    return ((step.clamp(low, high) - zero) * scale).to(x.dtype), fits


def _fake_by_channel(
    x: Any, scale: Any, zero: Any, axis: int, low: int, high: int
) -> Any:
    shape = [-1 if d == axis else 1 for d in range(x.dim())]
    return _fake_quantized(x, scale.reshape(shape), zero.reshape(shape), low, high)


def _fake_by_tensors(
    x: Any, scale: Any, zero: Any, enabled: Any, low: int, high: int
) -> Any:
    import torch

    found, fits = _fake_quantized(x, scale, zero, low, high)
    wanted = enabled[0] != 0
    return torch.where(wanted, found, x), torch.where(wanted, fits, True)
