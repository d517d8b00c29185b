"""Attention on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.attention.entry import attention_form
from argus.kernels.attention.plan import HeadSizes, best_split, launches
from argus.kernels.tensors import multiprocessors, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["attention"]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Attention forward: q (B, H, S, D), k and v (B, G, T, D), H a multiple of G.

    D: a multiple of 16, at most 256. ``causal``: query s sees keys t <= s. ``scale``
    defaults to 1 / sqrt(D). Raises ArgusError AG0801 for another D.
    """
    import torch

    d = q.shape[-1]
    if d % 16 or not 0 < d <= 256:
        text = f"attention takes head dimensions 16, 32, ... 256, not {d}"
        raise fail("AG0801", None, text, help="pad the head dimension with zeros")
    out = torch.empty_like(q) if out is None else out
    scale = d**-0.5 if scale is None else scale
    q, into = (q, out) if causal else _packed(q, out, k.shape[1])
    _launch((q, k, v, into, scale), bool(causal))
    return out


def _choose(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, scale: float, causal: bool
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """One launch, or parts of the keys where tiles of queries do not fill the device.

    Under a mask, a few queries see few keys.
    """
    b, h, rows, d = q.shape
    if not causal and out.numel() and k.numel():
        heads = HeadSizes(b, h, rows, k.shape[2], d)
        if (split := best_split(heads, multiprocessors(q))) is not None:
            return launches(split, heads)
    return attention_form(d, rows, causal=causal, tma_store=tma_rows(out))


_launch = Dispatch(_choose)


def _packed(q: Tensor, out: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Few queries (decoding): those of all heads of a group as rows of one head.

    The keys of the group are then read once. As views of the same memory, where it has
    an order that allows it.
    """
    b, h, s, d = q.shape
    if s > 64 or not 0 < groups < h or h % groups:
        return q, out
    try:
        packed = (b, groups, h // groups * s, d)
        return q.view(packed), out.view(packed)
    except RuntimeError:
        return q, out
