"""Layers of experts, launch by launch: sizes, tables, references, baselines.

The products are here, of weights of eight bits in ``eights_entry.py``, and what says
which tokens they are of in ``routing_entry.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.ir.dtypes import bf16, i32
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.moe import eights_entry, routing_entry
from argus.kernels.moe.kernel import moe_down, moe_up
from argus.kernels.moe.plan import ExpertPlan
from argus.kernels.moe.tiles import (
    expert_tables,
    experts_of_tiles,
    positions,
    rows_of_tile,
    tile_case,
)


def _up_arguments(case: Case) -> tuple[Argument, ...]:
    e, n, k, c, r = (case.sizes[d] for d in "ENKCR")
    p = positions(case)
    return (
        Argument("X", bf16, (r, k)),
        Argument("Gate", bf16, (e, n, k)),
        Argument("Up", bf16, (e, n, k)),
        Argument("H", bf16, (p, n), "output"),
        Argument("Rows", i32, (p,), "index", r),
        Argument("Expert", i32, (c,), "index", e),
    )


def _down_arguments(case: Case) -> tuple[Argument, ...]:
    e, n, k, c = (case.sizes[d] for d in "ENKC")
    p = positions(case)
    return (
        Argument("H", bf16, (p, k)),
        Argument("W", bf16, (e, n, k)),
        Argument("Y", bf16, (p, n), "output"),
        Argument("Expert", i32, (c,), "index", e),
    )


def _choose_up(case: Case, target: str) -> KernelChoice:
    statics = ExpertPlan(rows_of_tile(case)).up(case.sizes["N"])
    return KernelChoice(moe_up, {**statics, **case.statics})


def _choose_down(case: Case, target: str) -> KernelChoice:
    statics = ExpertPlan(rows_of_tile(case)).down(case.sizes["N"])
    return KernelChoice(moe_down, {**statics, **case.statics})


def _up_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    e, n, k, c, r = (case.sizes[d] for d in "ENKCR")
    tiles, rows = (c, rows_of_tile(case)), arrays["Rows"]
    there = (rows >= 0) & (rows < r)
    x = xp.where(there[:, None], arrays["X"][xp.where(there, rows, 0)], 0.0)
    x, old = x.reshape(*tiles, k), arrays["H"].reshape(*tiles, n)
    out = xp.zeros_like(old)
    for i in range(c):
        expert = arrays["Expert"][i]
        own = xp.clip(expert, 0, e - 1)
        gate, up = (x[i] @ arrays[name][own].T for name in ("Gate", "Up"))
        out[i] = xp.where(expert >= 0, gate / (1 + xp.exp(-gate)) * up, old[i])
    return {"H": out.reshape(arrays["H"].shape)}


def _down_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    e, n, k, c = (case.sizes[d] for d in "ENKC")
    tiles = c, rows_of_tile(case)
    h, old = arrays["H"].reshape(*tiles, k), arrays["Y"].reshape(*tiles, n)
    out = xp.zeros_like(old)
    for i in range(c):
        expert = arrays["Expert"][i]
        made = h[i] @ arrays["W"][xp.clip(expert, 0, e - 1)].T
        out[i] = xp.where(expert >= 0, made, old[i])
    return {"Y": out.reshape(arrays["Y"].shape)}


def _work(products: int) -> Callable[[Case], Work]:
    def work(case: Case) -> Work:
        n, k = case.sizes["N"], case.sizes["K"]
        p, used = positions(case), len(set(experts_of_tiles(case)))
        moved = 2 * (p * k + products * used * n * k + p * n)
        return Work(2 * products * p * n * k, moved)

    return work


def _ends(arrays: Arrays, case: Case) -> Any:
    """End position of each expert."""
    import torch

    found, rows = experts_of_tiles(case), rows_of_tile(case)
    counts = [rows * found.count(e) for e in range(case.sizes["E"])]
    ends = torch.tensor(counts).cumsum(0).to(torch.int32)
    return ends.to(arrays["Expert"].device)


def _up_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    product: Any = vars(torch)["_grouped_mm"]
    ends, rows = _ends(arrays, case), arrays["Rows"].long().clamp(min=0)
    gate, up = (arrays[name].transpose(1, 2) for name in ("Gate", "Up"))

    def call() -> Any:
        x = arrays["X"][rows]
        one, two = product(x, gate, offs=ends), product(x, up, offs=ends)
        return torch.nn.functional.silu(one) * two

    return {"torch._grouped_mm": call}


def _down_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    product: Any = vars(torch)["_grouped_mm"]
    ends, weights = _ends(arrays, case), arrays["W"].transpose(1, 2)
    return {"torch._grouped_mm": lambda: product(arrays["H"], weights, offs=ends)}


UP = LibraryEntry(
    name="moe_up",
    title="SwiGLU of tokens and their experts, bf16",
    arguments=_up_arguments,
    choose=_choose_up,
    reference=_up_reference,
    work=_work(2),
    small=(
        tile_case(3, 3, 72, 72, 90, STAGES=2),
        tile_case(4, 3, 64, 136, 40, BM=64),
    ),
    odd=(
        tile_case(1, 1, 8, 8, 1),
        tile_case(7, 9, 520, 200, 1999),
        tile_case(40, 5, 264, 136, 17, BM=64),
    ),
    large=(
        tile_case(8, 128, 14336, 4096, 8192),
        tile_case(128, 256, 768, 2048, 4096),
    ),
    baselines=_up_baselines,
    beside="torch._grouped_mm",
    line="SwiGLU of tokens and their experts",
    tables=expert_tables,
)

DOWN = replace(
    UP,
    name="moe_down",
    title="products of tokens with weights of their experts, bf16",
    arguments=_down_arguments,
    choose=_choose_down,
    reference=_down_reference,
    work=_work(1),
    baselines=_down_baselines,
    line="products of tokens and their experts",
)

ENTRIES = (*routing_entry.ENTRIES, UP, DOWN, *eights_entry.ENTRIES)
