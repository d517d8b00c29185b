"""Products with weights of four bits on torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Buffer, Dispatch, GivenTensor, LaunchSequence, LaunchStep
from argus.ir.dtypes import FOREIGN
from argus.kernels.four_bit.choice import (
    FEW,
    few_statics,
    many_statics,
    number_statics,
    plan_of_numbers,
)
from argus.kernels.four_bit.few import int4_few, mxfp4_few
from argus.kernels.four_bit.many import int4_many, mxfp4_many
from argus.kernels.four_bit.weights import int4_weights, mxfp4_weights
from argus.kernels.gemm.made import made_first
from argus.kernels.gemm.plan import Operands
from argus.kernels.tensors import multiprocessors, row_bytes, tma_rows, tma_store
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["int4_gemm", "mxfp4_gemm"]

_MX = 32
"""Numbers that share a scale (OCP Microscaling Formats, MXFP4)."""


def int4_gemm(
    a: Tensor,
    weight: Tensor,
    scales: Tensor,
    zeros: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    group: int = 128,
    signed: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``a @ w.T + bias``, where w[n, k] = (q[n, k] - z[n, g]) * scales[n, g].

    a (M, K) of bfloat16 or float16; ``weight`` (N, K / 2) uint8: number q[n, k] is in
    byte k // 2, in its lower four bits for even k, in its upper four for odd k, from 0
    to 15. ``scales`` and ``zeros`` (N, K / group) in the type of a, with g = k //
    group; without ``zeros`` z is 8. ``signed``: q is from -8 to 7 in two's complement,
    and z is 0 where there are no ``zeros``. ``bias`` (N,) of any float. Sums are f32,
    result (M, N) in the type of a. Of more than 16 rows, w is rounded to that type; of
    many, all of it is first (a buffer of 2 N K bytes).

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
    a: Tensor,
    weight: Tensor,
    scales: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``a @ w.T + bias`` with w in MXFP4 (OCP Microscaling Formats, version 1.0).

    a (M, K) of bfloat16 or float16; ``weight`` (N, K / 2) uint8: element k is e2m1 in
    byte k // 2, in its lower four bits for even k, in its upper four for odd k.
    ``scales`` (N, K / 32) uint8, e8m0: w[n, k] is the element times 2 to the power of
    scales[n, k // 32] - 127. The scale 255, a NaN there, is not looked for. ``bias``
    (N,) of any float. Sums are f32, result (M, N) in the type of a. Of more than 16
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


def _form(few: Kernel, many: Kernel, out: Tensor) -> tuple[Kernel, dict[str, object]]:
    """The kernel for a result, and its tiles."""
    (m, n), processors = out.shape, multiprocessors(out)
    if m <= FEW:
        return few, few_statics(m, n, processors)
    return many, many_statics(m, n, processors, tma_store=tma_store(out))


def _of_numbers(
    a: Tensor,
    out: Tensor,
    bias: GivenTensor | None,
    make: Callable[[Buffer], LaunchStep],
) -> LaunchSequence | None:
    """Launches that make numbers of all weights and multiply those, where it pays."""
    (m, k), n = a.shape, out.shape[1]
    if m <= FEW:
        return None
    plan = plan_of_numbers(m, n, k, row_bytes(a), multiprocessors(out))
    if plan is None:
        return None
    dtype = FOREIGN[str(a.dtype).removeprefix("torch.")]
    tensors = {"A": _A, "C": _C}
    if bias is not None:
        tensors["Bias"] = bias
    given = Operands(m, n, k, dtype, tensors)
    return made_first(make, plan, given, tma_store=tma_store(out))


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
    form = {"GROUP": group, "SIGNED": bool(signed)}

    def make(numbers: Buffer) -> LaunchStep:
        zero = GivenTensor(4) if zeros is not None else None
        statics = {**number_statics(group), **form}
        return LaunchStep(int4_weights, (_W, _S, numbers, zero), statics)

    found = _of_numbers(a, out, GivenTensor(5) if bias is not None else None, make)
    if found is not None:
        return found
    kernel, statics = _form(int4_few, int4_many, out)
    return kernel, {**statics, **form}


def _choose_mxfp4(
    a: Tensor, weight: Tensor, scales: Tensor, out: Tensor, bias: Tensor | None
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    def make(numbers: Buffer) -> LaunchStep:
        return LaunchStep(mxfp4_weights, (_W, _S, numbers), number_statics(_MX))

    found = _of_numbers(a, out, GivenTensor(4) if bias is not None else None, make)
    return _form(mxfp4_few, mxfp4_many, out) if found is None else found


_launch_int4 = Dispatch(_choose_int4)
_launch_mxfp4 = Dispatch(_choose_mxfp4)
