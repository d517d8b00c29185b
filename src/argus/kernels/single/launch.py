"""What is launched for a matrix product of float32 tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import Buffer, GivenTensor, LaunchSequence, LaunchStep, TensorView
from argus.ir.dtypes import bf16, f32
from argus.kernels.gemm.plan import (
    Operands,
    ProductPlan,
    best_plan,
    candidates,
    launches,
    numbers_of_parts,
    one_launch,
    predicted,
    tensor_places,
)
from argus.kernels.gemm.tiles import ALIGNED, LINE, table
from argus.kernels.single.entry import (
    IN_PARTS,
    SINGLES,
    SPLIT_TILES,
    TF32_ELEMENTS,
    form_of,
    without_tma,
)
from argus.kernels.single.kernel import TERMS, split_parts
from argus.kernels.tensors import on_hopper, row_bytes

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PRECISIONS", "single_plan", "single_product"]

PRECISIONS = ("f32", "tf32")


def single_product(
    values: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    activation: object,
    precision: str,
) -> LaunchSequence:
    """The launches of ``out = activation(a @ b.T + bias) + residual``, all float32.

    ``values``: a (M, K), b (N, K), out (M, N), bias (N,), residual (M, N). Of
    ``precision`` "f32", parts of a and b are made before, 12 bytes for each element,
    but for few rows. Raises ArgusError AG0801 for a precision that is not one of
    `PRECISIONS`.
    """
    a, b, _, _, _ = values
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise fail("AG0801", None, f"no precision {precision!r}", help=f"try {known}")
    (m, k), n = a.shape, b.shape[0]
    names = ("A", "B", "C", "Bias", "Residual")
    there = (n if v is not None else "" for n, v in zip(names, values, strict=True))
    given = Operands(m, n, k, f32, tensor_places(*there), TF32_ELEMENTS, SINGLES)
    epilogue = {"ACTIVATION": activation}
    plan = None
    if on_hopper(a) and m * n * k:
        plan = single_plan(m, n, k, (row_bytes(a), row_bytes(b)), precision)
    return single_launches(plan, given, epilogue, precision)


def single_plan(
    m: int, n: int, k: int, aligned: tuple[int, int], precision: str
) -> ProductPlan:
    """The plan with the least predicted time; ``aligned`` as `best_plan` has it.

    Of "f32", that of few rows as they are, of parts that the kernel makes, or of parts
    along K.
    """
    if precision == "tf32":
        return best_plan(m, n, k, aligned, TF32_ELEMENTS)
    found, of = table(), TF32_ELEMENTS
    whole = (m, n, TERMS * k, (LINE, LINE), IN_PARTS)
    apart = best_plan(*whole)
    each = of.factor + TERMS * IN_PARTS.factor
    made = sum(found.copy(each * rows * k // 2) - found.overlap for rows in (m, n))
    times = [(predicted(found, apart, *whole) + made, apart)]
    for plan in candidates(found, m, n, k, aligned, of):
        if plan.tile.form == "thin":
            times.append((predicted(found, plan, m, n, k, aligned, of), plan))
    copies = (aligned[0] % ALIGNED != 0, aligned[1] % ALIGNED != 0)
    for tile in SPLIT_TILES:
        for parts in (1, *numbers_of_parts(found, tile, m, n, k, of)):
            plan = ProductPlan(tile, parts, copies)
            times.append((predicted(found, plan, m, n, k, aligned, of), plan))
    return min(times, key=lambda timed: timed[0])[1]


def single_launches(
    plan: ProductPlan | None,
    given: Operands,
    epilogue: Mapping[str, object],
    precision: str,
) -> LaunchSequence:
    """The launches of a plan; None: without TMA."""
    whole = plan is not None and plan.tile.form in ("thin", "split")
    if precision == "tf32" or whole:
        return _launched(plan, given, epilogue)
    left, right = (_parts(rows, given.k) for rows in (given.m, given.n))
    first = (
        LaunchStep(split_parts, (GivenTensor(0), left), {"RIGHT": False}),
        LaunchStep(split_parts, (GivenTensor(1), right), {"RIGHT": True}),
    )
    parts = replace(
        given,
        k=TERMS * given.k,
        dtype=bf16,
        tensors={**given.tensors, "A": _flat(left), "B": _flat(right)},
        of=IN_PARTS,
    )
    return LaunchSequence((*first, *_launched(plan, parts, epilogue).steps))


def _launched(
    plan: ProductPlan | None, given: Operands, epilogue: Mapping[str, object]
) -> LaunchSequence:
    if plan is None:
        return one_launch(given, *without_tma(given.dtype), epilogue)
    return launches(plan, given, *form_of(plan, given), epilogue)


def _parts(rows: int, k: int) -> Buffer:
    """Room for the parts of a matrix, in rows of whole lines."""
    line = LINE // IN_PARTS.factor
    step = ceil(TERMS * k / line) * line
    return Buffer(bf16.name, (rows, TERMS, k), (step, k, 1))


def _flat(parts: Buffer) -> TensorView:
    """The parts next to each other along K."""
    rows, terms, k = parts.shape
    return TensorView(parts, (rows, terms * k), (parts.steps[0], 1))
