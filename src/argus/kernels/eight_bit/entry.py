"""Products with weights of eight bits: sizes, reference, baselines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, f32, i8
from argus.kernels.eight_bit.kernel import int8_small
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.weight_tiles import STAGES, TilePlan, best_tiles

_PROCESSORS = 132
"""Multiprocessors that static parameters are chosen for."""


def tile_statics(plan: TilePlan) -> dict[str, object]:
    """Static parameters of a tile."""
    return {"BM": plan.rows, "BN": plan.width, "BK": plan.depth, "STAGES": STAGES}


def _arguments(case: Case) -> tuple[Argument, ...]:
    m, n, k = (case.sizes[d] for d in "MNK")
    found = [
        Argument("A", bf16, (m, k)),
        Argument("W", i8, (n, k), "index", 2**7),
        Argument("S", bf16, (n,)),
        Argument("C", bf16, (m, n), "output"),
    ]
    if "bias" in case.options:
        found.append(Argument("Bias", f32, (n,)))
    return tuple(found)


def _choose(case: Case, target: str) -> KernelChoice:
    plan = best_tiles(*(case.sizes[d] for d in "MNK"), _PROCESSORS)
    statics = tile_statics(TilePlan(plan.rows, plan.width))
    return KernelChoice(int8_small, {**statics, **case.statics})


def _work(case: Case) -> Work:
    m, n, k = (case.sizes[d] for d in "MNK")
    return Work(2 * m * n * k, n * k + 2 * n + 2 * m * (n + k))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    a, w = arrays["A"], arrays["W"]
    dense = torch.randn(w.shape, device=a.device, dtype=a.dtype)
    copy = torch.empty_like(w)
    return {"cuBLAS, bf16": lambda: a @ dense.T, "copy": lambda: copy.copy_(w)}


def _case(m: int, n: int, k: int, name: str = "", **options: object) -> Case:
    return Case(name or f"{m}x{n}x{k}", {"M": m, "N": n, "K": k}, options)


INT8_SMALL = LibraryEntry(
    name="int8_small",
    title="matrix product, bf16, weights of eight bits",
    arguments=_arguments,
    choose=_choose,
    reference=FileReference(int8_small, ("C",), _choose),
    work=_work,
    small=(_case(3, 40, 544, BM=8), _case(40, 24, 512, bias=1)),
    odd=(
        _case(1, 1, 16, "one number"),
        _case(16, 1000, 1168, "less than a step of K"),
        _case(7, 4097, 4112, "one past a tile", bias=1),
    ),
    large=(_case(1, 4096, 4096), _case(4, 14336, 4096), _case(64, 4096, 14336)),
    baselines=_baselines,
    beside="copy",
    line="weights of eight bits",
    memory_bound=True,
    epilogues=("bias",),
)

ENTRIES = (INT8_SMALL,)
