"""Attention on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import (
    Buffer,
    Dispatch,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
)
from argus.kernels.attention.entry import attention_form
from argus.kernels.attention.plan import HeadSizes, best_split, launches
from argus.kernels.attention_backward import op as training
from argus.kernels.autograd import followed, without_gradient
from argus.kernels.masked_attention.choice import causal_statics, masked_statics
from argus.kernels.masked_attention.kernel import masked_attention
from argus.kernels.tensors import multiprocessors, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor3, Tensor4

__all__ = ["attention"]


def attention(
    q: Tensor4,
    k: Tensor4,
    v: Tensor4,
    *,
    causal: bool = False,
    scale: float | None = None,
    out: Tensor4 | None = None,
    window: int | tuple[int, int] | None = None,
    softcap: float | None = None,
    sinks: Tensor1 | None = None,
    logs: Tensor3 | None = None,
) -> Tensor:
    """Attention forward: q (B, H, S, D), k and v (B, G, T, D), H a multiple of G.

    D: a multiple of 16, at most 256. ``causal``: query s sees keys t <= s. ``window``
    (left, right): it sees keys from s - left to s + right, -1 for no bound; one number
    n is (n - 1, 0). ``scale`` defaults to 1 / sqrt(D). ``softcap`` c > 0: a score x
    becomes c * tanh(x / c). ``sinks`` (H,) f32: a score of each head that has no value.
    ``logs`` (B, H, S) f32 gets the logarithms of the sums of exponentials.

    q, k and v have gradients for D up to 128, where nothing but ``causal`` and
    ``scale`` is given.

    Raises ArgusError AG0801 for another D, window or cap, and where a gradient is
    wanted that there is not. A query that sees no key is refused.
    """
    import torch

    d = q.shape[-1]
    if d % 16 or not 0 < d <= 256:
        text = f"attention takes head dimensions 16, 32, ... 256, not {d}"
        raise fail("AG0801", None, text, help="pad the head dimension with zeros")
    if followed(q, k, v, sinks):
        plain = (out, window, softcap, sinks, logs) == (None,) * 5
        if plain and d <= training.LARGEST:
            return training.attention_forward(q, k, v, causal=causal, scale=scale)[0]
        text = "attention with windows, caps, sinks, logs or out, or D beyond 128,"
        without_gradient(text, q, k, v, sinks)
    out = torch.empty_like(q) if out is None else out
    scale = d**-0.5 if scale is None else scale
    if (
        window is not None
        or softcap is not None
        or sinks is not None
        or logs is not None
    ):
        left, right = window_bounds(window, causal)
        if softcap is not None and not softcap > 0:
            raise fail("AG0801", None, f"a cap of scores is positive, not {softcap}")
        cap = 1.0 if softcap is None else float(softcap)
        values = (q, k, v, out, logs, scale, cap, sinks)
        _launch_masked(values, left, right, softcap is not None)
        return out
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
    keys, store = k.shape[2], tma_rows(out)
    rest = {"heads": b * h, "multiprocessors": multiprocessors(q)}
    statics = causal_statics(d, rows, keys, tma_store=store, **rest) if causal else None
    if statics is not None:
        logs = Buffer("f32", (b, h, rows))
        given = (GivenTensor(i) for i in range(4))
        values = (*given, logs, GivenScalar(4), 1.0, None)  # no cap, no sinks
        return LaunchSequence((LaunchStep(masked_attention, values, statics),))
    return attention_form(d, rows, keys, causal=causal, tma_store=store, **rest)


def _choose_masked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logs: Tensor | None,
    scale: float,
    cap: float,
    sinks: Tensor | None,
    left: int,
    right: int,
    softcap: bool,
) -> LaunchSequence:
    """One launch; under a window, whose steps are few, without the overlap of them."""
    statics = masked_statics(q.shape[-1], left, right, softcap=softcap)
    given = [GivenTensor(i) for i in range(5)]
    sums = given[4] if logs is not None else Buffer("f32", tuple(q.shape[:3]))
    sink = GivenTensor(7) if sinks is not None else None
    values = (*given[:4], sums, GivenScalar(5), GivenScalar(6), sink)
    return LaunchSequence((LaunchStep(masked_attention, values, statics),))


_launch = Dispatch(_choose)
_launch_masked = Dispatch(_choose_masked)
OPERATORS = training.OPERATORS


def window_bounds(
    window: int | tuple[int, int] | None, causal: bool
) -> tuple[int, int]:
    """Keys to the left and right of its own that a query sees; -1: all of them."""
    if isinstance(window, int):
        window = (window - 1, 0) if window > 0 else (-2, 0)
    left, right = (-1, -1) if window is None else window
    if left < -1 or right < -1:
        raise fail("AG0801", None, f"a window of {window} keys has none of them")
    return left, 0 if causal else right


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
