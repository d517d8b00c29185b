"""Products of experts in e4m3: sizes, references, baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, e4m3, f32, i32
from argus.kernels.entry import (
    Argument,
    Arrays,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
    count,
)
from argus.kernels.moe.eights import moe_down_eights, moe_quantise, moe_up_eights
from argus.kernels.moe.plan import ExpertPlan
from argus.kernels.moe.tiles import (
    expert_tables,
    experts_of_tiles,
    positions,
    rows_of_tile,
    tile_case,
)

_BLOCK = 128
"""Elements of a row that have one scale, rows and columns of weights that do."""


def _quantise_arguments(case: Case) -> tuple[Argument, ...]:
    t, b = case.sizes["T"], case.sizes["B"]
    return (
        Argument("X", bf16, (t, b, _BLOCK)),
        Argument("Q", e4m3, (t, b, _BLOCK), "output"),
        Argument("S", f32, (t, b), "output"),
    )


def _quantise_choose(case: Case, target: str) -> KernelChoice:
    return KernelChoice(moe_quantise, case.statics)


def _quantise_work(case: Case) -> Work:
    blocks = case.sizes["T"] * case.sizes["B"]
    return Work(2 * blocks * _BLOCK, blocks * (3 * _BLOCK + 4))


def _quantise_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    x = arrays["X"]

    def call() -> Any:
        scale = x.abs().amax(-1, keepdim=True).float() / 448
        return (x / scale).to(torch.float8_e4m3fn), scale

    return {"torch": call}


def _rows(t: int, b: int) -> Case:
    return Case(f"{t} rows of {b} blocks", {"T": t, "B": b})


QUANTISE = LibraryEntry(
    name="moe_quantise",
    title="rows in e4m3 with a scale for each 128 elements, bf16",
    arguments=_quantise_arguments,
    choose=_quantise_choose,
    reference=FileReference(moe_quantise, ("Q", "S"), _quantise_choose),
    work=_quantise_work,
    small=(_rows(5, 3), _rows(33, 1)),
    odd=(_rows(1, 1), _rows(777, 7)),
    large=(_rows(4096, 32), _rows(32768, 16)),
    baselines=_quantise_baselines,
    beside="torch",
    line="rows in e4m3",
    tolerance=4e-2,
    memory_bound=True,
)


def _scales(case: Case) -> tuple[int, int, int]:
    """Of weights: for blocks, or one for an expert."""
    if "each" in case.options:
        return case.sizes["E"], 1, 1
    return case.sizes["E"], case.sizes["N"] // _BLOCK, case.sizes["K"] // _BLOCK


def _up_arguments(case: Case) -> tuple[Argument, ...]:
    e, n, k, c, r = (case.sizes[d] for d in "ENKCR")
    p = positions(case)
    return (
        Argument("X", e4m3, (r, k)),
        Argument("ScaleX", f32, (r, k // _BLOCK)),
        Argument("Gate", e4m3, (e, n, k)),
        Argument("Up", e4m3, (e, n, k)),
        Argument("ScaleGate", f32, _scales(case)),
        Argument("ScaleUp", f32, _scales(case)),
        Argument("H", bf16, (p, n), "output"),
        Argument("Rows", i32, (p,), "index", r),
        Argument("Expert", i32, (c,), "index", e),
    )


def _down_arguments(case: Case) -> tuple[Argument, ...]:
    e, n, k, c = (case.sizes[d] for d in "ENKC")
    p = positions(case)
    return (
        Argument("H", e4m3, (p, k)),
        Argument("ScaleH", f32, (p, k // _BLOCK)),
        Argument("W", e4m3, (e, n, k)),
        Argument("ScaleW", f32, _scales(case)),
        Argument("Y", bf16, (p, n), "output"),
        Argument("Expert", i32, (c,), "index", e),
    )


def _statics(case: Case) -> dict[str, object]:
    plan = ExpertPlan(rows_of_tile(case)).eights()
    return {"BLOCKS": "each" not in case.options, **plan, **case.statics}


def _choose_up(case: Case, target: str) -> KernelChoice:
    return KernelChoice(moe_up_eights, _statics(case))


def _choose_down(case: Case, target: str) -> KernelChoice:
    return KernelChoice(moe_down_eights, _statics(case))


def _weights(xp: Any, arrays: Arrays, case: Case, name: str, own: Any) -> Any:
    """Those of an expert, scaled."""
    n, k = case.sizes["N"], case.sizes["K"]
    scale, weights = arrays[f"Scale{name}"][own], arrays[name][own]
    if "each" in case.options:
        return weights * scale[0, 0]
    row, column = (count(xp, m, weights) // _BLOCK for m in (n, k))
    return weights * scale[row[:, None], column]


def _scaled(xp: Any, arrays: Arrays, case: Case, name: str) -> Any:
    """Rows times the scales of their blocks."""
    column = count(xp, case.sizes["K"], arrays[name])
    return arrays[name] * arrays[f"Scale{name}"][:, column // _BLOCK]


def _up_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    e, n, k, c, r = (case.sizes[d] for d in "ENKCR")
    tiles, rows = (c, rows_of_tile(case)), arrays["Rows"]
    there = (rows >= 0) & (rows < r)
    every = _scaled(xp, arrays, case, "X")
    x = xp.where(there[:, None], every[xp.where(there, rows, 0)], 0.0)
    x, old = x.reshape(*tiles, k), arrays["H"].reshape(*tiles, n)
    out = xp.zeros_like(old)
    for i in range(c):
        expert = arrays["Expert"][i]
        own = xp.clip(expert, 0, e - 1)
        gate = x[i] @ _weights(xp, arrays, case, "Gate", own).T
        up = x[i] @ _weights(xp, arrays, case, "Up", own).T
        out[i] = xp.where(expert >= 0, gate / (1 + xp.exp(-gate)) * up, old[i])
    return {"H": out.reshape(arrays["H"].shape)}


def _down_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    e, n, k, c = (case.sizes[d] for d in "ENKC")
    tiles = c, rows_of_tile(case)
    h = _scaled(xp, arrays, case, "H").reshape(*tiles, k)
    old = arrays["Y"].reshape(*tiles, n)
    out = xp.zeros_like(old)
    for i in range(c):
        expert = arrays["Expert"][i]
        own = xp.clip(expert, 0, e - 1)
        made = h[i] @ _weights(xp, arrays, case, "W", own).T
        out[i] = xp.where(expert >= 0, made, old[i])
    return {"Y": out.reshape(arrays["Y"].shape)}


def _work(products: int) -> Callable[[Case], Work]:
    def work(case: Case) -> Work:
        n, k = case.sizes["N"], case.sizes["K"]
        p, used = positions(case), len(set(experts_of_tiles(case)))
        moved = p * k + products * used * n * k + 2 * p * n
        return Work(2 * products * p * n * k, moved)

    return work


def _baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    weights = arrays["W" if "W" in arrays else "Up"]
    copy = weights.clone()
    return {"copy": lambda: copy.copy_(weights)}


UP = LibraryEntry(
    name="moe_up_eights",
    title="SwiGLU of tokens and their experts, e4m3 with scales, bf16 out",
    arguments=_up_arguments,
    choose=_choose_up,
    reference=_up_reference,
    work=_work(2),
    small=(
        tile_case(3, 2, 128, 256, 90, STAGES=2),
        tile_case(2, 2, 128, 128, 40, BM=64, each=1),
    ),
    odd=(
        tile_case(1, 1, 128, 128, 1),
        tile_case(7, 9, 384, 256, 1999),
        tile_case(40, 5, 256, 128, 17, BM=64, each=1),
    ),
    large=(
        tile_case(8, 128, 14336, 4096, 8192),
        tile_case(128, 256, 768, 2048, 4096),
    ),
    baselines=_baselines,
    beside="copy",
    line="SwiGLU of tokens and their experts, e4m3",
    tables=expert_tables,
    epilogues=("each",),
)

DOWN = replace(
    UP,
    name="moe_down_eights",
    title="products of tokens with weights of their experts, e4m3, bf16 out",
    arguments=_down_arguments,
    choose=_choose_down,
    reference=_down_reference,
    work=_work(1),
    line="products of tokens and their experts, e4m3",
)

ENTRIES = (QUANTISE, UP, DOWN)
