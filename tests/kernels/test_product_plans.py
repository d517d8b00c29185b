"""Plans of products of f32 and of eight bits: what they launch is the product. No GPU.

See `kernels/launching.py`; `test_gemm_plans.py` has those of 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from argus.compiler import prove
from argus.evaluation.arrays import NumpyArrays
from argus.ir.dtypes import DType, bf16, e4m3, e5m2, f32, i8, i32, u8
from argus.kernels.gemm.plan import (
    Helpers,
    Operands,
    ProductPlan,
    best_plan,
    candidates,
    copy_statics,
    launches,
    predicted,
    sum_statics,
    tensor_places,
)
from argus.kernels.gemm.tiles import (
    ALIGNED,
    LINE,
    Elements,
    MeasuredTile,
    best_tile,
    table,
)
from argus.kernels.scaled import entry as scaled_entry
from argus.kernels.scaled.kernel import scaled_sm90
from argus.kernels.single import entry as single_entry
from argus.kernels.single.kernel import single_sm90, single_split, split_parts
from argus.kernels.single.launch import single_launches, single_plan
from argus.lang.library import relu
from argus.requests import Request
from argus.verify.verdict import Verdict
from few import EVERY, few, rest
from kernels.launching import execute


def tile(form: str, names: str, *values: int) -> MeasuredTile:
    return MeasuredTile(form, dict(zip(names.split(), values, strict=True)))


TF32 = single_entry.TF32_ELEMENTS
_SMALL = "BM BN BK STAGES WARPGROUPS SWAP"
SWAPPED = tile("small", _SMALL, 8, 64, 64, 2, 1, True)
STRAIGHT = tile("small", _SMALL, 64, 16, 64, 3, 1, False)
SPLIT = tile("split", "BM BN BK STAGES SWAP", 128, 128, 64, 2, False)
SPLIT_SWAPPED = tile("split", "BM BN BK STAGES SWAP", 64, 128, 64, 2, True)
THIN = tile("thin", "BM BN BK WARPS", 2, 4, 128, 1)
PAIRS = tile("pairs", "BM BN BK STAGES WARPS MMA", 64, 16, 64, 3, 4, False)
LARGE = tile("persistent", "BM BN BK STAGES WARPGROUPS CLUSTER", 64, 32, 64, 2, 1, 1)
PLANS = {
    "swapped": ProductPlan(SWAPPED),
    "straight": ProductPlan(STRAIGHT),
    "swapped parts": ProductPlan(SWAPPED, 3),
    "straight parts": ProductPlan(STRAIGHT, 3),
    "thin": ProductPlan(THIN),
    "pairs": ProductPlan(PAIRS),
    "copies": ProductPlan(LARGE, 1, (True, True)),
    "a copy, and parts": ProductPlan(SWAPPED, 2, (False, True)),
}


@dataclass(frozen=True)
class Kind:
    """Types of factors and result, and the family of their kernels."""

    factor: DType
    result: DType
    stepwise: bool = False

    @property
    def of(self) -> Elements:
        return Elements(self.factor.bytes, self.result.bytes, self.stepwise)


KINDS = {
    "tf32": Kind(f32, f32),
    "e4m3": Kind(e4m3, bf16),
    "e5m2, apart": Kind(e5m2, f32, stepwise=True),
    "i8": Kind(i8, i32),
    "u8": Kind(u8, bf16),
}


def rows(size: int, k: int, kind: Kind, plan: ProductPlan, side: int) -> Any:
    """Random rows, at a step that the plan needs."""
    arrays = NumpyArrays(3 + side)
    step = k if plan.copies[side] or plan.tile.form == "thin" else -(-k // 16) * 16
    if kind.factor.is_float:
        return arrays.normal(kind.factor, (size, step))[:, :k]
    low, high = kind.factor.integers
    drawn = np.random.default_rng(side).integers(low, high, (size, step))
    return drawn.astype(kind.factor.numpy)[:, :k]


# Each plan of f32 and of one kind of eight bits; of the others what differs by kind.
BY_KIND = ("straight parts", "thin", "pairs", "copies")
PAIRED = [
    (which, name)
    for which in KINDS
    for name in (PLANS if EVERY or which in ("tf32", "i8") else BY_KIND)
]


@pytest.mark.parametrize(("which", "name"), PAIRED)
def test_plans_are_the_product(which: str, name: str) -> None:
    plan, kind = PLANS[name], KINDS[which]
    odd = 44 if plan.tile.form == "pairs" else 41
    m, n, k = 10, 72, 3 * 2 * 128 // kind.factor.bytes + odd
    arrays = NumpyArrays(3)
    a, b = (rows(r, k, kind, plan, side) for side, r in enumerate((m, n)))
    c = arrays.poisoned(kind.result, (m, n))
    x, y = (arrays.exact(t, kind.factor).astype(np.float64) for t in (a, b))
    want = x @ y.T
    if kind.factor is f32:
        bias, residual = arrays.normal(f32, (n,)), arrays.normal(f32, (m, n))
        names, values = ("A", "B", "C", "Bias", "Residual"), (a, b, c, bias, residual)
        given = Operands(
            m, n, k, f32, tensor_places(*names), kind.of, single_entry.SINGLES
        )
        form = single_entry.form_of(plan, given)
        sequence = launches(plan, given, *form, {"ACTIVATION": relu})
        want = np.maximum(want + bias, 0) + residual
    else:
        scales = [np.abs(arrays.normal(f32, (r,))) for r in (m, n)]
        count = 3 if kind.result is i32 else 5
        names = ("A", "B", "C", "ScaleA", "ScaleB")[:count]
        values = (a, b, c, *scales)[:count]
        given = Operands(
            m, n, k, kind.factor, tensor_places(*names), kind.of, scaled_entry.EIGHTS
        )
        form = scaled_entry.form_of(plan.tile, given, rows=True, tma_store=True)
        sequence = launches(plan, given, *form, {"ROWS": True})
        if kind.result is not i32:
            want = want * scales[0][:, None] * scales[1]
    types = (kind.factor, kind.factor, kind.result, f32, f32)
    execute(sequence, values, types)
    found = arrays.exact(c, kind.result)
    least = 0.0 if kind.result is i32 else 2e-3 if kind.factor is f32 else 5e-3
    assert np.linalg.norm(found - want) <= least * np.linalg.norm(want)
    assert len(sequence.steps) == 1 + any(plan.copies) + (plan.parts > 1)


WHOLE = {
    "swapped": (PLANS["swapped"], 3),
    "straight parts": (PLANS["straight parts"], 4),
    "thin": (PLANS["thin"], 1),
    "split": (ProductPlan(SPLIT), 2),
    "split parts": (ProductPlan(SPLIT_SWAPPED, 3), 2),
    "split copies": (ProductPlan(SPLIT, 2, (True, True)), 3),
}


@pytest.mark.parametrize("plan", WHOLE)
def test_f32_in_parts_is_as_accurate_as_f32(plan: str) -> None:
    chosen, launched = WHOLE[plan]
    m, n, k = 10, 72, 212 if plan in ("split", "split parts") else 211
    arrays = NumpyArrays(3)
    a, b = arrays.normal(f32, (m, k)), arrays.normal(f32, (n, k))
    c, bias = arrays.poisoned(f32, (m, n)), arrays.normal(f32, (n,))
    names = tensor_places("A", "B", "C", "Bias")
    given = Operands(m, n, k, f32, names, single_entry.TF32_ELEMENTS)
    given = replace(given, helpers=single_entry.SINGLES)
    sequence = single_launches(chosen, given, {"ACTIVATION": relu}, "f32")
    execute(sequence, (a, b, c, bias))
    want = np.maximum(a.astype(np.float64) @ b.T.astype(np.float64) + bias, 0)
    assert np.linalg.norm(c - want) < 3e-7 * np.linalg.norm(want)
    assert len(sequence.steps) == launched


PARTS = {"X": f32, "P": bf16}
SIZES = [(1, 4096, 4096), (64, 64, 4096), (3, 5000, 3001), (4096, 4096, 4096)]


@pytest.mark.parametrize("which", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_plans_are_what_tensors_allow(which: str, size: tuple[int, int, int]) -> None:
    of = KINDS[which].of
    m, n, k = size
    for aligned in ((LINE, LINE), (of.factor, LINE), (4, 4)):
        found = list(candidates(table(), m, n, k, aligned, of))
        assert found
        for plan in found:
            assert predicted(table(), plan, m, n, k, aligned, of) > 0
            if plan.tile.form in ("persistent", "small"):
                assert plan.copies[0] or aligned[0] % ALIGNED == 0
        assert best_plan(m, n, k, aligned, of) in found


def test_long_sums_are_cut() -> None:
    for kind in KINDS.values():
        assert best_plan(128, 128, 8192, (LINE, LINE), kind.of).parts > 1
    assert single_plan(128, 128, 8192, (LINE, LINE), "f32").parts > 1
    assert single_plan(1, 4096, 4096, (LINE, LINE), "f32").tile.form == "thin"


def _large(kind: Kind) -> Request:
    size, of = (4096, 4096, 4096), kind.of
    tile = best_tile(*size, of)
    if kind.factor in (f32, bf16):
        statics = single_entry.hopper_statics(tile, of)
        types = {"A": kind.factor, "B": kind.factor, "C": f32}
        return Request(single_sm90, types, statics)
    statics = scaled_entry.hopper_statics(tile, of, rows=True, tma_store=True)
    types = {"A": kind.factor, "B": kind.factor, "C": kind.result}
    return Request(scaled_sm90, types, statics)


def _helpers(kind: Kind, helpers: Helpers, sums: DType) -> list[Request]:
    sizes = {**STRAIGHT.statics_of(kind.of), "STEPWISE": kind.stepwise}
    pair = dict.fromkeys("AB", kind.factor)
    return [
        Request(helpers.parts, {**pair, "W": sums}, sizes),
        Request(helpers.sum, {"W": sums, "C": kind.result}, sum_statics(3, 72)),
        Request(helpers.copy, dict.fromkeys("XYUV", kind.factor), copy_statics(75)),
    ]


@pytest.mark.parametrize(
    "request_",
    [
        *map(_large, (*KINDS.values(), Kind(bf16, f32, stepwise=True))),
        *(
            r
            for kind in (KINDS[n] for n in few(KINDS, "tf32", "e4m3", "i8"))
            for r in _helpers(
                kind,
                single_entry.SINGLES if kind.factor is f32 else scaled_entry.EIGHTS,
                f32 if kind.factor.is_float else i32,
            )
        ),
        *(
            Request(single_split, dict.fromkeys("ABW", f32), tile.statics_of(TF32))
            for tile in (SPLIT_SWAPPED, *rest(*single_entry.SPLIT_TILES))
        ),
        *(
            Request(
                split_parts, {"X": f32, "P": bf16}, {"RIGHT": right}, facts={"T": 2}
            )
            for right in (False, True)
        ),
    ],
    ids=lambda r: f"{r.kernel.name} {' '.join(map(str, r.dtypes.values()))}",
)
def test_each_kernel_is_proved(request_: Request) -> None:
    assert prove(request_).report.verdict >= Verdict.PROVED
