"""Times of tiles and parts of products with weights of eight bits, and what they say.

    python benchmarks/weight_tiles.py measure OUT.json      needs a GPU
    python benchmarks/weight_tiles.py fit OUT.json

``measure`` times every plan of `argus.kernels.weight_tiles` at 72 sizes, L2 cold, after
its result was checked. ``fit`` prints the numbers that the module predicts times with,
fitted to relative errors, and how much longer than the fastest the plans take that they
choose.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import numpy as np

from argus.kernels.weight_tiles import TilePlan, counts, tile_plans

COUNT = 132
"""Multiprocessors."""
WEIGHTS = (
    (4096, 4096), (14336, 4096), (4096, 14336), (8192, 8192), (1024, 8192),
    (6144, 2048),
)  # fmt: skip
ROWS = (1, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
TOLERANCE = 6e-3
"""The largest error of an element beside the largest element."""


def plans_of(m: int, n: int, k: int) -> list[TilePlan]:
    """Plans but for tiles that are far too high or low."""
    found = dict.fromkeys(tile_plans(m, n, k, COUNT))
    return [p for p in found if p.rows <= max(8, 2 * m - 1) and p.rows * 8 >= m]


def measure(m: int, n: int, k: int) -> dict[str, float]:
    """Microseconds by rows, width and parts."""
    import torch

    from argus.evaluation.timing import time_interleaved
    from argus.kernels.eight_bit.entry import tile_statics
    from argus.kernels.eight_bit.kernel import int8_parts, int8_small
    from argus.kernels.gemm.kernel import gemm_sum
    from argus.kernels.gemm.plan import sum_statics

    like: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    w = torch.randint(-128, 128, (n, k), dtype=torch.int8, device="cuda")
    a, s, c = (
        torch.randn(m, k, **like),
        torch.rand(n, **like),
        torch.empty(m, n, **like),
    )
    want = a.double() @ w.double().T * s.double()

    def launched(plan: TilePlan) -> Callable[[], object]:
        statics: dict[str, Any] = tile_statics(plan)
        if plan.parts == 1:
            return lambda: int8_small(a, w, s, c, **statics)
        sums = torch.empty(plan.parts, m, n, device="cuda")
        total: dict[str, Any] = sum_statics(plan.parts, n)

        def call() -> None:
            int8_parts(a, w, s, sums, plan.steps(k), **statics)
            gemm_sum(sums, c, **total)

        return call

    calls: dict[str, Callable[[], object]] = {}
    for plan in plans_of(m, n, k):
        name = f"{plan.rows} {plan.width} {plan.parts}"
        calls[name] = launched(plan)
        c.fill_(float("nan"))
        calls[name]()
        error = ((c.double() - want).abs().max() / want.abs().max()).item()
        if not error < TOLERANCE:
            raise SystemExit(f"{name} at {(m, n, k)}: the error is {error}")
    times = time_interleaved(calls, rounds=5, warmup=1)
    return {name: round(timing.median, 2) for name, timing in times.items()}


def fitted(rows: list[Any], times: list[float]) -> Any:
    """Numbers from 0 on with the least squares of relative errors."""
    from scipy.optimize import nnls

    columns, us = np.array(rows), np.array(times)
    found, _ = nnls(columns / us[:, None], np.ones(len(us)))
    return found


def fit(measured: list[dict[str, Any]]) -> None:
    """Print numbers, and by how much their choice is off."""
    rows: list[Any] = []
    times: list[float] = []
    choices: list[list[tuple[int, float]]] = []
    for row in measured:
        choices.append([])
        m, n, k = row["size"]
        for name, us in row["us"].items():
            plan = TilePlan(*map(int, name.split()))
            choices[-1].append((len(rows), us))
            rows.append(counts(plan, m, n, k, COUNT))
            times.append(us)
    found = fitted(rows, times)
    print("times", ", ".join(f"{x:.3g}" for x in found))
    told = np.array(rows) @ found
    off = np.abs(told / np.array(times) - 1)
    print(
        f"errors: median {np.median(off):.3f}, {np.quantile(off, 0.9):.3f} of 9 in 10"
    )
    lost = [
        min(plans, key=lambda p: told[p[0]])[1] / min(us for _, us in plans)
        for plans in choices
    ]
    mean = exp(sum(map(log, lost)) / len(lost))
    print(f"chosen: {mean:.3f} of the fastest, {max(lost):.3f} at most")


def main() -> None:
    """Measure, or fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("measure", "fit"))
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    if args.what == "fit":
        return fit(json.loads(args.file.read_text()))
    found: list[dict[str, Any]] = []
    for (n, k), m in product(WEIGHTS, ROWS):
        found.append({"size": (m, n, k), "us": measure(m, n, k)})
        best = min(found[-1]["us"].items(), key=lambda item: item[1])
        print((m, n, k), *best, flush=True)
        args.file.write_text(json.dumps(found, indent=1))
    return None


if __name__ == "__main__":
    main()
