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
from argus.kernels.single.launch import single_product
from argus.kernels.tensors import aligned_rows, on_hopper, row_bytes, tma_rows
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
    *,
    precision: str = "f32",
) -> Tensor:
    """``activation(a @ b.T + bias) + residual``: a (M, K), b (N, K), result (M, N).

    16-bit floats, f32 accumulation; ``bias`` (N,), ``residual`` (M, N). Any sizes and
    row strides. Of float32 all tensors are; its ``precision`` is "f32", which copies
    the factors into parts of bf16 (12 bytes for each element; what is beyond 2**127
    gives NaN), or "tf32": 11 bits of each factor are multiplied. Raises ArgusError
    AG0801 for an unknown activation or precision.
    """
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise fail("AG0801", None, f"no activation {activation!r}", help=f"try {known}")
    if out is None:
        out = a.new_empty((a.shape[0], b.shape[0]))
    _launch((a, b, out, bias, residual), activation, precision)
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


_launch = Dispatch(_choose)
