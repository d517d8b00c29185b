"""What is launched for a matrix product of float32 tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Buffer, GivenTensor, LaunchSequence, LaunchStep, TensorView
from argus.ir.dtypes import DType, bf16, f32
from argus.kernels.single.entry import ampere_statics, hopper_statics
from argus.kernels.single.kernel import TERMS, single_sm80, single_sm90, split_parts
from argus.kernels.tensors import on_hopper, tma_rows
from argus.lang.kernel import Kernel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PRECISIONS", "single_product"]

PRECISIONS = ("f32", "tf32")
_ALIGNED = 8
"""Elements of bf16 between which TMA addresses rows."""


def single_product(
    values: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    activation: object,
    precision: str,
) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
    """The launches of ``out = activation(a @ b.T + bias) + residual``, all float32.

    ``values``: a (M, K), b (N, K), out (M, N), bias (N,), residual (M, N). Of
    ``precision`` "f32", parts of a and b are made before, 12 bytes for each element.
    Raises ArgusError AG0801 for a precision that is not one of `PRECISIONS`.
    """
    a, b, _, bias, residual = values
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise fail("AG0801", None, f"no precision {precision!r}", help=f"try {known}")
    (m, k), n = a.shape, b.shape[0]
    hopper = on_hopper(a) and k > 0
    if precision == "tf32":
        tma = hopper and tma_rows(a) and tma_rows(b)
        kernel, statics = _form(m, n, f32, tma)
        return kernel, {**statics, "ACTIVATION": activation}
    left, right = (_parts(rows, k) for rows in (m, n))
    kernel, statics = _form(m, n, bf16, hopper)
    given = (
        _flat(left),
        _flat(right),
        GivenTensor(2),
        None if bias is None else GivenTensor(3),
        None if residual is None else GivenTensor(4),
    )
    return LaunchSequence(
        (
            LaunchStep(split_parts, (GivenTensor(0), left), {"RIGHT": False}),
            LaunchStep(split_parts, (GivenTensor(1), right), {"RIGHT": True}),
            LaunchStep(kernel, given, {**statics, "ACTIVATION": activation}),
        )
    )


def _form(
    m: int, n: int, operand: DType, tma: bool
) -> tuple[Kernel, dict[str, object]]:
    """TMA and wgmma where they can be used, else copies of 4 bytes."""
    if tma:
        return single_sm90, hopper_statics(m, n, operand)
    return single_sm80, ampere_statics(operand, vectors=True)


def _parts(rows: int, k: int) -> Buffer:
    """Room for the parts of a matrix, whose rows TMA can address."""
    step = -(-TERMS * k // _ALIGNED) * _ALIGNED
    return Buffer(bf16.name, (rows, TERMS, k), (step, k, 1))


def _flat(parts: Buffer) -> TensorView:
    """The parts next to each other along K."""
    rows, terms, k = parts.shape
    return TensorView(parts, (rows, terms * k), (parts.steps[0], 1))
