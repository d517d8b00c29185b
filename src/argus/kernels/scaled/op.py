"""Matrix products of eight bits on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.ir.dtypes import FOREIGN, e4m3
from argus.kernels.gemm.plan import (
    Operands,
    best_plan,
    launches,
    one_launch,
    tensor_places,
)
from argus.kernels.gemm.tiles import Elements
from argus.kernels.scaled.entry import EIGHTS, ampere_statics, form_of
from argus.kernels.scaled.kernel import scaled_sm80
from argus.kernels.tensors import aligned_rows, on_hopper, row_bytes, tma_store

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["integer_gemm", "scaled_gemm"]


def scaled_gemm(
    a: Tensor2,
    b: Tensor2,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor1 | None = None,
    *,
    dtype: torch.dtype | None = None,
    fast: bool = False,
    out: Tensor2 | None = None,
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


def integer_gemm(a: Tensor2, b: Tensor2, out: Tensor2 | None = None) -> Tensor:
    """``a @ b.T`` in int32: a (M, K), b (N, K), both int8 or uint8.

    K is so small that no sum leaves 32 bits: below 2**17 for int8, 2**16 where one of
    both is uint8, 2**15 where both are, less a tile of K (AG0808 beyond).
    """
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
) -> LaunchSequence:
    """What the table says on Hopper; else copies of 4 bytes or fewer."""
    (m, k), n = a.shape, b.shape[0]
    values = (a, b, out, scale_a, scale_b, bias)
    names = ("A", "B", "C", "ScaleA", "ScaleB", "Bias")
    there = (n if v is not None else "" for n, v in zip(names, values, strict=True))
    of = Elements(a.element_size(), out.element_size(), bool(apart))
    dtype = FOREIGN.get(str(a.dtype).removeprefix("torch."), e4m3)
    given = Operands(m, n, k, dtype, tensor_places(*there), of, EIGHTS)
    if not on_hopper(a) or not m * n * k:
        vectors = all(r % 4 == 0 for r in (k, aligned_rows(a), aligned_rows(b)))
        statics = ampere_statics(rows=bool(rows), vectors=vectors)
        return one_launch(given, scaled_sm80, statics, {})
    plan = best_plan(m, n, k, (row_bytes(a), row_bytes(b)), of)
    store = tma_store(out)
    form = form_of(plan.tile, given, rows=bool(rows), tma_store=store)
    return launches(plan, given, *form, {"ROWS": bool(rows)})


_launch = Dispatch(_choose)
