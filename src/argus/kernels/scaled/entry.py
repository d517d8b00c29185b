"""Products of eight bits: sizes, forms, reference. The kernels are in ``kernel.py``."""

from dataclasses import replace
from typing import Any

from argus.ir.dtypes import bf16, e4m3, f32, i8, i32
from argus.isa.registry import has_family
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.gemm.entry import (
    REGISTERS,
    product_arguments,
    product_case,
    small_statics,
    thin_statics,
)
from argus.kernels.gemm.plan import Helpers, Operands
from argus.kernels.gemm.tiles import Elements, MeasuredTile, best_tile
from argus.kernels.scaled.kernel import (
    copy_eights,
    scaled_parts,
    scaled_sm80,
    scaled_sm90,
    scaled_small,
    scaled_sum,
    scaled_thin,
)
from argus.lang.kernel import Kernel

EIGHTS = Helpers(scaled_parts, scaled_sum, copy_eights)


def hopper_statics(
    tile: MeasuredTile, of: Elements, *, rows: bool, tma_store: bool
) -> dict[str, object]:
    """Static parameters of the Hopper form with a tile.

    ``rows``, ``tma_store``: those of the kernel.
    """
    return {
        **tile.statics_of(of),
        "REGISTERS": REGISTERS[tile.statics["WARPGROUPS"]],
        "TMA_STORE": tma_store,
        "ROWS": rows,
        "APART": of.stepwise,
    }


def form_of(
    tile: MeasuredTile, given: Operands, *, rows: bool, tma_store: bool
) -> tuple[Kernel, dict[str, object]]:
    """The kernel of a tile and its static parameters; see :func:`hopper_statics`."""
    of = given.of
    sizes = given.m, given.n, given.k
    match tile.form:
        case "persistent":
            statics = hopper_statics(tile, of, rows=rows, tma_store=tma_store)
            return scaled_sm90, statics
        case "pairs":
            statics = dict(tile.statics_of(of))
            del statics["MMA"]
            return scaled_sm80, {**statics, "VECTORS": True, "ROWS": rows}
        case "thin":
            return scaled_thin, thin_statics(tile, *sizes, of)
        case _:
            return scaled_small, small_statics(tile, *sizes, of)


def ampere_statics(*, rows: bool, vectors: bool) -> dict[str, object]:
    """Static parameters of the form without TMA; ``vectors``: see the kernel."""
    small: dict[str, object] = {"BM": 64, "BN": 64, "VECTORS": False}
    return {"ROWS": rows, **({} if vectors else small)}


def _arguments(case: Case) -> tuple[Argument, ...]:
    m, n, k = (case.sizes[d] for d in "MNK")
    rows = "rows" in case.options
    found = [
        Argument("A", e4m3, (m, k)),
        Argument("B", e4m3, (n, k)),
        Argument("C", bf16, (m, n), "output"),
        Argument("ScaleA", f32, (m if rows else 1,)),
        Argument("ScaleB", f32, (n if rows else 1,)),
    ]
    if "bias" in case.options:
        found.append(Argument("Bias", f32, (n,)))
    return tuple(found)


def _choose(case: Case, target: str) -> KernelChoice:
    m, n, k = (case.sizes[d] for d in "MNK")
    rows = "rows" in case.options
    if not has_family("wgmma", target) or k % 16:
        return _choose_ampere(case, target)
    apart = "apart" in case.options
    # 16 bytes of bf16; rows of i32 are longer, and as well without a detour.
    of = Elements(e4m3.bytes, bf16.bytes, apart)
    tile = best_tile(m, n, k, of)
    statics = hopper_statics(tile, of, rows=rows, tma_store=n % 8 == 0)
    return KernelChoice(scaled_sm90, {**statics, **case.statics})


def _choose_ampere(case: Case, target: str) -> KernelChoice:
    rows, vectors = "rows" in case.options, case.sizes["K"] % 4 == 0
    statics = ampere_statics(rows=rows, vectors=vectors)
    return KernelChoice(scaled_sm80, {**statics, **case.statics})


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    a, b = (xp.asarray(arrays[x], dtype=xp.float64) for x in "AB")
    out = a @ b.T
    if "rows" in case.options:
        out = out * arrays["ScaleA"][:, None] * arrays["ScaleB"]
    elif "ScaleA" in arrays:
        out = out * arrays["ScaleA"][0] * arrays["ScaleB"][0]
    if "Bias" in arrays:
        out = out + arrays["Bias"]
    return {"C": out}


def _work(size: int) -> Any:
    def work(case: Case) -> Work:
        m, n, k = (case.sizes[d] for d in "MNK")
        return Work(2 * m * n * k, m * k + n * k + size * m * n)

    return work


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    library: Any = torch
    a, b = arrays["A"], arrays["B"]
    rows = "rows" in case.options
    one, two = arrays["ScaleA"], arrays["ScaleB"]
    scales = (one[:, None], two[None, :]) if rows else (one[0], two[0])

    def call() -> Any:
        return library._scaled_mm(
            *(a, b.T, *scales),
            out_dtype=torch.bfloat16,
            use_fast_accum="apart" not in case.options,
        )

    return {"cuBLAS": call}


def _integer_baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    library: Any = torch
    a, b = arrays["A"], arrays["B"]
    return {"cuBLAS": lambda: library._int_mm(a, b.T)}


_SIZES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 28672, 8192),
    (512, 8192, 8192),
)
_SMALL = {"BM": 128, "BN": 64, "BK": 64, "STAGES": 2, "WARPGROUPS": 2, "REGISTERS": 240}
_ODD = tuple(
    Case(name, {"M": m, "N": n, "K": k}, options)
    for name, m, n, k, options in (
        ("one row", 1, 4096, 4096, {}),
        ("one past a tile", 129, 272, 144, {"rows": 1}),
        ("less than a step of K", 300, 520, 16, {"rows": 1, "bias": 1}),
        ("a step outside the tensor cores", 1000, 1008, 1040, {"rows": 1, "apart": 1}),
        ("K that TMA cannot address", 333, 555, 777, {"rows": 1}),
        ("odd N", 257, 1001, 512, {}),
    )
)

SCALED = LibraryEntry(
    name="scaled_gemm",
    title="matrix product, e4m3 with scales, bf16 out",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    work=_work(2),
    small=(
        product_case(256, 128, 128, **_SMALL),
        product_case(200, 144, 80, **_SMALL, rows=1, bias=1),
        product_case(128, 64, 160, **_SMALL, apart=1),
    ),
    odd=_ODD,
    large=(
        *(product_case(*s) for s in _SIZES),
        *(product_case(*s, rows=1, apart=1) for s in _SIZES),
    ),
    baselines=_baselines,
    beside="cuBLAS",
    line="matrix product, e4m3",
    # Sums of floats of eight bits: see `fast` of `argus.ops.scaled_gemm`.
    epilogues=("bias", "rows", "apart"),
)

INTEGER = replace(
    SCALED,
    name="integer_gemm",
    title="matrix product, i8, i32 sums",
    arguments=product_arguments(i8, i32),
    work=_work(4),
    small=(product_case(200, 144, 80, **_SMALL),),
    odd=tuple(Case(c.name, c.sizes) for c in _ODD if "apart" not in c.options),
    large=tuple(product_case(*s) for s in _SIZES),
    baselines=_integer_baselines,
    line="matrix product, i8",
    epilogues=(),
    tolerance=0.0,
)

INTEGER_AMPERE = replace(
    INTEGER,
    name="integer_gemm_sm80",
    title="matrix product, i8, i32 sums, with cp.async, one tile per block",
    choose=_choose_ampere,
    small=(product_case(100, 75, 80, BM=64, BN=64, BK=64),),
    large=(product_case(4096, 4096, 4096),),
    line="the same with `cp.async`, one tile per block",
    targets=("sm_80", "sm_90a"),
)

ENTRIES = (SCALED, INTEGER, INTEGER_AMPERE)
