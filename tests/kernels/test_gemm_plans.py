"""Plans of matrix products: what they launch is the product. No GPU.

See `kernels/launching.py`.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest

from argus.compiler import prove
from argus.dispatch import LaunchSequence
from argus.evaluation.arrays import NumpyArrays
from argus.ir.dtypes import bf16, f32
from argus.kernels.gemm.entry import form_of
from argus.kernels.gemm.kernel import (
    copy_rows,
    gemm_parts,
    gemm_small,
    gemm_sum,
    gemm_thin,
)
from argus.kernels.gemm.plan import (
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
    FORMS,
    LINE,
    Elements,
    MeasuredTile,
    table,
)
from argus.lang.library import identity, relu
from argus.requests import Request
from argus.verify.verdict import Verdict
from few import spread
from kernels.launching import execute

SWAPPED = MeasuredTile(
    "small",
    {"BM": 8, "BN": 64, "BK": 64, "STAGES": 2, "WARPGROUPS": 1, "SWAP": True},
)
STRAIGHT = MeasuredTile(
    "small",
    {"BM": 64, "BN": 16, "BK": 64, "STAGES": 3, "WARPGROUPS": 1, "SWAP": False},
)
PAIRS = MeasuredTile(
    "pairs",
    {"BM": 64, "BN": 16, "BK": 64, "STAGES": 3, "WARPS": 4, "MMA": False},
)
ELEMENTS = MeasuredTile(
    "elements",
    {"BM": 32, "BN": 32, "BK": 32, "STAGES": 2, "WARPS": 4, "MMA": True},
)
THIN = MeasuredTile("thin", {"BM": 2, "BN": 4, "BK": 128, "WARPS": 1})
LARGE = MeasuredTile(
    "persistent",
    {"BM": 64, "BN": 32, "BK": 64, "STAGES": 2, "WARPGROUPS": 1, "CLUSTER": 1},
)
PARTS = {"A": bf16, "B": bf16, "W": f32}


def check(
    plan: ProductPlan,
    size: tuple[int, int, int],
    *,
    step: int = 0,
    epilogue: bool = False,
) -> LaunchSequence:
    """Execute a plan on random operands, of which rows are ``step`` elements apart."""
    m, n, k = size
    arrays = NumpyArrays(3)
    a = arrays.normal(bf16, (m, max(k, step)))[:, :k]
    b = arrays.normal(bf16, (n, max(k, step)))[:, :k]
    c = arrays.poisoned(bf16, (m, n))
    bias = arrays.normal(f32, (n,)) if epilogue else None
    residual = arrays.normal(bf16, (m, n)) if epilogue else None
    kernel, statics = form_of(
        plan.tile, m, n, k, tma_store=n % 8 == 0, epilogue=epilogue
    )
    names = ("A", "B", "C", "Bias", "Residual") if epilogue else ("A", "B", "C")
    given = Operands(m, n, k, bf16, tensor_places(*names))
    after = {"ACTIVATION": relu if epilogue else identity}
    sequence = launches(plan, given, kernel, statics, after)
    execute(sequence, (a, b, c, bias, residual))
    want = arrays.exact(a, bf16) @ arrays.exact(b, bf16).T
    if bias is not None and residual is not None:
        want = np.maximum(want + bias, 0) + arrays.exact(residual, bf16)
    found = arrays.exact(c, bf16)
    assert np.linalg.norm(found - want) < 5e-3 * np.linalg.norm(want)
    return sequence


def kernels(sequence: LaunchSequence) -> list[str]:
    return [step.kernel.name for step in sequence.steps]


@pytest.mark.parametrize("tile", [SWAPPED, STRAIGHT], ids=["swapped", "straight"])
@pytest.mark.parametrize("epilogue", [False, True])
def test_parts_of_k(tile: MeasuredTile, epilogue: bool) -> None:
    """Three parts of three steps, of which the last has an odd rest of two."""
    found = check(ProductPlan(tile, 3), (10, 72, 424), epilogue=epilogue)
    assert kernels(found) == ["gemm_parts", "gemm_sum"]
    assert found.steps[0].values[-1] == 3


@pytest.mark.parametrize("tile", [SWAPPED, STRAIGHT], ids=["swapped", "straight"])
@pytest.mark.parametrize("epilogue", [False, True])
def test_small_tiles(tile: MeasuredTile, epilogue: bool) -> None:
    found = check(ProductPlan(tile), (17, 70, 72), step=80, epilogue=epilogue)
    assert kernels(found) == ["gemm_small"]


def test_odd_rows_are_copied_first() -> None:
    found = check(ProductPlan(LARGE, 1, (True, True)), (65, 33, 75), epilogue=True)
    assert kernels(found) == ["copy_rows", "gemm_sm90"]
    found = check(ProductPlan(SWAPPED, 2, (False, True)), (2, 70, 259), step=264)
    assert kernels(found) == ["copy_rows", "gemm_parts", "gemm_sum"]


@pytest.mark.parametrize("size", [(2, 9, 300), (5, 3, 131)])
def test_thin_products(size: tuple[int, int, int]) -> None:
    found = check(ProductPlan(THIN), size, epilogue=True)
    assert kernels(found) == ["gemm_thin"]


@pytest.mark.parametrize(
    ("tile", "size"), [(PAIRS, (70, 37, 130)), (ELEMENTS, (45, 67, 71))]
)
def test_tiles_without_tma(tile: MeasuredTile, size: tuple[int, int, int]) -> None:
    found = check(ProductPlan(tile), size, epilogue=True)
    assert kernels(found) == ["gemm_sm80"]


WITHOUT_TMA = sorted(
    (t for t in table().tiles if t.form in ("pairs", "elements")), key=lambda t: t.form
)


def _without_tma(tile: MeasuredTile) -> Request:
    kernel, statics = form_of(tile, 100, 100, 100)
    step = FORMS[tile.form] // bf16.bytes
    facts = {"K": step, "A_s0": step, "B_s0": step, "N": 1, "C_s0": 1}
    return Request(kernel, dict.fromkeys("ABC", bf16), statics, facts=facts)


@pytest.mark.parametrize(
    "request_",
    [
        *map(_without_tma, spread(WITHOUT_TMA, 3)),
        Request(gemm_small, dict.fromkeys("ABC", bf16), dict(SWAPPED.statics)),
        Request(gemm_small, dict.fromkeys("ABC", bf16), dict(STRAIGHT.statics)),
        Request(gemm_parts, PARTS, dict(SWAPPED.statics)),
        Request(gemm_parts, PARTS, {**STRAIGHT.statics, "BK": 128}),
        Request(gemm_sum, {"W": f32, "C": bf16}, sum_statics(3, 72)),
        Request(gemm_thin, dict.fromkeys("ABC", bf16), dict(THIN.statics)),
        Request(
            copy_rows,
            dict.fromkeys("XYUV", bf16),
            copy_statics(75),
            facts={"K": 1, "X_s0": 1, "U_s0": 1},
        ),
    ],
    ids=lambda r: " ".join([r.kernel.name, *map(str, r.statics.values())]),
)
def test_each_kernel_is_proved(request_: Request) -> None:
    assert prove(request_).report.verdict >= Verdict.PROVED


SIZES = [(1, 4096, 4096), (256, 256, 65536), (3, 5000, 3001), (3333, 4567, 1111)]


@pytest.mark.parametrize("size", SIZES)
def test_plans_are_what_tensors_allow(size: tuple[int, int, int]) -> None:
    m, n, k = size
    for aligned in (gcd(2 * k, LINE), 2):
        pair = (aligned, aligned)
        found = list(candidates(table(), m, n, k, pair))
        assert found
        for plan in found:
            needs = FORMS[plan.tile.form]
            assert aligned % needs == 0 or all(plan.copies)
            if plan.parts > 1:
                assert plan.tile.form == "small"
                steps = plan.tile.steps(k)
                part = -(-steps // plan.parts)
                assert (plan.parts - 1) * part < steps  # none is empty
            assert predicted(table(), plan, m, n, k, pair) > 0
        assert best_plan(m, n, k, pair) in found


def test_few_tiles_are_cut() -> None:
    assert best_plan(256, 256, 65536, (ALIGNED, ALIGNED)).parts > 1


ACROSS = MeasuredTile(
    "persistent",
    {"BM": 64, "BN": 80, "BK": 64, "STAGES": 2, "WARPGROUPS": 1, "CLUSTER": 2}
    | {"ACROSS": True},
)


def test_a_cluster_along_n_takes_tiles_side_by_side() -> None:
    """It fits where C has two of them, and walks one past the last where it must."""
    assert not ACROSS.fits(640, 80)
    assert ACROSS.fits(8, 81)
    assert ACROSS.tiles(65, 161) == 2 * 4
    assert ACROSS.outside(64, 161, 64) == 320 - 161
    found = check(ProductPlan(ACROSS), (70, 168, 72))
    assert kernels(found) == ["gemm_sm90"]


def test_only_16_bits_have_clusters_along_n() -> None:
    for of in (Elements(4, 4), Elements(2, 4, True), Elements(1, 2)):
        assert not ACROSS.fits(640, 640, of)
        plan = best_plan(128, 11008, 4096, (128, 128), of)
        assert plan.tile.statics["BN"] % 32 == 0 or plan.tile.form != "persistent"
