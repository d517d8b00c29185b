"""Products with weights of four bits: sizes, references, baselines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, f32, u16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.four_bit.choice import few_statics
from argus.kernels.four_bit.few import int4_few

_PROCESSORS = 132
"""Multiprocessors that static parameters are chosen for."""


def _group(case: Case) -> int:
    return int(str(case.options.get("GROUP", 128)))


def _arguments(case: Case) -> tuple[Argument, ...]:
    m, n, k = (case.sizes[d] for d in "MNK")
    g = k // _group(case)
    found = [
        Argument("A", bf16, (m, k)),
        Argument("W", u16, (n, k // 4), "index", 2**16),
        Argument("S", bf16, (n, g)),
        Argument("C", bf16, (m, n), "output"),
    ]
    if "zeros" in case.options:
        found.append(Argument("Zeros", bf16, (n, g)))
    if "bias" in case.options:
        found.append(Argument("Bias", f32, (n,)))
    return tuple(found)


def _choose(case: Case, target: str) -> KernelChoice:
    statics = few_statics(case.sizes["M"], case.sizes["N"], _PROCESSORS)
    return KernelChoice(int4_few, {**statics, **case.statics})


def _work(case: Case) -> Work:
    m, n, k = (case.sizes[d] for d in "MNK")
    scales = 2 * n * k // _group(case) * (1 + ("zeros" in case.options))
    return Work(2 * m * n * k, n * k // 2 + scales + 2 * m * (n + k))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    a, w = arrays["A"], arrays["W"]
    n, k = case.sizes["N"], case.sizes["K"]
    dense = torch.randn((n, k), device=a.device, dtype=a.dtype)
    copy = torch.empty_like(w)
    return {"cuBLAS, bf16": lambda: a @ dense.T, "copy": lambda: copy.copy_(w)}


def _case(m: int, n: int, k: int, name: str = "", **options: object) -> Case:
    return Case(name or f"{m}x{n}x{k}", {"M": m, "N": n, "K": k}, options)


INT4 = LibraryEntry(
    name="int4_gemm",
    title="matrix product of a few rows, bf16, weights of four bits with scales",
    arguments=_arguments,
    choose=_choose,
    reference=FileReference(int4_few, ("C",), _choose),
    work=_work,
    small=(
        _case(3, 40, 384, WARPS=2, CLUSTER=1),
        _case(16, 24, 512, WARPS=2, zeros=1, bias=1, GROUP=64, STAGES=2),
        _case(9, 17, 1152, SIGNED=True, bias=1),
    ),
    odd=(
        _case(1, 1, 128, "one number"),
        _case(16, 1000, 1152, "less than a step of K"),
        _case(7, 4097, 4224, "one past a tile", zeros=1),
        _case(13, 555, 992, "groups of 32", GROUP=32, SIGNED=True, bias=1),
    ),
    large=tuple(
        _case(m, n, k)
        for m in (1, 4, 16)
        for n, k in ((4096, 4096), (14336, 4096), (4096, 14336))
    ),
    baselines=_baselines,
    beside="copy",
    line="a few rows by weights of four bits",
    memory_bound=True,
    epilogues=("zeros", "bias"),
)

ENTRIES = (INT4,)
