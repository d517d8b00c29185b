"""Attention of few queries to keys in pages, on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.kernels.paged_attention.plan import (
    BLOCK_KEYS,
    DecodeSizes,
    best_steps,
    launches,
)
from argus.kernels.tensors import multiprocessors

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2, Tensor4

__all__ = ["paged_attention"]


def paged_attention(
    q: Tensor,
    k: Tensor4,
    v: Tensor4,
    lengths: Tensor1,
    table: Tensor2 | None = None,
    *,
    scale: float | None = None,
    sinks: Tensor1 | None = None,
    max_length: int | None = None,
    out: Tensor | None = None,
    logs: Tensor | None = None,
) -> Tensor:
    """Attention of the last queries of sequences to their keys (decoding).

    q (B, H, D) or (B, H, S, D); query s of S sees the first length - S + s + 1 keys.
    ``table`` (B, M) i32: sequence b has its keys n * page to n * page + page - 1 in
    page table[b, n] of k and v (P, page, G, D); None: they are k and v (B, T, G, D). H
    is a multiple of G. ``lengths`` (B,) i32, on the device: nobody waits for them.
    ``max_length``: none is larger, which saves looking at all of the table. ``sinks``
    (H,) f32: a score of each head that has no value. ``scale`` defaults to 1 / sqrt(D).

    The result is like q; ``logs`` (B, H, S) f32 gets the logarithms of sums of
    exponentials. Of no keys both are 0. Values behind the end of a sequence are
    multiplied by 0 where they share a page with its last ones, and have to be finite.

    D: a multiple of 16, at most 256; page: a multiple of 64, or 1, 2, ... 32. Raises
    ArgusError AG0801 for others.
    """
    import torch

    d, few = q.shape[-1], q.dim() == 3
    page = 0 if table is None else k.shape[1]
    if d % 16 or not 0 < d <= 256:
        raise fail(
            "AG0801",
            None,
            f"attention takes head dimensions 16, 32, ... 256, not {d}",
            help="pad the head dimension with zeros",
        )
    if page % BLOCK_KEYS and BLOCK_KEYS % page:
        text = f"pages have a multiple of {BLOCK_KEYS} rows, or divide it, not {page}"
        raise fail("AG0801", None, text)
    out = (
        torch.empty_like(q, memory_format=torch.contiguous_format)
        if out is None
        else out
    )
    b, h, s = (*q.shape[:2], 1 if few else q.shape[2])
    groups = k.shape[2]
    if not groups or h % groups:
        text = f"{h} query heads do not share {groups} key heads in equal groups"
        raise fail("AG0801", None, text)
    if max_length is not None:
        if table is None:
            k, v = k[:, :max_length], v[:, :max_length]
        else:
            table = table[:, : -(-max_length // page)]
    if page and page % BLOCK_KEYS:
        k, v = k.view(-1, *k.shape[2:]), v.view(-1, *v.shape[2:])
    tile = (b, groups, h // groups * s)
    into = out.view(*tile, d)
    if logs is not None:
        logs = logs.view(tile)
    if sinks is not None:
        sinks = sinks.view(groups, h // groups)
    values = (q.reshape(*tile, d), k, v, table, lengths, into, logs, sinks)
    _launch((*values, d**-0.5 if scale is None else scale), s, page)
    return out


def _choose(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    lengths: Tensor,
    out: Tensor,
    logs: Tensor | None,
    sinks: Tensor | None,
    scale: float,
    queries: int,
    page: int,
) -> LaunchSequence:
    keys = k.shape[1] if table is None else table.shape[1] * page
    b, groups, rows, d = q.shape
    sizes = DecodeSizes(b, groups, rows, keys, d, queries, page)
    return launches(
        sizes,
        best_steps(sizes, multiprocessors(q)),
        out.stride(),
        logs=logs is not None,
        sinks=sinks is not None,
    )


_launch = Dispatch(_choose)
