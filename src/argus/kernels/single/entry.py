"""Products with a result of f32: sizes, forms, reference. See ``kernel.py``."""

from dataclasses import replace
from typing import Any

from argus.ir.dtypes import DType, bf16, f32
from argus.isa.registry import has_family
from argus.kernels.entry import Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.gemm.entry import (
    REGISTERS,
    product_arguments,
    product_case,
    product_reference,
    small_statics,
    thin_statics,
)
from argus.kernels.gemm.plan import Helpers, Operands, ProductPlan
from argus.kernels.gemm.tiles import Elements, MeasuredTile, best_tile
from argus.kernels.single.kernel import (
    copy_singles,
    single_sm80,
    single_sm90,
    single_small,
    single_split,
    single_thin,
)
from argus.lang.kernel import Kernel

TF32_ELEMENTS = Elements(f32.bytes, f32.bytes)
"""Of f32, which tensor cores add up, too."""
IN_PARTS = Elements(bf16.bytes, f32.bytes, stepwise=True)
"""Of 16 bits, of which each step is added up in f32."""
_ROW_BYTES = 128
"""Bytes of K in a step of the form without TMA."""


_SPLIT = ("BM", "BN", "BK", "STAGES", "SWAP")


def _split_tile(sizes: tuple[int, ...], *times: float) -> MeasuredTile:
    return MeasuredTile("split", dict(zip(_SPLIT, sizes, strict=True)), 1, times)


SPLIT_TILES = (
    _split_tile((128, 128, 64, 2, False), 5.0, 1.0, 1.36, 1e-5, 0.0, 0.3, 0.25, 0.2),
    _split_tile((64, 128, 64, 3, True), 5.0, 1.0, 1.0, 1e-5, 0.0, 0.3, 0.25, 0.2),
)
"""Tiles of `single_split`; a step of either was measured on an H200, the rest is that
of other small tiles. The second was measured as 128 x 64."""
SINGLES = Helpers(copy=copy_singles)


def elements_of(operand: DType) -> Elements:
    """How factors of a type are multiplied."""
    return TF32_ELEMENTS if operand is f32 else IN_PARTS


def hopper_statics(tile: MeasuredTile, of: Elements) -> dict[str, object]:
    """Static parameters of the Hopper form with a tile."""
    return {
        **tile.statics_of(of),
        "REGISTERS": REGISTERS[tile.statics["WARPGROUPS"]],
        "STEPWISE": of.stepwise,
    }


def form_of(plan: ProductPlan, given: Operands) -> tuple[Kernel, dict[str, object]]:
    """The kernel of a plan's tile and its static parameters."""
    tile, of = plan.tile, given.of
    match tile.form:
        case "persistent":
            return single_sm90, hopper_statics(tile, of)
        case "pairs":
            statics = {n: v for n, v in tile.statics_of(of).items() if n != "MMA"}
            return single_sm80, {**statics, "VECTORS": True}
        case "split":
            return single_split, dict(tile.statics_of(of))
        case "thin":
            return single_thin, thin_statics(tile, given.m, given.n, given.k, of)
        case _:
            return single_small, small_statics(tile, given.m, given.n, given.k, of)


def without_tma(operand: DType) -> tuple[Kernel, dict[str, object]]:
    """The kernel where there is no TMA."""
    return single_sm80, ampere_statics(operand, vectors=True)


def ampere_statics(operand: DType, *, vectors: bool) -> dict[str, object]:
    """Static parameters of the form without TMA; ``vectors``: see the kernel."""
    small: dict[str, object] = {"BM": 64, "BN": 64, "VECTORS": False}
    return {"BK": _ROW_BYTES // operand.bytes, **({} if vectors else small)}


def _choose(operand: DType) -> Any:
    def choose(case: Case, target: str) -> KernelChoice:
        m, n, k = (case.sizes[d] for d in "MNK")
        if has_family("wgmma", target) and k * operand.bytes % 16 == 0:
            of = elements_of(operand)
            statics = hopper_statics(best_tile(m, n, k, of), of)
            return KernelChoice(single_sm90, {**statics, **case.statics})
        return _choose_ampere(operand)(case, target)

    return choose


def _choose_ampere(operand: DType) -> Any:
    def choose(case: Case, target: str) -> KernelChoice:
        vectors = case.sizes["K"] * operand.bytes % 4 == 0
        statics = ampere_statics(operand, vectors=vectors)
        return KernelChoice(single_sm80, {**statics, **case.statics})

    return choose


def _work(size: int) -> Any:
    def work(case: Case) -> Work:
        m, n, k = (case.sizes[d] for d in "MNK")
        return Work(2 * m * n * k, size * (m * k + n * k) + 4 * m * n)

    return work


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    a, b = arrays["A"], arrays["B"]

    def call() -> Any:
        # A property of the process; others' products are as they were.
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return torch.matmul(a, b.T)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return {"cuBLAS": call}


def _rounding_baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    """Which rounds its result to bf16."""
    a, b = arrays["A"], arrays["B"]
    return {"cuBLAS": lambda: a @ b.T}


_SIZES = ((4096, 4096, 4096), (8192, 8192, 8192), (512, 8192, 8192))
_SMALL = {"BM": 128, "BN": 64, "BK": 32, "STAGES": 2, "WARPGROUPS": 2, "REGISTERS": 240}

TF32 = LibraryEntry(
    name="tf32_gemm",
    title="matrix product of f32 as tf32",
    arguments=product_arguments(f32, f32),
    choose=_choose(f32),
    reference=product_reference,
    work=_work(4),
    small=(product_case(200, 136, 76, **_SMALL, bias=1, residual=1),),
    odd=tuple(
        Case(name, {"M": m, "N": n, "K": k})
        for name, m, n, k in (
            ("one row", 1, 4096, 4096),
            ("one past a tile", 129, 257, 72),
            ("less than a step of K", 300, 520, 8),
            ("K that TMA cannot address", 333, 555, 777),
            ("odd N", 257, 1001, 512),
        )
    ),
    large=tuple(product_case(*s) for s in _SIZES),
    baselines=_baselines,
    beside="cuBLAS",
    line="matrix product, tf32",
    epilogues=("bias", "residual"),
)

TF32_AMPERE = replace(
    TF32,
    name="tf32_gemm_sm80",
    title="matrix product of f32 as tf32, with cp.async, one tile per block",
    choose=_choose_ampere(f32),
    small=(product_case(100, 75, 77, BM=64, BN=64, BK=32),),
    large=(product_case(4096, 4096, 4096),),
    line="the same with `cp.async`, one tile per block",
    targets=("sm_80", "sm_90a"),
)

WIDE = replace(
    TF32,
    name="gemm_to_f32",
    title="matrix product, bf16, each step of K added up in f32",
    arguments=product_arguments(bf16, f32),
    choose=_choose(bf16),
    work=_work(2),
    small=(product_case(130, 70, 200, **_SMALL),),
    baselines=_rounding_baselines,
    line="matrix product, bf16, f32 out",
    tolerance=1e-5,
)

ENTRIES = (TF32, TF32_AMPERE, WIDE)
