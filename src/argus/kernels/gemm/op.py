"""Matrix products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.ir.dtypes import FOREIGN, DType, bf16, f32
from argus.kernels.gemm.entry import ampere_statics, form_of
from argus.kernels.gemm.kernel import gemm_sm80
from argus.kernels.gemm.plan import (
    Operands,
    ProductPlan,
    best_plan,
    launches,
    tensor_places,
)
from argus.kernels.gemm.turned import batched_product, turned, turned_product
from argus.kernels.single.launch import single_product
from argus.kernels.tensors import aligned_rows, on_hopper, row_bytes, tma_rows
from argus.lang.kernel import Kernel
from argus.lang.library import gelu, identity, relu, silu

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["batched_gemm", "gemm"]

ACTIVATIONS = {"none": identity, "relu": relu, "gelu": gelu, "silu": silu}


def gemm(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    activation: str = "none",
    out: Tensor | None = None,
    *,
    precision: str = "f32",
) -> Tensor:
    """``activation(a @ b.T + bias) + residual``: a (M, K), b (N, K), result (M, N).

    16-bit floats, f32 accumulation; ``bias`` (N,), ``residual`` (M, N). Any sizes and
    row strides; a and b may be transposes of such tensors, too, which are read as they
    lie (on Hopper). Of float32 all tensors are, and none is a transpose; its
    ``precision`` is "f32", which copies the factors into parts of bf16 (12 bytes for
    each element; what is beyond 2**127 gives NaN), or "tf32": 11 bits of each factor
    are multiplied. Raises ArgusError AG0801 for an unknown activation or precision.
    """
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise fail("AG0801", None, f"no activation {activation!r}", help=f"try {known}")
    if out is None:
        out = a.new_empty((a.shape[0], b.shape[0]))
    turns = (turned(a), turned(b))
    if any(turns) and a.element_size() == _HALF and on_hopper(a) and a.shape[1]:
        a, b = (t.T if turn else t for t, turn in zip((a, b), turns, strict=True))
        if out.numel():
            _launch_turned((a, b, out, bias, residual), *turns, activation)
        return out
    _launch((a, b, out, bias, residual), activation, precision)
    return out


def batched_gemm(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """``a[p] @ b[p].T`` of each p: a (P, M, K), b (P, N, K), result (P, M, N).

    16-bit floats, f32 accumulation, on Hopper. a and b may be transposed in their last
    two dimensions. Raises ArgusError AG0801 for other shapes, for rows that TMA cannot
    address (16 bytes, also between matrices), and without K.
    """
    p, m, k = a.shape
    if b.dim() != 3 or b.shape[0] != p or b.shape[2] != k:
        text = f"`b` is {tuple(b.shape)}, and `a` {tuple(a.shape)}"
        raise fail("AG0801", None, text, help="a (P, M, K) and b (P, N, K)")
    if out is None:
        out = a.new_empty((p, m, b.shape[1]))
    if not out.numel():
        return out
    if not k:
        raise fail("AG0801", None, "there is nothing to sum")
    turns = (turned(a), turned(b))
    a, b = (t.mT if turn else t for t, turn in zip((a, b), turns, strict=True))
    for name, tensor in (("a", a), ("b", b)):
        if not tma_rows(tensor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")
    _launch_batch((a, b, out), *turns)
    return out


def _choose(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    activation: str,
    precision: str,
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """What the table says on Hopper; else copies of 4 bytes or fewer."""
    (m, k), n = a.shape, b.shape[0]
    function = ACTIVATIONS[activation]
    if _element(a) is f32:
        return single_product((a, b, out, bias, residual), function, precision)
    if precision != "f32":
        raise fail("AG0801", None, f"{precision!r} is a precision of float32 tensors")
    if not on_hopper(a) or not m * n * k:
        vectors = all(r % 2 == 0 for r in (k, aligned_rows(a), aligned_rows(b)))
        return gemm_sm80, {**ampere_statics(vectors=vectors), "ACTIVATION": function}
    plan = best_plan(m, n, k, (row_bytes(a), row_bytes(b)))
    return planned_product(plan, (a, b, out, bias, residual), function)


def planned_product(
    plan: ProductPlan,
    values: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    activation: object = identity,
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """What a plan launches for A, B, C, bias and residual."""
    a, b, out, bias, residual = values
    (m, k), n = a.shape, b.shape[0]
    plain = bias is None and residual is None and activation is identity
    kernel, statics = form_of(
        plan.tile,
        m,
        n,
        k,
        tma_store=tma_rows(out) and n * out.element_size() % 16 == 0,
        epilogue=not plain,
    )
    if plan.single:
        return kernel, {**statics, "ACTIVATION": activation}
    names = ("A", "B", "C", "Bias", "Residual")
    there = (n if v is not None else "" for n, v in zip(names, values, strict=True))
    given = Operands(m, n, k, _element(a), tensor_places(*there))
    return launches(plan, given, kernel, statics, {"ACTIVATION": activation})


def _element(t: Tensor) -> DType:
    """Its element type; one that Argus lacks is told when the arguments are bound."""
    return FOREIGN.get(str(t.dtype).removeprefix("torch."), bf16)


def _choose_turned(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    turned_a: int,
    turned_b: int,
    activation: str,
) -> LaunchSequence:
    turns = bool(turned_a), bool(turned_b)
    function = ACTIVATIONS[activation]
    values = (a, b, out, bias, residual)
    return turned_product(values, turns, _element(a), function)


def _choose_batch(
    a: Tensor, b: Tensor, out: Tensor, turned_a: int, turned_b: int
) -> LaunchSequence:
    return batched_product(a, b, out, (bool(turned_a), bool(turned_b)))


_HALF = 2
"""Bytes of the elements that are read in any order."""
_launch = Dispatch(_choose)
_launch_turned = Dispatch(_choose_turned)
_launch_batch = Dispatch(_choose_batch)
