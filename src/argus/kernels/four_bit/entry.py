"""Products with weights of four bits: sizes, references, baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import DType, bf16, f32, u8, u16
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.four_bit.choice import few_statics, tile_statics
from argus.kernels.four_bit.few import int4_few, mxfp4_few
from argus.kernels.four_bit.kernel import int4_small, mxfp4_small
from argus.kernels.weight_tiles import TilePlan, best_tiles
from argus.lang.kernel import Kernel

_PROCESSORS = 132
"""Multiprocessors that static parameters are chosen for."""
_MX = 32
"""Numbers that share a scale (OCP Microscaling Formats, MXFP4)."""


def _group(case: Case, scale: DType) -> int:
    return _MX if scale is u8 else int(str(case.options.get("GROUP", 128)))


def _arguments(
    scale: DType, *, split: bool = False
) -> Callable[[Case], tuple[Argument, ...]]:
    """``split``: every fourth column of A is a matrix."""

    def arguments(case: Case) -> tuple[Argument, ...]:
        m, n, k = (case.sizes[d] for d in "MNK")
        g = k // _group(case, scale)
        # Powers of two from 1/128 on, of which sums have few that are large.
        scales = Argument("S", scale, (n, g))
        found = [
            Argument("A", bf16, (4, m, k // 4) if split else (m, k)),
            Argument("W", u16, (n, k // 4), "index", 2**16),
            scales if scale.is_float else replace(scales, draw="index", high=128),
            Argument("C", bf16, (m, n), "output"),
        ]
        if "zeros" in case.options:
            found.append(Argument("Zeros", bf16, (n, g)))
        if "bias" in case.options:
            found.append(Argument("Bias", f32, (n,)))
        return tuple(found)

    return arguments


def _few(kernel: Kernel) -> Callable[[Case, str], KernelChoice]:
    def choose(case: Case, target: str) -> KernelChoice:
        return KernelChoice(kernel, {**few_statics(), **case.statics})

    return choose


def _small(kernel: Kernel) -> Callable[[Case, str], KernelChoice]:
    def choose(case: Case, target: str) -> KernelChoice:
        plan = best_tiles(*(case.sizes[d] for d in "MNK"), _PROCESSORS)
        statics = tile_statics(TilePlan(plan.rows, plan.width))
        return KernelChoice(kernel, {**statics, **case.statics})

    return choose


def _work(scale: DType) -> Callable[[Case], Work]:
    def work(case: Case) -> Work:
        m, n, k = (case.sizes[d] for d in "MNK")
        scales = scale.bytes * n * k // _group(case, scale)
        scales *= 1 + ("zeros" in case.options)
        return Work(2 * m * n * k, n * k // 2 + scales + 2 * m * (n + k))

    return work


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    a, w = arrays["A"], arrays["W"].view(torch.int16)
    n, k = case.sizes["N"], case.sizes["K"]
    dense = torch.randn((n, k), device=a.device, dtype=a.dtype)
    copy = torch.empty_like(w)
    a = a.movedim(0, -1).reshape(-1, k) if a.ndim > 2 else a
    return {"cuBLAS, bf16": lambda: a @ dense.T, "copy": lambda: copy.copy_(w)}


def _case(m: int, n: int, k: int, name: str = "", **options: object) -> Case:
    return Case(name or f"{m}x{n}x{k}", {"M": m, "N": n, "K": k}, options)


INT4_FEW = LibraryEntry(
    name="int4_few",
    title="matrix product of a few rows, bf16, weights of four bits with scales",
    arguments=_arguments(bf16),
    choose=_few(int4_few),
    reference=FileReference(int4_few, ("C",), _few(int4_few)),
    work=_work(bf16),
    small=(
        _case(3, 40, 384, WARPS=2),
        _case(16, 24, 512, WARPS=2, zeros=1, bias=1, STAGES=2),
    ),
    odd=(
        _case(1, 1, 128, "one number"),
        _case(16, 1000, 1152, "less than a step of K"),
        _case(7, 4097, 4224, "one past a tile", zeros=1),
        _case(13, 555, 992, "groups of 32", GROUP=32, SIGNED=True, bias=1),
    ),
    large=(_case(1, 4096, 4096), _case(8, 4096, 14336)),
    baselines=_baselines,
    beside="copy",
    line="a few rows by weights of four bits",
    memory_bound=True,
    epilogues=("zeros", "bias"),
)

INT4_SMALL = replace(
    INT4_FEW,
    name="int4_small",
    title="matrix product, bf16, weights of four bits with scales",
    arguments=_arguments(bf16, split=True),
    choose=_small(int4_small),
    reference=FileReference(int4_small, ("C",), _small(int4_small)),
    small=(
        _case(70, 104, 256, BM=32),
        _case(9, 50, 256, zeros=1, bias=1, BM=16, STAGES=2),
    ),
    odd=(
        _case(17, 1, 128, "one column"),
        _case(129, 1000, 1152, "one past a tile", zeros=1),
        _case(300, 777, 992, "groups of 32", GROUP=32, SIGNED=True, bias=1),
    ),
    large=(_case(16, 14336, 4096), _case(64, 4096, 4096), _case(256, 14336, 4096)),
    beside="cuBLAS, bf16",
    line="matrix product, weights of four bits",
)

MXFP4_FEW = replace(
    INT4_FEW,
    name="mxfp4_few",
    title="matrix product of a few rows, bf16, weights in MXFP4",
    arguments=_arguments(u8),
    choose=_few(mxfp4_few),
    reference=FileReference(mxfp4_few, ("C",), _few(mxfp4_few)),
    work=_work(u8),
    small=(_case(3, 40, 544, WARPS=2), _case(9, 24, 512, WARPS=2, bias=1)),
    odd=(
        _case(1, 1, 32, "one group"),
        _case(16, 1000, 1184, "less than a step of K"),
        _case(7, 4097, 4224, "one past a tile", bias=1),
    ),
    line="a few rows by weights in MXFP4",
    epilogues=("bias",),
)

MXFP4_SMALL = replace(
    INT4_SMALL,
    name="mxfp4_small",
    title="matrix product, bf16, weights in MXFP4",
    arguments=_arguments(u8, split=True),
    choose=_small(mxfp4_small),
    reference=FileReference(mxfp4_small, ("C",), _small(mxfp4_small)),
    work=_work(u8),
    small=(_case(70, 104, 160, bias=1, BM=32, STAGES=2),),
    odd=(
        _case(17, 1, 32, "one column"),
        _case(129, 1000, 1184, "one past a tile", bias=1),
    ),
    line="matrix product, weights in MXFP4",
    epilogues=("bias",),
)

ENTRIES = (INT4_FEW, INT4_SMALL, MXFP4_FEW, MXFP4_SMALL)
