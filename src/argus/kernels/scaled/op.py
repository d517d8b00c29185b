"""Matrix products of eight bits on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch
from argus.kernels.scaled.entry import ampere_statics, hopper_statics
from argus.kernels.scaled.kernel import scaled_sm80, scaled_sm90
from argus.kernels.tensors import aligned_rows, on_hopper, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["integer_gemm", "scaled_gemm"]


def scaled_gemm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    *,
    dtype: torch.dtype | None = None,
    fast: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``scale_a * scale_b * (a @ b.T) + bias``: a (M, K), b (N, K), result (M, N).

    ``a`` and ``b`` are of one type: float8_e4m3fn, float8_e5m2, int8 or uint8. Scales
    are float32: both of one element, or one for each row, (M,) or (M, 1) and (N,) or
    (1, N). ``bias`` (N,) of any float. ``dtype`` of the result: bfloat16 if not given.

    ``fast``: sums of floats are left to the tensor cores, which keep fewer bits than
    f32 has; else they are added up in f32 after each step of K. Raises ArgusError
    AG0801 for scales of another shape.
    """
    import torch

    rows = _by_rows(scale_a, scale_b, a.shape[0], b.shape[0])
    if out is None:
        shape = (a.shape[0], b.shape[0])
        out = a.new_empty(shape, dtype=torch.bfloat16 if dtype is None else dtype)
    scales = scale_a.reshape(-1), scale_b.reshape(-1)
    apart = not fast and a.dtype.is_floating_point
    _launch((a, b, out, *scales, bias), int(rows), int(apart))
    return out


def integer_gemm(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """``a @ b.T`` in int32, which wraps: a (M, K), b (N, K), both int8 or uint8."""
    import torch

    if out is None:
        out = a.new_empty((a.shape[0], b.shape[0]), dtype=torch.int32)
    _launch((a, b, out, None, None, None), 0, 0)
    return out


def _by_rows(scale_a: Tensor, scale_b: Tensor, m: int, n: int) -> bool:
    """Whether there is a scale for each row, and not one for each tensor."""
    if scale_a.numel() == scale_b.numel() == 1:
        return False
    if (scale_a.numel(), scale_b.numel()) == (m, n):
        return True
    raise fail(
        "AG0801",
        None,
        f"{scale_a.numel()} and {scale_b.numel()} scales for {m} rows of `a` and {n} "
        "of `b`",
        help="give one scale for each tensor, or one for each row of both",
    )


def _choose(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    scale_a: Tensor | None,
    scale_b: Tensor | None,
    bias: Tensor | None,
    rows: int,
    apart: int,
) -> tuple[Kernel, dict[str, object]]:
    """TMA and wgmma where they can be used, else copies of 4 bytes or fewer."""
    (m, k), n = a.shape, b.shape[0]
    if on_hopper(a) and k > 0 and all(tma_rows(t) for t in (a, b)):
        store = tma_rows(out) and n * out.element_size() % 16 == 0
        return scaled_sm90, hopper_statics(
            m, n, k, rows=bool(rows), apart=bool(apart), tma_store=store
        )
    vectors = all(aligned_rows(t) % 4 == 0 for t in (a, b))
    return scaled_sm80, ampere_statics(rows=bool(rows), vectors=vectors)


_launch = Dispatch(_choose)
