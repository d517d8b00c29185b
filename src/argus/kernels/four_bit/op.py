"""Products with weights of four bits on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch
from argus.kernels.four_bit.choice import few_statics
from argus.kernels.four_bit.few import int4_few
from argus.kernels.tensors import multiprocessors, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["int4_gemm"]


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
    result (M, N) in the type of a.

    ``group``: 32, 64 or a multiple of 128; it divides K. Raises ArgusError AG0801 for
    other groups, shapes that do not fit, or rows that TMA cannot address.
    """
    import torch

    _check(a, weight, {"scales": scales, "zeros": zeros}, group)
    if out is None:
        out = a.new_empty((a.shape[0], weight.shape[0]))
    if out.numel():
        fours = weight.view(torch.uint16)
        _launch((a, fours, scales, out, zeros, bias), group, int(signed))
    return out


def _check(
    a: Tensor, weight: Tensor, groups: dict[str, Tensor | None], group: int
) -> None:
    """Raise AG0801 for what no kernel would refuse in terms of these arguments."""
    k, n = a.shape[1], weight.shape[0]
    if group not in (32, 64) and (group < 128 or group % 128):
        raise fail("AG0801", None, f"groups of {group} are not 32, 64 or whole 128s")
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


def _choose(
    a: Tensor,
    weight: Tensor,
    scales: Tensor,
    out: Tensor,
    zeros: Tensor | None,
    bias: Tensor | None,
    group: int,
    signed: int,
) -> tuple[Kernel, dict[str, object]]:
    m, n = out.shape
    statics = few_statics(m, n, multiprocessors(a))
    return int4_few, {**statics, "GROUP": group, "SIGNED": bool(signed)}


_launch = Dispatch(_choose)
