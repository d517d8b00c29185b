"""GEMM: sizes, forms, reference. The kernels are in ``kernel.py``."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.ir.dtypes import DType, bf16, f32
from argus.isa.registry import has_family
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.gemm.kernel import gemm_sm80, gemm_sm90, gemm_small, gemm_thin
from argus.kernels.gemm.tiles import HALVES, Elements, MeasuredTile, best_tile
from argus.lang.kernel import Kernel
from argus.lang.library import relu

REGISTERS = {1: 0, 2: 240, 3: 160}
"""Budget of a math thread by warpgroups; 0: what the launch gives each thread."""


def product_arguments(
    operand: DType, result: DType
) -> Callable[[Case], tuple[Argument, ...]]:
    """Arguments of cases: A and B of one type, C and what is added to it of another."""

    def arguments(case: Case) -> tuple[Argument, ...]:
        m, n, k = (case.sizes[d] for d in "MNK")
        found = [
            Argument("A", operand, (m, k)),
            Argument("B", operand, (n, k)),
            Argument("C", result, (m, n), "output"),
        ]
        if "bias" in case.options:
            found.append(Argument("Bias", f32, (n,)))
        if "residual" in case.options:
            found.append(Argument("Residual", result, (m, n)))
        return tuple(found)

    return arguments


def tile_statics(
    tile: MeasuredTile, *, tma_store: bool, epilogue: bool
) -> dict[str, object]:
    """Static parameters of `gemm_sm90` with a tile.

    ``tma_store``: TMA can address the rows of C. An epilogue (bias, activation or
    residual) needs registers of its own: it finishes the accumulator in narrower
    slices. Without TMA neighbours write neighbours, of which there are as many as
    threads, or half of them, in slices of 64 and 32: 160 columns took a quarter less.
    """
    widths = (32, 16, 8) if epilogue else (64, 56, 48, 40, 32, 16, 8)
    if not tma_store:
        widths = tuple(sorted(widths, key=lambda width: (width % 16 != 0, -width)))
    return {
        "BC": next(w for w in widths if tile.statics["BN"] % w == 0),
        **tile.statics,
        "TMA_STORE": tma_store,
        "STAGED": not tma_store,
        "REGISTERS": REGISTERS[tile.statics["WARPGROUPS"]],
    }


def form_of(
    tile: MeasuredTile,
    m: int,
    n: int,
    k: int,
    *,
    tma_store: bool = True,
    epilogue: bool = False,
) -> tuple[Kernel, dict[str, object]]:
    """The kernel of a tile and its static parameters; see :func:`tile_statics`."""
    match tile.form:
        case "persistent":
            # Without hints for L2, with which it was slower at few rows.
            statics = tile_statics(tile, tma_store=tma_store, epilogue=epilogue)
            return gemm_sm90, statics
        case "pairs" | "elements":
            vectors = tile.form == "pairs"
            return gemm_sm80, {**tile.statics, "VECTORS": vectors, "STAGED": True}
        case "thin":
            return gemm_thin, thin_statics(tile, m, n, k, HALVES)
        case _:
            statics = small_statics(tile, m, n, k, HALVES)
            del statics["STEPWISE"]  # 16-bit results are added up by tensor cores
            return gemm_small, statics


def small_statics(
    tile: MeasuredTile, m: int, n: int, k: int, of: Elements
) -> dict[str, object]:
    """Static parameters of a small tile, for all types."""
    assert tile.form == "small", tile.form
    sizes = {**tile.statics_of(of), **streamed(tile, m, n, k, of)}
    return {**sizes, "STEPWISE": of.stepwise}


def thin_statics(
    tile: MeasuredTile, m: int, n: int, k: int, of: Elements
) -> dict[str, object]:
    """Static parameters of a thin tile, for all types."""
    assert tile.form == "thin", tile.form
    return {**tile.statics_of(of), **streamed(tile, m, n, k, of)}


_STREAMED = 1 << 24
"""Bytes from which an operand that is read once is not kept in L2 (a third of it)."""


def streamed(
    tile: MeasuredTile, m: int, n: int, k: int, of: Elements = HALVES
) -> dict[str, object]:
    """Static parameters that say which operands L2 need not keep."""
    return {
        "STREAM_A": n <= tile.statics["BN"] and of.factor * m * k >= _STREAMED,
        "STREAM_B": m <= tile.statics["BM"] and of.factor * n * k >= _STREAMED,
    }


def ampere_statics(*, vectors: bool) -> dict[str, object]:
    """Static parameters of the Ampere form.

    Rows without at least 4-byte alignment (``vectors`` false) are copied through
    registers, element by element, and want smaller tiles.
    """
    return {} if vectors else {"BM": 64, "BN": 64, "VECTORS": False}


def _choose(case: Case, target: str) -> KernelChoice:
    m, n, k = (case.sizes[d] for d in "MNK")
    statics: dict[str, object] = {}
    if "relu" in case.options:
        statics["ACTIVATION"] = relu
    if has_family("wgmma", target) and k % 8 == 0:
        epilogue = bool({"bias", "residual", "relu"} & set(case.options))
        tile = best_tile(m, n, k)
        # A case's own tile has slices and budgets of its own.
        tile = replace(tile, statics={**tile.statics, **case.statics})
        statics |= tile_statics(tile, tma_store=n % 8 == 0, epilogue=epilogue)
        return KernelChoice(gemm_sm90, {**statics, **case.statics})
    return _choose_ampere(case, target)


def _choose_ampere(case: Case, target: str) -> KernelChoice:
    statics = ampere_statics(vectors=case.sizes["K"] % 2 == 0)
    if "relu" in case.options:
        statics["ACTIVATION"] = relu
    return KernelChoice(gemm_sm80, {**statics, **case.statics})


def product_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    """C = relu(A B^T + Bias) + Residual, as far as a case has them."""
    out = arrays["A"] @ arrays["B"].T
    if "Bias" in arrays:
        out = out + arrays["Bias"]
    if "relu" in case.options:
        out = xp.where(out > 0, out, 0 * out)
    if "Residual" in arrays:
        out = out + arrays["Residual"]
    return {"C": out}


def _work(case: Case) -> Work:
    m, n, k = (case.sizes[d] for d in "MNK")
    return Work(2 * m * n * k, 2 * (m * k + n * k + m * n))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    a, b = arrays["A"], arrays["B"]
    return {"cuBLAS": lambda: torch.matmul(a, b.T)}


def product_case(m: int, n: int, k: int, **options: object) -> Case:
    """A product of m x k and k x n; options in small letters are part of its name."""
    words = [w for w in options if w.islower()]
    return Case(
        "x".join(map(str, (m, n, k))) + "".join(f" {w}" for w in words),
        {"M": m, "N": n, "K": k},
        options,
    )


LARGE = tuple(
    product_case(*s)
    for s in (
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (16384, 16384, 16384),
        (4096, 14336, 4096),
        (4096, 4096, 14336),
        (8192, 28672, 8192),
        (8192, 8192, 28672),
        (8192, 10240, 8192),
        (8192, 8192, 2048),
        (512, 8192, 8192),
        (2048, 2048, 32768),
        (4000, 4000, 4000),
        (8200, 8200, 8200),
    )
)

_ODD = tuple(
    Case(name, {"M": m, "N": n, "K": k})
    for name, m, n, k in (
        ("one row", 1, 4096, 4096),
        ("a few rows", 16, 8192, 8192),
        ("one past a tile", 129, 257, 72),
        ("no dimension a multiple of 16", 1000, 1004, 1048),
        ("less than a step of K", 300, 520, 8),
        ("long K", 136, 264, 50_000),
        ("K that TMA cannot address", 333, 555, 777),
        ("odd N", 257, 1001, 512),
        ("more tiles than multiprocessors", 3000, 7000, 264),
    )
)

_SMALL = {"BM": 128, "BN": 64, "BK": 64, "BC": 32, "STAGES": 2, "WARPGROUPS": 2}
"""Two warpgroups, several steps of K and two slices of C, in few blocks."""
_ACROSS = {"BM": 64, "BN": 80, "BK": 16, "BC": 40, "WARPGROUPS": 1, "CLUSTER": 2}
"""For clusters along N: short steps of K, and slices of C of five chunks of TMA."""

GEMM = LibraryEntry(
    name="gemm",
    title="matrix product, bf16, f32 accumulation, with epilogue",
    arguments=product_arguments(bf16, bf16),
    choose=_choose,
    reference=product_reference,
    work=_work,
    small=(
        product_case(256, 256, 128, **_SMALL),
        product_case(200, 136, 72, **_SMALL, bias=1, residual=1, relu=1),
        product_case(130, 208, 72, **_ACROSS, ACROSS=True, bias=1),
        product_case(64, 96, 40, BM=64, BN=64, BK=64, STAGES=3, WARPGROUPS=1),
    ),
    odd=_ODD,
    large=LARGE,
    baselines=_baselines,
    beside="cuBLAS",
    line="matrix product, bf16",
    epilogues=("bias", "relu", "residual"),
)

GEMM_AMPERE = replace(
    GEMM,
    name="gemm_sm80",
    title="matrix product with cp.async, one tile per block",
    choose=_choose_ampere,
    small=(
        product_case(128, 128, 128, BM=64, BN=64, BK=32),
        product_case(100, 75, 77, BM=64, BN=64, BK=32, bias=1, residual=1, relu=1),
        product_case(70, 90, 50, BM=64, BN=64, BK=32),
    ),
    large=(
        product_case(4096, 4096, 4096),
        product_case(8192, 8192, 8192),
        product_case(4095, 4097, 4093),
    ),
    line="the same with `cp.async`, one tile per block",
    targets=("sm_80", "sm_90a"),
)

ENTRIES = (GEMM, GEMM_AMPERE)
