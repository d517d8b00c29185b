"""The library as functions on torch tensors: allocate, choose a form, launch.

    from argus import ops
    y = ops.gemm(x, w, bias, activation="relu")

Each function checks nothing that the kernel's own contract checks: a wrong argument is
an ArgusError before anything is launched. Results are on the inputs' device, computed
on its current stream, and usable under CUDA graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.calls import launch
from argus.diagnostics import fail
from argus.kernels.gemm import gemm_sm80, gemm_sm90
from argus.kernels.grouped import grouped_gemm as _grouped
from argus.kernels.library.attention import attention_form
from argus.kernels.library.gemm import ampere_statics, hopper_statics
from argus.kernels.library.norms import row_statics
from argus.kernels.norms import rmsnorm as _rmsnorm
from argus.kernels.norms import softmax as _softmax
from argus.lang.library import gelu, identity, relu, silu

if TYPE_CHECKING:
    from torch import Tensor

ACTIVATIONS = {"none": identity, "relu": relu, "gelu": gelu, "silu": silu}


def gemm(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    activation: str = "none",
    out: Tensor | None = None,
) -> Tensor:
    """``activation(a @ b.T + bias) + residual``: a (M, K), b (N, K), result (M, N).

    16-bit floats, f32 accumulation; ``bias`` (N,), ``residual`` (M, N). Any sizes and
    row strides. Raises ArgusError AG0801 for an unknown activation.
    """
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise fail("AG0801", None, f"no activation {activation!r}", help=f"try {known}")
    import torch

    (m, k), n = a.shape, b.shape[0]
    out = torch.empty((m, n), dtype=a.dtype, device=a.device) if out is None else out
    statics: dict[str, object] = {"ACTIVATION": ACTIVATIONS[activation]}
    values = {"A": a, "B": b, "C": out, "Bias": bias, "Residual": residual}
    hopper = torch.cuda.get_device_capability(a.device) == (9, 0)
    if hopper and k > 0 and all(_tma_rows(t) for t in (a, b)):
        store = _tma_rows(out) and n * out.element_size() % 16 == 0
        plain = bias is None and residual is None and activation == "none"
        statics |= hopper_statics(m, tma_store=store, epilogue=not plain)
        if activation == "gelu" and residual is not None:
            statics["SPILL"] = 64  # a few registers, once per tile, not in the loop
        launch(gemm_sm90, (), {**values, **statics})
    else:
        vectors = all(t.stride(0) % 2 == 0 and t.data_ptr() % 4 == 0 for t in (a, b))
        launch(gemm_sm80, (), {**values, **statics, **ampere_statics(vectors=vectors)})
    return out


def _tma_rows(t: Tensor) -> bool:
    """Whether TMA can address the rows of a tensor: 16-byte steps and address."""
    steps = (n * t.element_size() for n in t.stride()[:-1])
    return all(n % 16 == 0 for n in steps) and t.data_ptr() % 16 == 0


def softmax(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax along the last axis of x (M, N); see ``argus.kernels.norms``."""
    import torch

    out = torch.empty_like(x) if out is None else out
    launch(_softmax, (x, out), row_statics(x.shape[-1], 8 * x.element_size()))
    return out


def rmsnorm(
    x: Tensor, weight: Tensor, eps: float = 1e-6, out: Tensor | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + eps) * weight`` over the rows of x (M, N)."""
    import torch

    out = torch.empty_like(x) if out is None else out
    statics = row_statics(x.shape[-1], 8 * x.element_size())
    launch(_rmsnorm, (x, weight, out, eps), statics)
    return out


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
    kernel, statics = attention_form(
        d, q.shape[2], causal=causal, tma_store=_tma_rows(into)
    )
    launch(kernel, (q, k, v, into, scale), statics)
    return out


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


def grouped_gemm(
    x: Tensor,
    w: Tensor,
    ends: Tensor,
    rows: Tensor | None = None,
    scatter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Per-expert product: positions up to ``ends[e]`` use ``w[e]`` (E, N, K).

    Position p reads row ``rows[p]`` of x (R, K) and writes row ``scatter[p]`` of the
    result (P, N); without tables, row p. ``ends`` (E,) i32, ascending. Nothing waits
    for the device: the tile table is computed there.
    """
    import torch

    positions = x.shape[0] if rows is None else rows.shape[0]
    size = (positions, w.shape[1])
    out = torch.empty(size, dtype=x.dtype, device=x.device) if out is None else out
    expert, start, end = tile_table(ends, positions)
    values = {"X": x, "W": w, "Y": out, "Expert": expert, "Start": start, "End": end}
    launch(_grouped, (), {**values, "Rows": rows, "Out": scatter})
    return out


def tile_table(
    ends: Tensor, positions: int, rows: int = 128
) -> tuple[Tensor, Tensor, Tensor]:
    """Expert, first and end position of every tile of ``rows`` positions, on device.

    There are as many tiles as any split may need; unused ones have expert -1.
    """
    import torch

    ends = ends.to(torch.int32)
    begins = torch.cat((ends.new_zeros(1), ends[:-1]))
    tiles = (ends - begins + rows - 1) // rows
    last = torch.cumsum(tiles, 0, dtype=torch.int32)
    index = torch.arange(
        positions // rows + ends.shape[0], dtype=torch.int32, device=ends.device
    )
    expert = torch.searchsorted(last, index, right=True, out_int32=True)
    used = expert < ends.shape[0]
    safe = torch.where(used, expert, 0)
    within = index - (last[safe] - tiles[safe])
    start = begins[safe] + within * rows
    return torch.where(used, expert, -1), start, ends[safe]
