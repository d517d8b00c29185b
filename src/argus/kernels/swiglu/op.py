"""SwiGLU of matrix products on torch tensors."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch
from argus.kernels.swiglu.kernel import swiglu_sm90
from argus.kernels.tensors import multiprocessors, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor2

__all__ = ["swiglu"]


def swiglu(
    x: Tensor2, w_gate: Tensor2, w_up: Tensor2, out: Tensor2 | None = None
) -> Tensor:
    """``silu(x @ w_gate.T) * (x @ w_up.T)``: x (M, K), weights (N, K), result (M, N).

    bf16 or f16, sums in f32. ``w_gate`` and ``w_up`` may be halves of one tensor.
    Raises ArgusError AG0801 where N is no multiple of 8, or TMA cannot address rows.
    """
    if out is None:
        out = x.new_empty((x.shape[0], w_gate.shape[0]))
    _launch((x, w_gate, w_up, out))
    return out


def statics_for(m: int, n: int, processors: int) -> dict[str, object]:
    """Static parameters for a result of m x n, on so many multiprocessors."""
    if m > 64:
        rows = ceil(m / 128)
        full = rows % 2 == 0 and rows * ceil(n / 128) >= 2 * processors
        return {"CLUSTER": 2 if full else 1}
    # Few rows: the weights are read once, by as many blocks as there are.
    width = next((b for b in (128, 64) if ceil(n / b) * 4 >= 3 * processors), 32)
    return {
        "BM": 64,
        "BN": width,
        "BC": min(64, width),
        "STAGES": {128: 5, 64: 8, 32: 12}[width],
        "WARPGROUPS": 1,
    }


def _choose(
    x: Tensor, w_gate: Tensor, w_up: Tensor, out: Tensor
) -> tuple[Kernel, dict[str, object]]:
    m, n = out.shape
    named = {"x": x, "w_gate": w_gate, "w_up": w_up, "out": out}
    for name, tensor in named.items():
        if tensor.shape[-1] % 8 or not tma_rows(tensor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")
    return swiglu_sm90, statics_for(m, n, multiprocessors(x))


_launch = Dispatch(_choose)
