"""Routing of tokens to experts, and their sum: sizes, references, baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod
from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, f32, i32
from argus.kernels.entry import (
    Argument,
    Arrays,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
    count,
)
from argus.kernels.moe.kernel import moe_sum
from argus.kernels.moe.plan import ExpertPlan, best_plan
from argus.kernels.moe.routing import moe_place, moe_route, moe_rows


def _top(case: Case) -> int:
    found = case.options.get("TOP", 2)
    assert isinstance(found, int)
    return found


def _plan(case: Case) -> ExpertPlan:
    t, e, d = (case.sizes[n] for n in "TED")
    return best_plan(t, e, _top(case), d, d)


def _pairs(case: Case) -> tuple[int, int, int]:
    plan = _plan(case)
    return plan.blocks(case.sizes["T"]), plan.tokens, _top(case)


def _tiles(case: Case) -> int:
    """Of a block of tokens."""
    plan, t = _plan(case), case.sizes["T"]
    return ceil(plan.tiles(t, case.sizes["E"], _top(case)) / plan.blocks(t))


def _route_arguments(case: Case) -> tuple[Argument, ...]:
    pairs, (t, e) = _pairs(case), (case.sizes["T"], case.sizes["E"])
    return (
        Argument("Logits", f32, (t, e)),
        Argument("Ids", i32, pairs, "output"),
        Argument("Weights", f32, pairs, "output"),
        Argument("Rank", i32, pairs, "output"),
        Argument("Count", i32, (pairs[0], e), "output"),
        Argument("Rows", i32, (pairs[0], _tiles(case) * _plan(case).rows), "output"),
    )


def _route_choose(case: Case, target: str) -> KernelChoice:
    statics = {"TOP": _top(case), **_plan(case).route(case.sizes["E"], _top(case))}
    statics |= {"SIGMOID": "sigmoid" in case.options}
    statics |= {"RENORMALISE": "whole" not in case.options}
    return KernelChoice(moe_route, statics | case.statics, {"scale": 1.5})


def _moved(arguments: Callable[[Case], tuple[Argument, ...]]) -> Callable[[Case], Work]:
    """Each element is read or written once."""

    def work(case: Case) -> Work:
        moved = sum(prod(a.shape) * a.dtype.bytes for a in arguments(case))
        return Work(moved, moved)

    return work


def _route_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    logits, k = arrays["Logits"], _top(case)
    return {"torch": lambda: logits.softmax(-1).topk(k, -1)}


def _case(t: int, e: int, k: int, d: int = 64, **options: object) -> Case:
    words = "".join(f", {w}" for w in options if w.islower())
    name = f"{t} tokens, {k} of {e} experts{words}"
    return Case(name, {"T": t, "E": e, "D": d}, {"TOP": k, **options})


_CASES = (_case(1, 3, 2), _case(777, 60, 6), _case(4099, 256, 8))

ROUTE = LibraryEntry(
    name="moe_route",
    title="experts of tokens, their weights and counts, f32",
    arguments=_route_arguments,
    choose=_route_choose,
    reference=FileReference(
        moe_route, ("Ids", "Weights", "Rank", "Count", "Rows"), _route_choose
    ),
    work=_moved(_route_arguments),
    small=(
        _case(10, 5, 2),
        _case(9, 40, 3, sigmoid=1),
        _case(5, 8, 1, whole=1),
        _case(6, 33, 2, sigmoid=1, whole=1),
    ),
    odd=_CASES,
    large=(_case(4096, 8, 2, 4096), _case(16384, 128, 4, 2048)),
    baselines=_route_baselines,
    beside="torch",
    line="experts of tokens",
    memory_bound=True,
    targets=("sm_80", "sm_90a"),
    epilogues=("sigmoid", "whole"),
)


def _place_arguments(case: Case) -> tuple[Argument, ...]:
    pairs, e, plan = _pairs(case), case.sizes["E"], _plan(case)
    return (
        Argument("Ids", i32, pairs, "index", e),
        Argument("Rank", i32, pairs, "index", plan.tokens),
        Argument("Count", i32, (pairs[0], e), "index", plan.tokens + 1),
        Argument("Position", i32, pairs, "output"),
        Argument("Expert", i32, (pairs[0], _tiles(case)), "output"),
    )


def _place_choose(case: Case, target: str) -> KernelChoice:
    plan = _plan(case)
    statics = {"TOP": _top(case), "BM": plan.rows, **plan.place(case.sizes["E"])}
    return KernelChoice(moe_place, statics | case.statics)


def _place_reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    """From counts of all blocks, and of those before; tiles by their number."""
    ids, counts, e = arrays["Ids"], arrays["Count"], case.sizes["E"]
    rows: Any = case.options["BM"]
    blocks, each = arrays["Expert"].shape
    tiles = (counts.sum(0) + rows - 1) // rows
    upto = xp.cumsum(tiles, 0)
    first = (upto - tiles) * rows + xp.cumsum(counts, 0) - counts
    block = count(xp, blocks, ids)
    there = (ids >= 0) & (ids < e)
    own = xp.where(there, ids, 0)
    begin = xp.where(there, first[block[:, None, None], own], 0)
    tile = block[:, None] * each + count(xp, each, ids)
    found = (upto <= tile[:, :, None]).sum(2)
    expert = xp.where(found < e, found, -1)
    return {"Position": begin + arrays["Rank"], "Expert": expert}


def _place_case(t: int, e: int, k: int, d: int = 64) -> Case:
    """With the rows of a tile, which the reference counts by."""
    return _case(t, e, k, d, BM=best_plan(t, e, k, d, d).rows)


def _place_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    ids = arrays["Ids"]
    return {"torch": lambda: ids.reshape(-1).sort(stable=True)}


PLACE = replace(
    ROUTE,
    name="moe_place",
    title="positions of tokens sorted by expert, experts of tiles",
    arguments=_place_arguments,
    choose=_place_choose,
    reference=_place_reference,
    work=_moved(_place_arguments),
    small=(_place_case(10, 5, 2), _place_case(150, 40, 3)),
    odd=(_place_case(1, 3, 2), _place_case(777, 60, 6)),
    large=(_place_case(4096, 8, 2, 4096), _place_case(16384, 128, 8, 2048)),
    baselines=_place_baselines,
    line="positions of tokens",
    epilogues=(),
)


def _rows_arguments(case: Case) -> tuple[Argument, ...]:
    blocks, tokens, k = _pairs(case)
    p = blocks * _tiles(case) * _plan(case).rows
    return (
        Argument("Position", i32, (blocks * tokens * k,), "index", p),
        Argument("Rows", i32, (p,), "output"),
    )


def _rows_choose(case: Case, target: str) -> KernelChoice:
    return KernelChoice(moe_rows, {"TOP": _top(case), **case.statics})


def _rows_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    import torch

    position, rows = arrays["Position"].long(), arrays["Rows"].clone()
    token = torch.arange(len(position), device=rows.device, dtype=rows.dtype)
    token = token // _top(case)
    return {"torch": lambda: rows.scatter_reduce_(0, position, token, "amax")}


ROWS = replace(
    ROUTE,
    name="moe_rows",
    title="tokens of positions",
    arguments=_rows_arguments,
    choose=_rows_choose,
    reference=FileReference(moe_rows, ("Rows",), _rows_choose),
    work=_moved(_rows_arguments),
    small=(_case(70, 5, 2), _case(9, 4, 3)),
    epilogues=(),
    baselines=_rows_baselines,
    line="tokens of positions",
)


def _sum_arguments(case: Case) -> tuple[Argument, ...]:
    t, d, k = case.sizes["T"], case.sizes["D"], _top(case)
    p = t * k + 7
    found = [
        Argument("Y", bf16, (p, d)),
        Argument("Position", i32, (t, k), "index", p),
        Argument("Weights", f32, (t, k)),
        Argument("Out", bf16, (t, d), "output"),
    ]
    if "residual" in case.options:
        found.append(Argument("Residual", bf16, (t, d)))
    return tuple(found)


def _sum_choose(case: Case, target: str) -> KernelChoice:
    statics = {"TOP": _top(case), **_plan(case).sum(case.sizes["D"])}
    return KernelChoice(moe_sum, statics | case.statics)


def _sum_baselines(arrays: Arrays, case: Case) -> dict[str, Callable[[], Any]]:
    y, position, w = arrays["Y"], arrays["Position"].long(), arrays["Weights"]
    return {"torch": lambda: (y[position] * w[..., None]).sum(1)}


SUM = replace(
    ROUTE,
    name="moe_sum",
    title="weighted sums of results of experts, bf16",
    arguments=_sum_arguments,
    choose=_sum_choose,
    reference=FileReference(moe_sum, ("Out",), _sum_choose),
    work=_moved(_sum_arguments),
    small=(_case(9, 5, 2, 300), _case(3, 5, 3, 72, residual=1)),
    odd=(_case(1, 3, 2, 8), _case(777, 60, 6, 520, residual=1)),
    baselines=_sum_baselines,
    line="sums of results of experts",
    epilogues=("residual",),
)

ENTRIES = (ROUTE, PLACE, ROWS, SUM)
