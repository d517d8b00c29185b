"""`ops.gemm` beside cuBLAS at random sizes and at few rows, as it is called.

    python benchmarks/gemm_random.py OUT.json [--seed 1] [--count 40] [--only few]

Sizes are log-uniform from 1 to 16384, each; of every third call no size is a multiple
of 8, of the others all are. Rows of A are few in a second group, with weights that
models have. Each call is checked against torch in f32, and timed beside
`torch.matmul(out=)` in the same rounds, after a write to more than the L2 cache. The
time of the host is that of calls without waiting for the device. Needs a GPU; kernels
are built without proofs unless ARGUS_CHECK says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch
from overhead import host_microseconds

from argus import ops
from argus.evaluation.timing import time_interleaved
from argus.kernels.gemm.plan import (
    best_plan,
    predicted,
)
from argus.kernels.gemm.tiles import table
from argus.kernels.tensors import row_step

Size = tuple[int, int, int]
LARGEST = 16384
FEW = tuple(
    (m, n, k)
    for m in (1, 8, 16, 64, 128)
    for n, k in (
        (4096, 4096),
        (8192, 8192),
        (11008, 4096),
        (4096, 11008),
        (28672, 8192),
    )
)
HOST = ((256, 256, 256), (64, 256, 8192), (255, 255, 255), (1, 4096, 4096))


def sizes(count: int, seed: int) -> list[Size]:
    """Random sizes; of every third none is a multiple of 8, of others all are."""
    rng = random.Random(seed)
    found: list[Size] = []
    for i in range(count):
        drawn = [round(2 ** rng.uniform(0, math.log2(LARGEST))) for _ in range(3)]
        if i % 3 == 0:
            m, n, k = (d - 1 if d % 8 == 0 else d for d in drawn)
        else:
            m, n, k = (max(8, round(d / 8) * 8) for d in drawn)
        found.append((m, n, k))
    return found


def operands(size: Size) -> tuple[Any, Any, Any]:
    """A, B and C in bf16."""
    m, n, k = size
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    return (
        torch.randn(m, k, **half),
        torch.randn(n, k, **half),
        torch.full((m, n), math.nan, **half),
    )


def measure(size: Size, rounds: int) -> dict[str, Any]:
    """Error, times of both in microseconds, and what the table chose."""
    a, b, c = operands(size)
    ops.gemm(a, b, out=c)
    want = a.float() @ b.float().T
    error = ((c.float() - want).norm() / want.norm().clamp_min(1e-30)).item()
    del want
    other = torch.empty_like(c)
    times = time_interleaved(
        {
            "argus": lambda: ops.gemm(a, b, out=c),
            "cuBLAS": lambda: torch.matmul(a, b.T, out=other),
        },
        rounds=rounds,
        warmup=3,
    )
    aligned = (row_step(a), row_step(b))
    plan = best_plan(*size, aligned)
    return {
        "size": size,
        "error": error,
        **{name: round(timing.median, 2) for name, timing in times.items()},
        "ratio": times["cuBLAS"].median / times["argus"].median,
        "plan": [plan.tile.form, *plan.tile.statics.values()],
        "parts": plan.parts,
        "copies": plan.copies,
        "predicted": round(predicted(table(), plan, *size, aligned), 2),
    }


def host(size: Size) -> dict[str, float]:
    """Microseconds of the host for a call that allocates its result."""
    a, b, _ = operands(size)
    turned = b.T
    return {
        "argus": host_microseconds(lambda: ops.gemm(a, b))["median_us"],
        "torch": host_microseconds(lambda: torch.matmul(a, turned))["median_us"],
    }


def told(found: Mapping[str, Any]) -> str:
    """A line about a size."""
    plan = " ".join(map(str, found["plan"]))
    copies = "".join(n for n, made in zip("AB", found["copies"], strict=True) if made)
    return (
        f"{found['size']!s:22} {found['argus']:9.1f} cuBLAS {found['cuBLAS']:9.1f} us "
        f"{found['ratio']:.3f}  predicted {found['predicted']:9.1f}  error "
        f"{found['error']:.1e}  {plan} /{found['parts']} {copies}"
    )


def group(name: str, given: Sequence[Size], rounds: int) -> dict[str, Any]:
    """Measure sizes one after the other; geometric mean and least."""
    found: list[dict[str, Any]] = []
    for size in given:
        found.append(measure(size, rounds))
        print(told(found[-1]), flush=True)
        torch.cuda.empty_cache()
    ratios = [f["ratio"] for f in found]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    worst = max(f["error"] for f in found)
    print(
        f"{name}: geomean {mean:.3f} of cuBLAS, least {min(ratios):.3f}, median "
        f"{median(ratios):.3f}; below 0.8: {sum(r < 0.8 for r in ratios)} of "
        f"{len(ratios)}; largest error {worst:.1e}",
        flush=True,
    )
    return {"geomean": mean, "least": min(ratios), "worst error": worst, "all": found}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", choices=("random", "few", "host"))
    args = parser.parse_args()
    wanted = (args.only,) if args.only else ("random", "few", "host")
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "seed": args.seed}
    if "random" in wanted:
        found["random"] = group("random", sizes(args.count, args.seed), args.rounds)
    if "few" in wanted:
        found["few"] = group("few rows", FEW, args.rounds)
    if "host" in wanted:
        found["host"] = {str(size): host(size) for size in HOST}
        for size, times in found["host"].items():
            print(f"host {size}: {times['argus']:.2f}, torch {times['torch']:.2f} us")
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
