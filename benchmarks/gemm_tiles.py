"""Measure tiles of the Hopper matrix product and write the table that chooses them.

    python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json [--seconds 240]

Each tile is timed on random sizes beside cuBLAS, after a write to more than the L2
cache. The five numbers of a tile (`argus.kernels.gemm.tiles`) are those with the least
relative error whose signs are right. It prints, for each size, the best tile measured,
the one that the table takes, and both relative to cuBLAS. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from argus.evaluation.timing import time_interleaved
from argus.kernels.gemm.entry import LARGE
from argus.kernels.gemm.tiles import MeasuredTile, factors

Size = tuple[int, int, int]
TILES = tuple(
    MeasuredTile(*spec)
    for spec in (
        (64, 32, 64, 8, 1, 1), (64, 32, 128, 6, 1, 1), (64, 64, 64, 8, 1, 1),
        (64, 64, 128, 5, 1, 1), (64, 96, 64, 8, 1, 1), (64, 128, 64, 6, 1, 1),
        (64, 128, 128, 4, 1, 1), (64, 192, 64, 5, 1, 1), (64, 256, 64, 4, 1, 1),
        (128, 64, 64, 6, 2, 1), (128, 96, 64, 6, 2, 1), (128, 128, 64, 6, 2, 1),
        (128, 128, 128, 3, 2, 1), (128, 160, 64, 5, 2, 1), (128, 192, 64, 4, 2, 1),
        (128, 224, 64, 4, 2, 1), (128, 256, 64, 4, 2, 1), (192, 128, 64, 4, 3, 1),
        (192, 160, 64, 4, 3, 1), (64, 64, 64, 8, 1, 2), (128, 128, 64, 6, 2, 2),
        (128, 192, 64, 4, 2, 2), (128, 256, 64, 4, 2, 2),
    )
)  # fmt: skip
LIBRARY = [tuple(case.sizes[d] for d in "MNK") for case in LARGE]
"""Sizes at which the fastest tile is kept, and not what the model says."""
NAMED = (
    (64, 4096, 4096), (128, 8192, 8192), (256, 5120, 5120), (1024, 1024, 1024),
    (16, 8192, 8192), (5008, 3344, 2064), (2048, 11008, 4096),
)  # fmt: skip


def sizes(count: int, seed: int) -> list[Size]:
    """Sizes that people have, and random ones: each log-uniform, multiples of 16."""
    rng = random.Random(seed)
    found = [*LIBRARY, *NAMED]
    while len(found) < count:
        m, n, k = (max(16, round(2 ** rng.uniform(4, 14) / 16) * 16) for _ in range(3))
        if m * n * k < 2**41:
            found.append((m, n, k))
    return found


def name_of(tile: MeasuredTile) -> str:
    """The static parameters of a tile, in order."""
    return " ".join(map(str, tile.statics.values()))


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


def run(tile: MeasuredTile, given: Mapping[str, Any]) -> None:
    """The Hopper form with a tile."""
    from argus.calls import launch
    from argus.kernels.gemm.entry import tile_statics
    from argus.kernels.gemm.kernel import gemm_sm90

    statics = tile_statics(tile, tma_store=True, epilogue=False)
    launch(gemm_sm90, (), {**given, **statics})


def build(tile: MeasuredTile) -> float:
    """Build one tile and return its error against torch."""
    import torch

    given = arrays((1024, 1024, 256))
    run(tile, given)
    want = given["A"].float() @ given["B"].float().T
    torch.cuda.synchronize()
    return ((given["C"].float() - want).norm() / want.norm()).item()


def measure(size: Size) -> dict[str, float]:
    """Median microseconds of cuBLAS and of each tile, by name."""
    import torch

    given = arrays(size)
    calls: dict[str, Callable[[], object]] = {
        "cublas": lambda: torch.matmul(given["A"], given["B"].T, out=given["C"])
    }
    for tile in TILES:
        if tile.fits(size[0]):
            calls[name_of(tile)] = partial(run, tile, given)
    return {
        name: timing.median
        for name, timing in time_interleaved(calls, rounds=9, warmup=2).items()
    }


def fitted(rows: list[tuple[float, ...]], times: list[float]) -> tuple[float, ...]:
    """Least squares of the relative error, without negative factors."""
    x, y = np.array(rows), np.array(times)
    used = list(range(x.shape[1]))
    while True:
        found = np.linalg.lstsq(x[:, used] / y[:, None], np.ones(len(y)), rcond=None)[0]
        if (found >= 0).all():
            break
        used.pop(int(np.argmin(found)))
    full = np.zeros(x.shape[1])
    full[used] = found
    return tuple(round(float(v), 4) for v in full)


def main() -> None:
    """Measure, fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--sizes", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=14)
    args = parser.parse_args()
    os.environ["ARGUS_CHECK"] = "0"  # the tiles are proved where they are used
    with ProcessPoolExecutor(args.jobs) as pool:
        wrong = {
            s: e for s, e in zip(TILES, pool.map(build, TILES), strict=True) if e > 5e-3
        }
    if wrong:
        raise SystemExit(f"wrong results: {wrong}")
    measured: dict[Size, dict[str, float]] = {}
    begin = time.monotonic()
    for size in sizes(args.sizes, 7):
        if time.monotonic() - begin < args.seconds:
            measured[size] = measure(size)
    tiles: list[MeasuredTile] = []
    for tile in TILES:
        name = name_of(tile)
        seen = [(size, t[name]) for size, t in measured.items() if name in t]
        rows = [factors(tile.BM, tile.BN, tile.BK, *size) for size, _ in seen]
        tiles.append(replace(tile, times=fitted(rows, [t for _, t in seen])))
    report(tiles, measured)
    names = [name_of(tile) for tile in TILES]
    fastest = [
        (*size, min((t, names.index(n)) for n, t in times.items() if n != "cublas")[1])
        for size, times in measured.items()
        if size in LIBRARY
    ]
    command = "python benchmarks/gemm_tiles.py src/argus/kernels/gemm/tiles.json"
    data = {
        "made by": f"{command}, on an H200, {len(measured)} sizes",
        "tiles": [{"statics": t.statics, "times": t.times} for t in tiles],
        "fastest": fastest,
    }
    args.out.write_text(json.dumps(data, indent=1) + "\n")


def report(
    tiles: list[MeasuredTile], measured: Mapping[Size, Mapping[str, float]]
) -> None:
    """What the table takes at each size, beside the best and cuBLAS."""
    taken: list[float] = []
    possible: list[float] = []
    for size, times in measured.items():
        fitting = [t for t in tiles if t.fits(size[0])]
        name = name_of(min(fitting, key=lambda t: t.predicted(*size)))
        best = min((t, n) for n, t in times.items() if n != "cublas")
        taken.append(times["cublas"] / times[name])
        possible.append(times["cublas"] / best[0])
        print(
            f"{size!s:22} cuBLAS {times['cublas']:8.1f} us  best {best[1]:22}"
            f" {possible[-1]:.3f}  taken {name:22} {taken[-1]:.3f}"
        )
    for what, found in (("taken", taken), ("best of the table", possible)):
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"{what}: geomean {mean:.3f} of cuBLAS, least {min(found):.3f}")


if __name__ == "__main__":
    main()
