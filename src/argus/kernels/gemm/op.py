"""Matrix products on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.dispatch import Dispatch, LaunchSequence
from argus.ir.dtypes import FOREIGN, DType, bf16, f32
from argus.kernels.autograd import TorchFunction, followed, without_gradient
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
from argus.kernels.tensors import (
    aligned_rows,
    on_hopper,
    row_bytes,
    tma_rows,
    tma_store,
)
from argus.lang.kernel import Kernel
from argus.lang.library import gelu, identity, relu, silu
from argus.runtime.torch_op import OpParameter, tensor

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor1, Tensor2, Tensor3

__all__ = ["batched_gemm", "gemm"]

ACTIVATIONS = {"none": identity, "relu": relu, "gelu": gelu, "silu": silu}


def gemm(
    a: Tensor2,
    b: Tensor2,
    bias: Tensor1 | None = None,
    residual: Tensor2 | None = None,
    activation: str = "none",
    out: Tensor2 | None = None,
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

    Tensors of 16 bits have gradients, without an activation and ``out`` (AG0801 where
    one is wanted that there is not).
    """
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise fail("AG0801", None, f"no activation {activation!r}", help=f"try {known}")
    if followed(a, b, bias, residual):
        if out is None and activation == "none" and a.element_size() == _HALF:
            return _PRODUCT(a, b, bias, residual)
        text = "gemm with an activation, with out=, or of float32"
        without_gradient(text, a, b, bias, residual)
    if out is None:
        out = a.new_empty((a.shape[0], b.shape[0]))
    _multiply(a, b, bias, residual, out, activation, precision)
    return out


def _multiply(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    out: Tensor,
    activation: str = "none",
    precision: str = "f32",
) -> None:
    """Launch for what lies along K, or for what does not."""
    turns = (turned(a), turned(b))
    if any(turns) and a.element_size() == _HALF and on_hopper(a) and a.shape[1]:
        a, b = (t.T if turn else t for t, turn in zip((a, b), turns, strict=True))
        if out.numel():
            _launch_turned((a, b, out, bias, residual), *turns, activation)
        return
    _launch((a, b, out, bias, residual), activation, precision)


def batched_gemm(a: Tensor3, b: Tensor3, out: Tensor3 | None = None) -> Tensor:
    """``a[p] @ b[p].T`` of each p: a (P, M, K), b (P, N, K), result (P, M, N).

    16-bit floats, f32 accumulation, on Hopper. a and b may be transposed in their last
    two dimensions; they have gradients, without ``out``. Raises ArgusError AG0801 for
    other shapes, for rows that TMA cannot address (16 bytes, also between matrices),
    and without K.
    """
    p, m, k = a.shape
    if b.dim() != 3 or b.shape[0] != p or b.shape[2] != k:
        text = f"`b` is {tuple(b.shape)}, and `a` {tuple(a.shape)}"
        raise fail("AG0801", None, text, help="a (P, M, K) and b (P, N, K)")
    if followed(a, b):
        if out is None:
            return _BATCH(a, b)
        without_gradient("batched_gemm with out=", a, b)
    if out is None:
        out = a.new_empty((p, m, b.shape[1]))
    _multiply_batch(a, b, out)
    return out


def _multiply_batch(a: Tensor, b: Tensor, out: Tensor) -> None:
    if not out.numel():
        return
    if not a.shape[2]:
        raise fail("AG0801", None, "there is nothing to sum")
    turns = (turned(a), turned(b))
    a, b = (t.mT if turn else t for t, turn in zip((a, b), turns, strict=True))
    for name, factor in (("a", a), ("b", b)):
        if not tma_rows(factor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")
    _launch_batch((a, b, out), *turns)


# ----------------------------------------------------------------------- gradients


def _result(a: Tensor, b: Tensor, *_: Tensor | None) -> Tensor:
    return a.new_empty((*a.shape[:-1], b.shape[-2]))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, *rest = inputs
    ctx.kinds = [None if t is None else t.dtype for t in rest]
    ctx.save_for_backward(a, b)


def _gradient(ctx: Any, dc: Tensor) -> tuple[Any, ...]:
    """Products with the transposes, which are read as they lie; sums are torch's."""
    import torch

    a, b = ctx.saved_tensors
    needs, dc = ctx.needs_input_grad, dc.contiguous()
    da = gemm(dc, b.T) if needs[0] else None
    db = gemm(dc.T, a.T) if needs[1] else None
    bias = dc.sum(0, dtype=torch.float32).to(ctx.kinds[0]) if needs[2] else None
    return da, db, bias, dc if needs[3] else None


def _batch_gradient(ctx: Any, dc: Tensor) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    needs, dc = ctx.needs_input_grad, dc.contiguous()
    da = batched_gemm(dc, b.mT) if needs[0] else None
    db = batched_gemm(dc.mT, a.mT) if needs[1] else None
    return da, db


_PRODUCT = TorchFunction(
    "argus::gemm",
    (
        tensor("a"),
        tensor("b"),
        OpParameter("bias", "optional_tensor"),
        OpParameter("residual", "optional_tensor"),
    ),
    _multiply,
    _result,
    keep=_keep,
    gradient=_gradient,
)
_BATCH = TorchFunction(
    "argus::batched_gemm",
    (tensor("a"), tensor("b")),
    _multiply_batch,
    _result,
    keep=_keep,
    gradient=_batch_gradient,
)
OPERATORS = (_PRODUCT, _BATCH)


# ------------------------------------------------------------------------- launches


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
        tma_store=tma_store(out),
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
