"""Products with weights of four bits on torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import (
    Buffer,
    Dispatch,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    StepValue,
)
from argus.ir.dtypes import FOREIGN
from argus.kernels.four_bit.choice import (
    are_few,
    few_statics,
    number_statics,
    tile_statics,
)
from argus.kernels.four_bit.few import int4_few, mxfp4_few
from argus.kernels.four_bit.kernel import (
    every_fourth,
    int4_parts,
    int4_small,
    mxfp4_parts,
    mxfp4_small,
)
from argus.kernels.four_bit.weights import int4_weights, mxfp4_weights
from argus.kernels.gemm.made import made_first
from argus.kernels.gemm.plan import Operands, copy_statics, sum_step
from argus.kernels.tensors import multiprocessors, row_bytes, tma_rows, tma_store
from argus.kernels.weight_tiles import best_tiles, plan_of_numbers
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2

__all__ = ["int4_gemm", "mxfp4_gemm"]

_MX = 32
"""Numbers that share a scale (OCP Microscaling Formats, MXFP4)."""


def int4_gemm(
    a: Tensor2,
    weight: Tensor2,
    scales: Tensor2,
    zeros: Tensor2 | None = None,
    bias: Tensor1 | None = None,
    *,
    group: int = 128,
    signed: bool = False,
    out: Tensor2 | None = None,
) -> Tensor:
    """``a @ w.T + bias``, where w[n, k] = (q[n, k] - z[n, g]) * scales[n, g].

    a (M, K) of bfloat16 or float16; ``weight`` (N, K / 2) uint8: number q[n, k] is in
    byte k // 2, in its lower four bits for even k, in its upper four for odd k, from 0
    to 15. ``scales`` and ``zeros`` (N, K / group) in the type of a, with g = k //
    group; without ``zeros`` z is 8. ``signed``: q is from -8 to 7 in two's complement,
    and z is 0 where there are no ``zeros``. ``bias`` (N,) of any float. Sums are f32,
    result (M, N) in the type of a. w is rounded to that
    type but for a few rows; of many, all of it is first (a buffer of 2 N K bytes).

    ``group``: 32, 64 or a multiple of 128; it divides K. Raises ArgusError AG0801 for
    other groups, shapes that do not fit, or rows that TMA cannot address.
    """
    if group not in (32, 64) and (group < 128 or group % 128):
        raise fail("AG0801", None, f"groups of {group} are not 32, 64 or whole 128s")
    _check(a, weight, {"scales": scales, "zeros": zeros}, group)
    if out is None:
        out = a.new_empty((a.shape[0], weight.shape[0]))
    if out.numel():
        words = (a, _words(weight), scales, out, zeros, bias)
        _launch_int4(words, group, int(signed))
    return out


def mxfp4_gemm(
    a: Tensor2,
    weight: Tensor2,
    scales: Tensor2,
    bias: Tensor1 | None = None,
    *,
    out: Tensor2 | None = None,
) -> Tensor:
    """``a @ w.T + bias`` with w in MXFP4 (OCP Microscaling Formats, version 1.0).

    a (M, K) of bfloat16 or float16; ``weight`` (N, K / 2) uint8: element k is e2m1 in
    byte k // 2, in its lower four bits for even k, in its upper four for odd k.
    ``scales`` (N, K / 32) uint8, e8m0: w[n, k] is the element times 2 to the power of
    scales[n, k // 32] - 127. The scale 255, a NaN there, is not looked for. ``bias``
    (N,) of any float. Sums are f32, result (M, N) in the type of a. But for a few
    rows, w is rounded to that type, and beyond float16 it is infinite.

    K is a multiple of 32. Raises ArgusError AG0801 for shapes that do not fit, or rows
    that TMA cannot address.
    """
    _check(a, weight, {"scales": scales}, _MX)
    if out is None:
        out = a.new_empty((a.shape[0], weight.shape[0]))
    if out.numel():
        _launch_mxfp4((a, _words(weight), scales, out, bias))
    return out


def _words(weight: Tensor) -> Tensor:
    """Four numbers in 16 bits."""
    import torch

    return weight.view(torch.uint16)


def _check(
    a: Tensor, weight: Tensor, groups: dict[str, Tensor | None], group: int
) -> None:
    """Raise AG0801 for what no kernel would refuse in terms of these arguments."""
    k, n = a.shape[1], weight.shape[0]
    if not k or k % group:
        raise fail("AG0801", None, f"{k} columns are no whole groups of {group}")
    if tuple(weight.shape) != (n, k // 2):
        shape = tuple(weight.shape)
        raise fail("AG0801", None, f"`weight` is {shape}, not {(n, k // 2)}")
    for name, tensor in groups.items():
        if tensor is not None and tuple(tensor.shape) != (n, k // group):
            shape = tuple(tensor.shape)
            raise fail("AG0801", None, f"`{name}` is {shape}, not {(n, k // group)}")
    for name, tensor in (("a", a), ("weight", weight)):
        if not tma_rows(tensor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")


_A, _W, _S, _C = (GivenTensor(i) for i in range(4))


@dataclass(frozen=True)
class _Format:
    """What multiplies weights of a format, with these static parameters of its own."""

    few: Kernel
    small: Kernel
    parts: Kernel
    statics: dict[str, object]
    zeros: tuple[StepValue, ...]
    """Of the arguments before the bias."""
    numbers: Callable[[Buffer], LaunchStep]
    """The launch that makes numbers of all weights."""


def _choose(
    of: _Format, a: Tensor, out: Tensor, bias: GivenTensor | None
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """The launches of a product."""
    (m, k), n, processors = a.shape, out.shape[1], multiprocessors(a)
    if are_few(m, n, processors):
        return of.few, {**few_statics(), **of.statics}
    dtype = FOREIGN[str(a.dtype).removeprefix("torch.")]
    whole = plan_of_numbers(m, n, k, row_bytes(a), processors, 0.5)
    if whole is not None:
        tensors: dict[str, StepValue] = {"A": _A, "C": _C}
        if bias is not None:
            tensors["Bias"] = bias
        given = Operands(m, n, k, dtype, tensors)
        return made_first(of.numbers, whole, given, tma_store=tma_store(out))
    plan = best_tiles(m, n, k, processors)
    statics = {**tile_statics(plan), **of.statics}
    columns = Buffer(dtype.name, (4, m, k // 4))
    moved = LaunchStep(every_fourth, (_A, columns), copy_statics(k))
    factors = (columns, _W, _S)
    if plan.parts == 1:
        values = (*factors, _C, *of.zeros, bias)
        return LaunchSequence((moved, LaunchStep(of.small, values, statics)))
    sums = Buffer("f32", (plan.parts, m, n))
    values = (*factors, sums, plan.steps(k), *of.zeros)
    return LaunchSequence(
        (
            moved,
            LaunchStep(of.parts, values, statics),
            sum_step(plan.parts, sums, _C, bias),
        )
    )


def _choose_int4(
    a: Tensor,
    weight: Tensor,
    scales: Tensor,
    out: Tensor,
    zeros: Tensor | None,
    bias: Tensor | None,
    group: int,
    signed: int,
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    form: dict[str, object] = {"GROUP": group, "SIGNED": bool(signed)}
    zero = GivenTensor(4) if zeros is not None else None

    def numbers(made: Buffer) -> LaunchStep:
        statics = {**number_statics(group), **form}
        return LaunchStep(int4_weights, (_W, _S, made, zero), statics)

    of = _Format(int4_few, int4_small, int4_parts, form, (zero,), numbers)
    return _choose(of, a, out, GivenTensor(5) if bias is not None else None)


def _choose_mxfp4(
    a: Tensor, weight: Tensor, scales: Tensor, out: Tensor, bias: Tensor | None
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    def numbers(made: Buffer) -> LaunchStep:
        return LaunchStep(mxfp4_weights, (_W, _S, made), number_statics(_MX))

    of = _Format(mxfp4_few, mxfp4_small, mxfp4_parts, {}, (), numbers)
    return _choose(of, a, out, GivenTensor(4) if bias is not None else None)


_launch_int4 = Dispatch(_choose_int4)
_launch_mxfp4 = Dispatch(_choose_mxfp4)
