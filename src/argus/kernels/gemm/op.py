"""Matrix products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.calls import Dispatch
from argus.diagnostics import fail
from argus.kernels.gemm.entry import ampere_statics, hopper_statics
from argus.kernels.gemm.kernel import gemm_sm80, gemm_sm90
from argus.kernels.tensors import tma_rows
from argus.lang.kernel import Kernel
from argus.lang.library import gelu, identity, relu, silu

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["gemm"]

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
    if out is None:
        out = a.new_empty((a.shape[0], b.shape[0]))
    _launch((a, b, out, bias, residual), activation)
    return out


def _choose(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    activation: str,
) -> tuple[Kernel, dict[str, object]]:
    """TMA and wgmma where they can be used, else copies of 4 bytes or fewer."""
    import torch

    (m, k), n = a.shape, b.shape[0]
    statics: dict[str, object] = {"ACTIVATION": ACTIVATIONS[activation]}
    hopper = torch.cuda.get_device_capability(a.device) == (9, 0)
    if hopper and k > 0 and all(tma_rows(t) for t in (a, b)):
        store = tma_rows(out) and n * out.element_size() % 16 == 0
        plain = bias is None and residual is None and activation == "none"
        statics |= hopper_statics(m, n, k, tma_store=store, epilogue=not plain)
        return gemm_sm90, statics
    vectors = all(t.stride(0) % 2 == 0 and t.data_ptr() % 4 == 0 for t in (a, b))
    return gemm_sm80, {**statics, **ampere_statics(vectors=vectors)}


_launch = Dispatch(_choose)
