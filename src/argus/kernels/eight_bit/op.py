"""Products with weights of eight bits on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Buffer, Dispatch, GivenTensor, LaunchSequence, LaunchStep
from argus.ir.dtypes import FOREIGN
from argus.kernels.eight_bit.entry import tile_statics
from argus.kernels.eight_bit.kernel import int8_parts, int8_small, int8_weights
from argus.kernels.gemm.made import made_first
from argus.kernels.gemm.plan import Operands, sum_step, tensor_places
from argus.kernels.tensors import multiprocessors, row_bytes, tma_rows, tma_store
from argus.kernels.weight_tiles import best_tiles, plan_of_numbers
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["int8_gemm"]


def int8_gemm(
    a: Tensor2,
    weight: Tensor2,
    scales: Tensor1,
    bias: Tensor1 | None = None,
    *,
    out: Tensor2 | None = None,
) -> Tensor:
    """``(a @ weight.T) * scales + bias``: only the weights have eight bits.

    a (M, K) of bfloat16 or float16; ``weight`` (N, K) int8; ``scales`` and ``bias``
    (N,) of any float. Sums are f32, result (M, N) in the type of a. Of many
    rows the scaled weights are rounded to that type first (a buffer of 2 N K bytes).
    Raises ArgusError AG0801 for shapes that do not fit, a K that is no multiple of 16,
    or rows that TMA cannot address.
    """
    (m, k), n = a.shape, weight.shape[0]
    if not k or weight.shape[1] != k:
        text = f"`weight` is {tuple(weight.shape)}, and `a` {(m, k)}"
        raise fail("AG0801", None, text)
    if k % 16:
        raise fail("AG0801", None, f"{k} columns are no multiple of 16")
    if tuple(scales.shape) != (n,):
        raise fail("AG0801", None, f"`scales` is {tuple(scales.shape)}, not {(n,)}")
    for name, tensor in (("a", a), ("weight", weight)):
        if not tma_rows(tensor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")
    if out is None:
        out = a.new_empty((m, n))
    if out.numel():
        _launch((a, weight, scales, out, bias))
    return out


def _numbers(made: Buffer) -> LaunchStep:
    """The launch that makes numbers of all weights."""
    return LaunchStep(int8_weights, (GivenTensor(1), GivenTensor(2), made), {})


def _choose(
    a: Tensor, weight: Tensor, scales: Tensor, out: Tensor, bias: Tensor | None
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    (m, k), n = a.shape, weight.shape[0]
    dtype = FOREIGN[str(a.dtype).removeprefix("torch.")]
    whole = plan_of_numbers(m, n, k, row_bytes(a), multiprocessors(a), 1)
    if whole is not None:
        names = tensor_places("A", "", "", "C", "Bias" if bias is not None else "")
        given = Operands(m, n, k, dtype, names)
        return made_first(_numbers, whole, given, tma_store=tma_store(out))
    plan = best_tiles(m, n, k, multiprocessors(a))
    if plan.parts == 1:
        return int8_small, tile_statics(plan)
    sums = Buffer("f32", (plan.parts, m, n))
    added = GivenTensor(4) if bias is not None else None
    factors = (GivenTensor(0), GivenTensor(1), GivenTensor(2), sums, plan.steps(k))
    return LaunchSequence(
        (
            LaunchStep(int8_parts, factors, tile_statics(plan)),
            sum_step(plan.parts, sums, GivenTensor(3), added),
        )
    )


_launch = Dispatch(_choose)
