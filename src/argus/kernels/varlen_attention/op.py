"""Attention of packed sequences on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import (
    Dispatch,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.kernels.attention.op import window_bounds
from argus.kernels.varlen_attention.choice import varlen_statics
from argus.kernels.varlen_attention.kernel import varlen_attention as packed_attention

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2, Tensor3

__all__ = ["varlen_attention"]

_FEW = 64
"""Queries that one warpgroup takes."""


def varlen_attention(
    q: Tensor3,
    k: Tensor3,
    v: Tensor3,
    cu_seqlens_q: Tensor1,
    cu_seqlens_k: Tensor1,
    max_seqlen_q: int,
    *,
    causal: bool = False,
    scale: float | None = None,
    window: int | tuple[int, int] | None = None,
    softcap: float | None = None,
    sinks: Tensor1 | None = None,
    out: Tensor3 | None = None,
    logs: Tensor2 | None = None,
) -> Tensor:
    """Attention of sequences packed one after the other: q (T, H, D), k, v (S, G, D).

    H is a multiple of G. Sequence b has the queries from cu_seqlens_q[b] to before
    cu_seqlens_q[b + 1], and keys likewise; both tables are (B + 1,) i32, on the device:
    nobody waits for them. ``max_seqlen_q``: no sequence has more queries.

    Masks are aligned at the ends, bottom right, as flash-attn has them: with i queries
    and n keys ``causal`` says that query s sees keys t <= s + n - i. ``window`` is
    about s + n - i; it, ``scale``, ``softcap``, ``sinks`` (H,) are as in `attention`.

    The result is like q; ``logs`` (H, T) f32 gets the logarithms of sums of
    exponentials. Of a query that sees no key, and without sinks, both are 0. Rows that
    no sequence has are not written. A block of keys may reach into the next sequence:
    these values are multiplied by 0, and have to be finite.

    That the tables begin at 0 or more, never fall, and end within the rows, and that no
    sequence is longer than ``max_seqlen_q``, is not checked: of others elements of the
    result are wrong or not written, but nothing outside of the tensors is touched.

    D: a multiple of 16, at most 256. Raises ArgusError AG0801 for another D, for tables
    of different lengths, and for a window or cap that `attention` refuses.
    """
    import torch

    d = q.shape[-1]
    if d % 16 or not 0 < d <= 256:
        text = f"attention takes head dimensions 16, 32, ... 256, not {d}"
        raise fail("AG0801", None, text, help="pad the head dimension with zeros")
    count = cu_seqlens_q.shape[0]
    if cu_seqlens_k.shape[0] != count or not count:
        text = f"{count} and {cu_seqlens_k.shape[0]} offsets are not of one batch"
        raise fail("AG0801", None, text, help="B sequences have B + 1 offsets")
    left, right = window_bounds(window, causal)
    if softcap is not None and not softcap > 0:
        raise fail("AG0801", None, f"a cap of scores is positive, not {softcap}")
    out = torch.empty_like(q) if out is None else out
    if not k.shape[0]:
        # Without a key there is nothing to launch.
        out.zero_()
        if logs is not None:
            logs.copy_(logs.new_zeros(()) if sinks is None else sinks[:, None])
        return out
    if count > 1 and max_seqlen_q > 0 and q.numel():
        numbers = (d**-0.5 if scale is None else scale, softcap or 1.0, max_seqlen_q)
        values = (q, k, v, cu_seqlens_q, cu_seqlens_k, out, logs, sinks, *numbers)
        _launch(values, left, right, softcap is not None, max_seqlen_q <= _FEW)
    return out


def _choose(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    out: Tensor,
    logs: Tensor | None,
    sinks: Tensor | None,
    scale: float,
    cap: float,
    longest: int,
    left: int,
    right: int,
    softcap: bool,
    few: bool,
) -> LaunchSequence:
    """One launch; where sequences begin and end are views of their offsets."""
    b = (cu_seqlens_q.shape[0] - 1,)
    ends = (TensorView(GivenTensor(i), b, (1,), at) for i in (3, 4) for at in (0, 1))
    statics = varlen_statics(
        q.shape[-1], left, right, softcap=softcap, sinks=sinks is not None, few=few
    )
    values = (
        *(GivenTensor(i) for i in range(3)),
        *ends,
        GivenTensor(5),
        GivenScalar(8),
        GivenScalar(10),
        GivenScalar(9),
        None if logs is None else GivenTensor(6),
        None if sinks is None else GivenTensor(7),
    )
    return LaunchSequence((LaunchStep(packed_attention, values, statics),))


_launch = Dispatch(_choose)
