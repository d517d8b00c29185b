"""Products of the library beside cuBLAS at random sizes and at few rows, as called.

    python benchmarks/gemm_random.py OUT.json [--seed 1 2] [--count 40] [--only few]
        [--elements bf16 tf32 f32 e4m3 i8]

Sizes are log-uniform from 1 to 16384, each; of every third call no size is a multiple
of 8, of the others all are. Rows of A are few in a second group, with weights that
models have; a third ("named") are large, or have few results and long sums. Of eight
bits, sizes are those that torch multiplies. Each call is checked against torch, and
timed beside torch's in the same rounds, after a write to more than the L2 cache. The
time of the host is that of calls without waiting for the device. Needs a GPU; kernels
are built in several processes before (``--jobs``), without proofs unless ARGUS_CHECK
says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch
from overhead import host_microseconds

from argus import ops
from argus.diagnostics import ArgusError
from argus.evaluation.timing import time_interleaved
from argus.kernels.gemm.plan import (
    best_plan,
    predicted,
)
from argus.kernels.gemm.tiles import table
from argus.kernels.tensors import row_bytes

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
NAMED = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (512, 8192, 8192),
    (64, 64, 4096),
    (32, 4096, 4096),
    (256, 256, 32768),
)
HOST = ((256, 256, 256), (64, 256, 8192), (255, 255, 255), (1, 4096, 4096))


@dataclass(frozen=True)
class Operands:
    """A call of the library, torch's for the same, and the result in full."""

    argus: Callable[[], object]
    torch: Callable[[], object]
    found: Callable[[], Any]
    wanted: Callable[[], Any]
    pair: tuple[Any, Any]


def _halves(size: Size) -> Operands:
    m, n, k = size
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    a, b = torch.randn(m, k, **half), torch.randn(n, k, **half)
    c, other = torch.full((m, n), math.nan, **half), torch.empty(m, n, **half)
    return Operands(
        lambda: ops.gemm(a, b, out=c),
        lambda: torch.matmul(a, b.T, out=other),
        lambda: c.float(),
        lambda: a.float() @ b.float().T,
        (a, b),
    )


def _singles(size: Size, precision: str) -> Operands:
    m, n, k = size
    a, b = torch.randn(m, k, device="cuda"), torch.randn(n, k, device="cuda")
    c, other = torch.full((m, n), math.nan, device="cuda"), a.new_empty(m, n)

    def call(tf32: bool) -> object:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.matmul(a, b.T, out=other)
        torch.backends.cuda.matmul.allow_tf32 = False

    return Operands(
        lambda: ops.gemm(a, b, out=c, precision=precision),
        lambda: call(precision == "tf32"),
        lambda: c,
        lambda: (a.double() @ b.double().T).float() if m * n * k < 2**34 else a @ b.T,
        (a, b),
    )


def _floats8(size: Size) -> Operands:
    m, n, k = size
    a, b = (torch.randn(r, k, device="cuda").to(torch.float8_e4m3fn) for r in (m, n))
    one = torch.ones(1, device="cuda")
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    library: Any = torch
    return Operands(
        lambda: ops.scaled_gemm(a, b, one, one, fast=True, out=c),
        lambda: library._scaled_mm(
            a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True
        ),
        lambda: c.float(),
        lambda: a.float() @ b.float().T,
        (a, b),
    )


def _integers(size: Size) -> Operands:
    m, n, k = size
    shape = {"dtype": torch.int8, "device": "cuda"}
    a, b = (torch.randint(-100, 100, (r, k), **shape) for r in (m, n))
    c = torch.empty(m, n, device="cuda", dtype=torch.int32)
    library: Any = torch
    return Operands(
        lambda: ops.integer_gemm(a, b, out=c),
        lambda: library._int_mm(a, b.T),
        lambda: c.double(),
        lambda: (
            a.double() @ b.double().T
            if m * n * k < 2**34
            else library._int_mm(a, b.T).double()
        ),
        (a, b),
    )


OPERANDS: dict[str, Callable[[Size], Operands]] = {
    "bf16": _halves,
    "tf32": partial(_singles, precision="tf32"),
    "f32": partial(_singles, precision="f32"),
    "e4m3": _floats8,
    "i8": _integers,
}
TOLERANCE = {"bf16": 5e-3, "tf32": 2e-3, "f32": 3e-6, "e4m3": 1e-2, "i8": 0.0}
"""The largest norm of an error beside the norm of the result."""


def sizes(count: int, seed: int, element: str) -> list[Size]:
    """Random sizes; of every third none is a multiple of 8, of others all are.

    Of eight bits all are multiples of 16, and there are more than 16 rows.
    """
    rng = random.Random(seed)
    found: list[Size] = []
    for i in range(count):
        drawn = [round(2 ** rng.uniform(0, math.log2(LARGEST))) for _ in range(3)]
        if element in ("e4m3", "i8"):
            m, n, k = (max(16, round(d / 16) * 16) for d in drawn)
            m = max(m, 32)
        elif i % 3 == 0:
            m, n, k = (d - 1 if d % 8 == 0 else d for d in drawn)
        else:
            m, n, k = (max(8, round(d / 8) * 8) for d in drawn)
        found.append((m, n, k))
    return found


def chosen(element: str, made: Operands, size: Size) -> str:
    """The plan of 16 bits, and what is predicted of it."""
    if element != "bf16":
        return ""
    aligned = (row_bytes(made.pair[0]), row_bytes(made.pair[1]))
    plan = best_plan(*size, aligned)
    copies = "".join(n for n, c in zip("AB", plan.copies, strict=True) if c)
    us = predicted(table(), plan, *size, aligned)
    statics = " ".join(str(int(v)) for v in plan.tile.statics.values())
    return f"{plan.tile.form} {statics} /{plan.parts} {copies} predicted {us:.1f}"


def build(element: str, size: Size) -> None:
    """Build what a call launches; `group` tells what is wrong with it."""
    with suppress(ArgusError):
        OPERANDS[element](size).argus()


def measure(element: str, size: Size, rounds: int) -> dict[str, Any]:
    """Error, times of both in microseconds, and what the table chose."""
    made = OPERANDS[element](size)
    made.argus()
    want = made.wanted()
    error = ((made.found() - want).norm() / want.norm().clamp_min(1e-30)).item()
    del want
    times = time_interleaved(
        {"argus": made.argus, "cuBLAS": made.torch}, rounds=rounds, warmup=3
    )
    return {
        "element": element,
        "size": size,
        "error": error,
        **{name: round(timing.median, 2) for name, timing in times.items()},
        "ratio": times["cuBLAS"].median / times["argus"].median,
        "plan": chosen(element, made, size),
    }


def host(size: Size) -> dict[str, float]:
    """Microseconds of the host for a call that allocates its result."""
    a, b = _halves(size).pair
    turned = b.T
    return {
        "argus": host_microseconds(lambda: ops.gemm(a, b))["median_us"],
        "torch": host_microseconds(lambda: torch.matmul(a, turned))["median_us"],
    }


def told(found: Mapping[str, Any]) -> str:
    """A line about a size."""
    return (
        f"{found['element']} {found['size']!s:22} {found['argus']:9.1f} cuBLAS "
        f"{found['cuBLAS']:9.1f} us {found['ratio']:.3f}  error {found['error']:.1e}  "
        f"{found['plan']}"
    )


def group(
    name: str, element: str, given: Sequence[Size], rounds: int
) -> dict[str, Any]:
    """Measure sizes one after the other; geometric mean and least."""
    found: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for size in given:
        try:
            found.append(measure(element, size, rounds))
            print(told(found[-1]), flush=True)
        except ArgusError as error:
            failed[str(size)] = str(error)
            print(f"{element} {size} failed: {error}", flush=True)
        torch.cuda.empty_cache()
    if not found:
        return {"failed": failed}
    ratios = [f["ratio"] for f in found]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    worst = max(f["error"] for f in found)
    wrong = sum(not f["error"] <= TOLERANCE[element] for f in found)
    print(
        f"{name}, {element}: geomean {mean:.3f} of cuBLAS, least {min(ratios):.3f}, "
        f"median {median(ratios):.3f}; below 0.8: {sum(r < 0.8 for r in ratios)} of "
        f"{len(ratios)}; largest error {worst:.1e}, too large: {wrong}, failed: "
        f"{len(failed)}",
        flush=True,
    )
    return {
        "geomean": mean,
        "least": min(ratios),
        "worst error": worst,
        "all": found,
        "failed": failed,
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--elements", nargs="+", choices=OPERANDS, default=["bf16"])
    parser.add_argument("--only", nargs="+", choices=("random", "few", "named", "host"))
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    wanted = args.only or ("random", "few", "host")
    groups: dict[tuple[str, str], Sequence[Size]] = {}
    for element in args.elements:
        if "random" in wanted:
            for seed in args.seed:
                found = sizes(args.count, seed, element)
                groups[f"random, seed {seed}", element] = found
        if "few" in wanted and element in ("bf16", "tf32", "f32"):
            groups["few rows", element] = FEW
        if "named" in wanted:
            groups["named", element] = NAMED
    pairs = [(e, size) for (_, e), given in groups.items() for size in given]
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        list(pool.map(build, *zip(*pairs, strict=True)) if pairs else [])
    made: dict[str, Any] = {"device": torch.cuda.get_device_name(), "groups": {}}
    for (name, element), given in groups.items():
        made["groups"][f"{name}, {element}"] = group(name, element, given, args.rounds)
        args.out.write_text(json.dumps(made, indent=1) + "\n")
    if "host" in wanted:
        made["host"] = {str(size): host(size) for size in HOST}
        for size, times in made["host"].items():
            print(f"host {size}: {times['argus']:.2f}, torch {times['torch']:.2f} us")
    args.out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
