"""Measure the launches of matrix products, for the table that chooses them.

    python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json [--seconds 300]
    python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json --add
    python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json --again small

Each tile of each form is timed alone on random sizes beside cuBLAS, after a write to
more than the L2 cache; forms without TMA on sizes whose rows it cannot address. Copies,
sums and what a second launch overlaps are timed, too. What was measured is written
beside the table, which `gemm_fit.py` makes of it; `gemm_random.py` measures plans as
they are called. ``--add`` measures tiles that the table lacks, and leaves the numbers
of the others as they are; so does ``--again``, which measures all tiles of some forms:
persistent ones at large sizes, others at sizes with few rows or few columns, of which
some are moderate. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from gemm_fit import COUNT, Size, fitted, name_of, some_parts, write_table

from argus.compiler import build as compiled
from argus.evaluation.timing import time_interleaved
from argus.ir.dtypes import bf16
from argus.kernels.gemm.entry import LARGE, form_of, streamed
from argus.kernels.gemm.kernel import copy_rows, gemm_parts, gemm_sum
from argus.kernels.gemm.plan import ProductPlan, copy_statics, sum_statics
from argus.kernels.gemm.tiles import ALIGNED, FORMS, MeasuredTile
from argus.requests import Request, placed_program
from argus.verify.performance.resources import occupancy

_PERSISTENT = (
    (64, 32, 64, 8, 1, 1), (64, 32, 128, 6, 1, 1), (64, 64, 64, 8, 1, 1),
    (64, 64, 128, 5, 1, 1), (64, 96, 64, 8, 1, 1), (64, 128, 64, 6, 1, 1),
    (64, 128, 128, 4, 1, 1), (64, 192, 64, 5, 1, 1), (64, 256, 64, 4, 1, 1),
    (128, 64, 64, 6, 2, 1), (128, 96, 64, 6, 2, 1), (128, 128, 64, 6, 2, 1),
    (128, 128, 128, 3, 2, 1), (128, 160, 64, 5, 2, 1), (128, 192, 64, 4, 2, 1),
    (128, 224, 64, 4, 2, 1), (128, 256, 64, 4, 2, 1), (192, 128, 64, 4, 3, 1),
    (192, 160, 64, 4, 3, 1), (64, 64, 64, 8, 1, 2), (128, 128, 64, 6, 2, 2),
    (128, 192, 64, 4, 2, 2), (128, 256, 64, 4, 2, 2), (128, 160, 64, 5, 2, 2),
    (128, 176, 64, 5, 2, 2), (128, 208, 64, 4, 2, 2), (128, 224, 64, 4, 2, 2),
    (128, 240, 64, 4, 2, 2), (64, 128, 64, 6, 1, 2), (64, 192, 64, 5, 1, 2),
    (64, 256, 64, 4, 1, 2), (192, 128, 64, 4, 3, 2), (192, 160, 64, 4, 3, 2),
    (64, 40, 64, 8, 1, 1), (64, 48, 64, 8, 1, 1), (64, 80, 64, 8, 1, 1),
    (64, 112, 64, 8, 1, 1), (64, 160, 64, 6, 1, 1), (64, 224, 64, 5, 1, 1),
    (128, 48, 64, 8, 2, 1), (128, 48, 128, 4, 2, 1), (128, 80, 64, 7, 2, 1),
    (128, 112, 64, 6, 2, 1), (128, 144, 64, 5, 2, 1), (192, 96, 64, 5, 3, 1),
    (192, 112, 64, 4, 3, 1), (192, 144, 64, 4, 3, 1), (256, 64, 64, 4, 2, 1),
    (256, 96, 64, 4, 2, 1), (64, 80, 64, 8, 1, 2), (64, 96, 64, 8, 1, 2),
    (64, 160, 64, 6, 1, 2), (128, 80, 64, 7, 2, 2), (128, 96, 64, 6, 2, 2),
    (128, 112, 64, 6, 2, 2), (128, 144, 64, 5, 2, 2), (64, 64, 64, 8, 1, 4),
    (64, 128, 64, 6, 1, 4), (128, 128, 64, 6, 2, 4), (128, 256, 64, 4, 2, 4),
)  # fmt: skip
_ACROSS = (
    (64, 64, 64, 8, 1, 2), (64, 64, 64, 8, 1, 4), (64, 32, 64, 8, 1, 4),
    (64, 32, 128, 6, 1, 4), (64, 96, 64, 8, 1, 2), (64, 128, 64, 6, 1, 2),
    (64, 192, 64, 5, 1, 2), (64, 256, 64, 4, 1, 2), (128, 32, 64, 8, 2, 4),
    (128, 32, 128, 5, 2, 4), (128, 64, 64, 6, 2, 2), (128, 64, 64, 6, 2, 4),
    (128, 64, 128, 4, 2, 2), (128, 80, 64, 7, 2, 2), (128, 96, 64, 6, 2, 2),
    (128, 128, 64, 6, 2, 2), (128, 192, 64, 4, 2, 2), (128, 256, 64, 4, 2, 2),
    (192, 128, 64, 4, 3, 2), (64, 80, 64, 8, 1, 2), (64, 160, 64, 6, 1, 2),
)  # fmt: skip
_SHALLOW = (
    (64, 64, 16, 8, 1, 1), (64, 128, 32, 8, 1, 1), (128, 128, 16, 8, 2, 1),
    (128, 128, 32, 8, 2, 1), (128, 192, 16, 6, 2, 1), (128, 256, 16, 6, 2, 1),
    (128, 256, 16, 6, 2, 2), (128, 256, 32, 6, 2, 1), (128, 256, 32, 6, 2, 2),
    (192, 128, 16, 8, 3, 1),
)  # fmt: skip
_SMALL = (
    (8, 64, 64, 8, 1, 1), (8, 64, 128, 5, 1, 1), (8, 128, 64, 6, 2, 1),
    (8, 128, 128, 5, 2, 1), (16, 64, 64, 8, 1, 1), (16, 64, 128, 5, 1, 1),
    (16, 128, 128, 5, 2, 1), (32, 64, 128, 4, 1, 1), (32, 128, 64, 5, 2, 1),
    (64, 128, 64, 4, 2, 1), (128, 64, 64, 4, 1, 1),
    (64, 8, 64, 8, 1, 0), (64, 8, 128, 5, 1, 0), (128, 8, 128, 5, 2, 0),
    (128, 8, 64, 6, 2, 0), (128, 16, 128, 5, 2, 0), (128, 32, 64, 5, 2, 0),
    (64, 16, 64, 8, 1, 0), (64, 16, 128, 5, 1, 0), (64, 32, 64, 8, 1, 0),
    (64, 32, 128, 4, 1, 0), (64, 64, 64, 6, 1, 0), (64, 64, 128, 3, 1, 0),
    (64, 128, 64, 4, 1, 0), (128, 64, 64, 4, 2, 0), (128, 128, 64, 6, 2, 0),
    (128, 128, 128, 3, 2, 0), (128, 256, 64, 4, 2, 0), (128, 48, 64, 4, 2, 0),
    (128, 48, 128, 4, 2, 0), (64, 48, 64, 6, 1, 0), (64, 48, 128, 4, 1, 0),
    (128, 80, 64, 4, 2, 0), (128, 96, 64, 4, 2, 0),
    (32, 64, 64, 8, 1, 1), (48, 64, 64, 8, 1, 1), (48, 64, 128, 4, 1, 1),
    (48, 128, 64, 5, 2, 1), (64, 64, 64, 6, 1, 1), (64, 64, 128, 3, 1, 1),
    (96, 64, 64, 4, 1, 1), (96, 128, 64, 4, 2, 1), (128, 128, 64, 4, 2, 1),
    (128, 128, 64, 6, 2, 1), (160, 64, 64, 5, 1, 1), (160, 128, 64, 4, 2, 1),
    (192, 64, 64, 4, 1, 1), (192, 128, 64, 4, 2, 1), (256, 64, 64, 4, 1, 1),
    (256, 128, 64, 4, 2, 1),
)  # fmt: skip
_THIN = (
    (1, 4, 512, 4), (1, 8, 512, 4), (1, 4, 1024, 4), (1, 8, 256, 2), (2, 4, 512, 4),
    (4, 4, 256, 4), (4, 4, 512, 4), (4, 2, 512, 4), (4, 1, 512, 4), (8, 1, 512, 4),
    (1, 32, 64, 4), (2, 16, 64, 4), (4, 16, 64, 4), (8, 8, 64, 4), (8, 16, 16, 4),
    (8, 8, 32, 4), (16, 16, 8, 4), (16, 16, 16, 4), (16, 32, 8, 4), (32, 32, 8, 8),
    (8, 32, 32, 8), (1, 8, 128, 2),
)  # fmt: skip
_ELEMENTS = (
    (64, 64, 16, 2, 4, 0), (64, 64, 32, 2, 4, 0), (64, 64, 64, 2, 4, 0),
    (64, 64, 64, 2, 8, 0), (64, 16, 64, 2, 4, 0), (64, 32, 32, 2, 4, 0),
    (64, 128, 32, 2, 8, 0), (128, 64, 32, 2, 8, 0), (128, 128, 32, 2, 8, 0),
    (16, 64, 32, 2, 4, 1), (16, 64, 64, 2, 4, 1), (32, 32, 32, 2, 4, 1),
    (32, 64, 32, 2, 4, 1), (64, 16, 32, 2, 4, 1), (64, 64, 32, 2, 4, 1),
)  # fmt: skip
_PAIRS = (
    (64, 64, 32, 3, 4, 0), (64, 64, 64, 3, 4, 0), (64, 64, 64, 4, 4, 0),
    (64, 16, 64, 4, 4, 0), (64, 32, 64, 3, 4, 0), (64, 128, 64, 3, 8, 0),
    (128, 64, 64, 3, 8, 0), (128, 128, 64, 3, 8, 0), (16, 64, 64, 4, 4, 1),
    (32, 32, 64, 3, 4, 1), (32, 64, 64, 3, 4, 1),
)  # fmt: skip


def _tile(form: str, names: str, values: Sequence[int]) -> MeasuredTile:
    return MeasuredTile(form, dict(zip(names.split(), values, strict=True)))


TILES = (
    *(_tile("persistent", "BM BN BK STAGES WARPGROUPS CLUSTER", x)
      for x in (*_PERSISTENT, *_SHALLOW)),
    *(_tile("persistent", "BM BN BK STAGES WARPGROUPS CLUSTER ACROSS", (*x, True))
      for x in _ACROSS),
    *(_tile("small", "BM BN BK STAGES WARPGROUPS SWAP", (*x[:-1], bool(x[-1])))
      for x in _SMALL),
    *(_tile("pairs", "BM BN BK STAGES WARPS MMA", (*x[:-1], bool(x[-1])))
      for x in _PAIRS),
    *(_tile("elements", "BM BN BK STAGES WARPS MMA", (*x[:-1], bool(x[-1])))
      for x in _ELEMENTS),
    *(_tile("thin", "BM BN BK WARPS", x) for x in _THIN),
)  # fmt: skip
LIBRARY = [tuple(case.sizes[d] for d in "MNK") for case in LARGE]
NAMED = (
    (256, 5120, 5120), (1024, 1024, 1024), (5008, 3344, 2064), (2048, 11008, 4096),
    (1744, 16, 8160), (256, 256, 65536), (4096, 8, 4096), (512, 512, 16384),
    *((m, n, k) for m in (1, 8, 16, 64, 128) for n, k in
      ((4096, 4096), (8192, 8192), (14336, 4096), (4096, 14336), (5120, 5120))),
)  # fmt: skip
_HELD = 30.0
"""Megabytes of C that L2 holds. What more of it takes, and what ragged rows take,
`gemm_plans.py` finds."""
_LARGEST = {"thin": 2**31, "elements": 2**35, "pairs": 2**36}
"""Products m * n * k above which a form is not looked at."""


def sizes(count: int, seed: int) -> list[Size]:
    """Sizes that people have, and random ones: each log-uniform.

    Rows of A and B are odd multiples of 16 bytes, which split sectors of L2, multiples
    of 32 bytes, and whole lines, in turn.
    """
    rng = random.Random(seed)
    found = [*LIBRARY, *NAMED]
    while len(found) < count:
        m, n, k = (max(16, round(2 ** rng.uniform(4, 14) / 16) * 16) for _ in range(3))
        k = (k | 8, k, -(-k // 64) * 64)[len(found) % 3]
        if m * n * k < 2**41:
            found.append((m, n, k))
    return found


def unaligned(count: int, seed: int) -> list[Size]:
    """Random sizes with odd N, and K that is odd or twice an odd number, in turn."""
    rng = random.Random(seed)
    found: list[Size] = []
    while len(found) < count:
        m, n, k = (round(2 ** rng.uniform(0, 13)) for _ in range(3))
        k = k | 1 if len(found) % 2 else (k | 1) * 2
        if m * n * k < 2**37:
            found.append((m, n | 1, k))
    return found


def shallow(count: int, seed: int) -> list[Size]:
    """Random sizes with few steps of K, of which every third is a multiple of 8."""
    rng = random.Random(seed)
    found: list[Size] = []
    while len(found) < count:
        m, n = (round(2 ** rng.uniform(0, 13)) for _ in range(2))
        k = round(2 ** rng.uniform(0, 9))
        k = (k | 1, (k | 1) * 2, -(-k // 8) * 8)[len(found) % 3]
        if m * n < 2**24:
            found.append((m, n | 1, k))
    return found


def slim(count: int, seed: int) -> list[Size]:
    """Random sizes with few rows or few columns, in turn; every fourth with neither."""
    rng = random.Random(seed)
    found: list[Size] = []
    while len(found) < count:
        wide, deep = (round(2 ** rng.uniform(6, 14.3)) for _ in range(2))
        few = round(2 ** rng.uniform(0, 8))
        if len(found) % 4 == 3:
            few, wide = (round(2 ** rng.uniform(6, 11)) for _ in range(2))
        m, n = (few, wide) if len(found) % 2 else (wide, few)
        n, k = (max(16, round(x / 16) * 16) for x in (n, deep))
        size = (m, n, k)
        if m * n * k < 2**36:
            found.append(size)
    return found


def again(count: int) -> list[Size]:
    """Random sizes with many results, then the library's and those that people have."""
    known = [*(s for s in LIBRARY if math.prod(s) < 2**40), *NAMED]
    drawn = sizes(9 * count, 11)[len(LIBRARY) + len(NAMED) :]
    found = [s for s in drawn if s[0] * s[1] > 2**18 and math.prod(s) < 2**39]
    return [*found[:count], *known]


def arrays(size: Size) -> dict[str, Any]:
    """Random operands on the GPU."""
    import torch

    m, n, k = size
    half = {"device": "cuda", "dtype": torch.bfloat16}
    return {
        "A": torch.randn(m, k, **half),
        "B": torch.randn(n, k, **half),
        "C": torch.empty(m, n, **half),
    }


def run(tile: MeasuredTile, given: Mapping[str, Any], parts: int = 1) -> None:
    """One launch with a tile; `gemm_parts` has its result in W."""
    from argus.calls import launch

    (m, k), n = given["A"].shape, given["B"].shape[0]
    if parts > 1:
        step, w = -(-tile.steps(k) // parts), given["W"][:parts]
        statics = {**tile.statics, **streamed(tile, m, n, k)}
        launch(gemm_parts, (given["A"], given["B"], w, step), statics)
        return
    kernel, statics = form_of(tile, m, n, k, tma_store=2 * n % ALIGNED == 0)
    launch(kernel, (), {**{name: given[name] for name in "ABC"}, **statics})


def resident(tile: MeasuredTile) -> int:
    """Blocks of a tile that a multiprocessor holds; 1 for a persistent grid."""
    if tile.form == "persistent":
        return 1
    kernel, statics = form_of(tile, 1024, 1024, 1024)
    step = max(1, FORMS[tile.form] // 2)
    odd = {"K": step, "A_s0": step, "B_s0": step}
    facts = {} if tile.form == "small" else {**odd, "N": 1, "C_s0": 1}
    request = Request(kernel, dict.fromkeys("ABC", bf16), statics, facts=facts)
    registers = compiled(request).cubin.usage.registers
    return occupancy(placed_program(request), registers).blocks


def build(tile: MeasuredTile) -> tuple[int, float]:
    """Build one tile: blocks of a multiprocessor, and its error against torch."""
    import torch

    from argus.dispatch import Dispatch
    from argus.kernels.gemm.op import planned_product

    aligned = FORMS[tile.form] == ALIGNED
    step = max(1, FORMS[tile.form] // 2)
    given_sizes = [(1024, 1024 if aligned else 1023, 253 * step)]
    if tile.form == "persistent":  # rows that steps of 32 bytes divide, and do not
        given_sizes += [(1024, 1024, 1024), (1032, 1032, 1032)]
    if tile.form == "small":  # a large operand that is read once is not kept
        given_sizes += [(8, 8192, 1024), (8192, 16, 1024)]
    worst = 0.0
    for size in given_sizes:
        given = arrays(size)
        values = (given["A"], given["B"], given["C"], None, None)
        want = given["A"].float() @ given["B"].float().T
        for parts in (1, 3) if tile.form == "small" else (1,):
            plan = ProductPlan(tile, parts)
            Dispatch(lambda *args, plan=plan: planned_product(plan, args))(values)
            torch.cuda.synchronize()
            error = ((given["C"].float() - want).norm() / want.norm()).item()
            worst = max(worst, error if error == error else math.inf)
        run(tile, given)
    return resident(tile), worst


def cublas(given: Mapping[str, Any]) -> Callable[[], object]:
    """Torch's product."""
    import torch

    return lambda: torch.matmul(given["A"], given["B"].T, out=given["C"])


def medians(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Microseconds by name."""
    found = time_interleaved(calls, rounds=9, warmup=2)
    return {name: timing.median for name, timing in found.items()}


def measure(size: Size, tiles: Sequence[MeasuredTile]) -> dict[str, float]:
    """Median microseconds of cuBLAS and of each tile that fits, by name."""
    import torch

    m, n, k = size
    given = arrays(size)
    calls = {"cublas": cublas(given)}
    most = max((p for t in tiles for p in some_parts(t, size)), default=1)
    given["W"] = torch.empty(most, m, n, device="cuda")
    divides = next(d for d in (16, 4, 2) if 2 * k % d == 0)
    for tile in tiles:
        if not tile.fits(m, n) or m * n * k > _LARGEST.get(tile.form, 2**63):
            continue
        if divides % FORMS[tile.form]:
            continue
        calls[name_of(tile)] = partial(run, tile, given)
        for parts in some_parts(tile, size):
            calls[name_of(tile, parts)] = partial(run, tile, given, parts)
    return medians(calls)


def others() -> dict[str, Any]:
    """What copies and sums take, and what a second launch overlaps.

    In microseconds. Copies by bytes; sums by bytes, and by the parts that a thread adds
    up.
    """
    import torch

    from argus.calls import launch
    from argus.dispatch import Dispatch, GivenTensor, LaunchSequence, LaunchStep

    calls: dict[str, Callable[[], object]] = {}
    copied: dict[str, tuple[float, ...]] = {}
    summed: dict[str, tuple[float, ...]] = {}
    for rows, columns in ((3, 40), (50, 777), (333, 1111), (3001, 1023), (4097, 6001)):
        x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        y = torch.empty(rows, columns + 7, device="cuda", dtype=torch.bfloat16)
        y = y[:, : columns // 8 * 8 + 8][:, :columns]
        name = f"copy {rows} {columns}"
        call = partial(launch, copy_rows, (x, y), copy_statics(columns))
        calls[name], copied[name] = call, (4e-6 * rows * columns,)
        if not len(calls) - 1:
            step = LaunchStep(
                copy_rows,
                (GivenTensor(0), GivenTensor(1), None, None),
                copy_statics(columns),
            )
            both = Dispatch(lambda *_, step=step: LaunchSequence((step, step)))
            calls["once"], calls["early"] = call, partial(both, (x, y))
            calls["twice"] = lambda call=call: (call(), call())
    for parts, m, n in ((2, 16, 64), (8, 16, 4096), (4, 256, 256), (32, 256, 256),
                        (16, 128, 4096), (3, 1024, 1024), (61, 8, 24), (64, 16, 4096),
                        (24, 100, 333)):  # fmt: skip
        w = torch.randn(parts, m, n, device="cuda")
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        name = f"sum {parts} {m} {n}"
        calls[name] = partial(launch, gemm_sum, (w, c), sum_statics(parts, n))
        summed[name] = (1e-6 * (4 * parts + 2) * m * n, float(parts))
    found = medians(calls)
    print({name: round(us, 2) for name, us in found.items()})

    def line(of: Mapping[str, tuple[float, ...]], *begin: float) -> list[float]:
        x, y = np.array(list(of.values())), np.log([found[n] for n in of])
        return list(fitted(lambda v: np.log(v[0] + x @ v[1:]) - y, [begin]))

    overlap, early = (
        max(0.0, 2 * found["once"] - found[two]) for two in ("twice", "early")
    )
    return {
        "copies": line(copied, 4.0, 0.3),
        "sums": line(summed, 4.0, 0.3, 0.02),
        "overlap": round(overlap, 3),
        "early": round(early, 3),
        "beyond": (_HELD, 0.0),
    }


def older(
    tile: MeasuredTile, table: Mapping[str, Mapping[str, Any]]
) -> dict[str, Sequence[float]]:
    """What an older table says of a tile, or of its mirror image."""
    sizes = tile.statics
    turned = {"BM": sizes["BN"], "BN": sizes["BM"], "SWAP": not sizes.get("SWAP")}
    mirror = replace(tile, statics={**sizes, **turned})
    found = table.get(name_of(tile)) or table.get(name_of(mirror))
    return {"before": found["times"], "ragged": found["ragged"]} if found else {}


def main() -> None:
    """Measure, fit, report, write."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--sizes", type=int, default=140)
    parser.add_argument("--unaligned", type=int, default=40)
    parser.add_argument("--add", action="store_true", help="only what the table lacks")
    parser.add_argument("--again", nargs="+", choices=FORMS, help="only these forms")
    parser.add_argument("--jobs", type=int, default=14)
    args = parser.parse_args()
    os.environ["ARGUS_CHECK"] = "0"  # the tiles are proved where they are used
    partly = args.add or args.again
    old: dict[str, Any] = json.loads(args.out.read_text()) if partly else {"tiles": []}
    before = {name_of(MeasuredTile(t["form"], t["statics"])): t for t in old["tiles"]}
    if args.again:
        old["tiles"] = [t for t in old["tiles"] if t["form"] not in args.again]
    kept = {name_of(MeasuredTile(t["form"], t["statics"])) for t in old["tiles"]}
    wanted = [
        tile
        for tile in TILES
        if name_of(tile) not in kept and (not args.again or tile.form in args.again)
    ]
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        built = list(pool.map(build, wanted))
    pairs = list(zip(wanted, built, strict=True))
    wrong = {name_of(t): e for t, (_, e) in pairs if not e < 5e-3}
    if wrong:
        raise SystemExit(f"wrong results: {wrong}")
    tiles = [replace(tile, resident=blocks) for tile, (blocks, _) in pairs]
    device = torch.cuda.get_device_properties(0)
    if device.multi_processor_count != COUNT:
        raise SystemExit(f"{device.name} has not {COUNT} multiprocessors")
    measured: dict[Size, dict[str, float]] = {}
    begin = time.monotonic()
    odd = unaligned(args.unaligned, 8)
    if args.again:
        large = "persistent" in args.again
        found = again(args.sizes) if large else [*NAMED, *slim(args.sizes, 10)]
    elif args.add:
        found = [*shallow(args.sizes, 9), *odd]
    else:
        found = [*odd, *sizes(args.sizes, 7)]
    for size in found:
        if time.monotonic() - begin < args.seconds:
            measured[size] = measure(size, tiles)
    how = " --add" if args.add else f" --again {' '.join(args.again or ())}".rstrip()
    how = how if partly else ""
    command = f"python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json{how}"
    made = f"{command}, {len(measured)} sizes"
    data = {
        **old,
        "made by": f"{old['made by']}; {made}" if partly else made,
        "device": device.name,
        "multiprocessors": COUNT,
        **others(),
        "tiles": [
            *old["tiles"],
            *({"form": t.form, "statics": t.statics, "resident": t.resident,
               **older(t, before)} for t in tiles),
        ],
        "measured": list(measured.items()),
    }  # fmt: skip
    args.out.with_suffix(".measured.json").write_text(json.dumps(data))
    write_table(data, args.out)


if __name__ == "__main__":
    main()
