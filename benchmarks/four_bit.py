"""Products with weights of four bits beside cuBLAS and beside a copy of the weights.

    python benchmarks/four_bit.py OUT.json [--kinds int4 mxfp4] [--rows 1 4] [--tiles]

Each call is checked against fp64 first. It is timed as called, L2 cold, beside torch's
product with the same weights in bf16, and beside a copy of as many bytes as weights and
scales have: "of copy" is how fast these are read, of how fast the copy reads and
writes. ``--tiles`` times tiles of the forms that are not the ones chosen, too. Needs a
GPU; without proofs unless ARGUS_CHECK says so.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch

from argus import ops
from argus.diagnostics import ArgusError
from argus.evaluation.timing import time_interleaved
from argus.kernels.four_bit.choice import FEW, few_statics, many_statics
from argus.kernels.four_bit.few import int4_few, mxfp4_few
from argus.kernels.four_bit.many import int4_many, mxfp4_many
from argus.kernels.tensors import multiprocessors

ROWS = (1, 4, 16, 64, 256, 2048)
WEIGHTS = ((4096, 4096), (14336, 4096), (4096, 14336))
GROUP = {"int4": 128, "mxfp4": 32}
TOLERANCE = 5e-3
"""The largest norm of an error beside the norm of the result."""
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Product:
    """A call, the kernels behind it, and what it should compute."""

    kind: str
    a: Any
    packed: Any
    scales: Any
    out: Any
    dense: Any
    """The weights in f64."""

    @property
    def bytes(self) -> int:
        """Of weights and scales."""
        return sum(t.numel() * t.element_size() for t in (self.packed, self.scales))

    def call(self) -> object:
        """As a user calls it."""
        if self.kind == "int4":
            return ops.int4_gemm(self.a, self.packed, self.scales, out=self.out)
        return ops.mxfp4_gemm(self.a, self.packed, self.scales, out=self.out)

    def launched(self, statics: dict[str, Any]) -> Callable[[], object]:
        """One of the kernels, with tiles of its own."""
        forms = {
            ("int4", True): int4_few,
            ("int4", False): int4_many,
            ("mxfp4", True): mxfp4_few,
            ("mxfp4", False): mxfp4_many,
        }
        kernel = forms[self.kind, self.a.shape[0] <= FEW]
        words = self.packed.view(torch.uint16)
        return lambda: kernel(self.a, words, self.scales, self.out, **statics)

    def error(self) -> float:
        """Of what is in the result; blocks of rows of weights at a time."""
        want = self.a.double() @ self.dense.T
        return float((self.out.double() - want).norm() / want.norm())


def product(kind: str, m: int, n: int, k: int) -> Product:
    """Random operands; the number of an even column is in the lower half of a byte."""
    q = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda")
    packed = q[:, 0::2] | q[:, 1::2] << 4
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    groups = (n, k // GROUP[kind])
    if kind == "int4":
        scales = torch.rand(groups, device="cuda").bfloat16() + 0.5
        dense, scale = q.double() - 8, scales.double()
    else:
        scales = torch.randint(122, 131, groups, dtype=torch.uint8, device="cuda")
        values = torch.tensor((*E2M1, *(-x for x in E2M1)), device="cuda")
        dense, scale = values.double()[q.long()], torch.exp2(scales.double() - 127)
    dense = dense * scale.repeat_interleave(GROUP[kind], dim=1)
    out = torch.full((m, n), float("nan"), device="cuda", dtype=a.dtype)
    return Product(kind, a, packed, scales, out, dense)


def other_tiles(m: int, n: int, processors: int) -> Iterator[dict[str, Any]]:
    """Static parameters beside those that are chosen."""
    if m <= FEW:
        chosen = few_statics(m, n, processors)
        stages = ((16, 2), (16, 3), (16, 4), (16, 6), (32, 2), (32, 3), (32, 4))
        for rows, depth in stages:
            for warps in (2, 4):
                yield {**chosen, "BN": rows, "STAGES": depth, "WARPS": warps}
        return
    chosen = many_statics(m, n, processors, tma_store=n % 8 == 0)
    for rows in (64, 128):
        for width in (48, 96, 192):
            if rows == 64 or m > 64:
                sizes = {"BM": rows, "WARPGROUPS": rows // 64}
                yield {**chosen, **sizes, "BN": width, "BC": min(32, width // 3)}


def measure(
    kind: str, size: tuple[int, int, int], rounds: int, tiles: bool
) -> dict[str, Any]:
    """The error, times in microseconds, and how fast weights are read."""
    m, n, k = size
    made = product(kind, m, n, k)
    made.call()
    error = made.error()
    if not error <= TOLERANCE:
        raise SystemExit(f"{kind} {size}: the error is {error}")
    weights = made.dense.to(torch.bfloat16)
    result = torch.empty_like(made.out)
    source = torch.empty(made.bytes, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    calls: dict[str, Callable[[], object]] = {
        "argus": made.call,
        "cuBLAS": lambda: torch.matmul(made.a, weights.T, out=result),
        "copy": lambda: target.copy_(source),
    }
    failed: dict[str, str] = {}
    if tiles:
        for statics in other_tiles(m, n, multiprocessors(made.a)):
            name = " ".join(f"{x}={y}" for x, y in statics.items())
            call = made.launched(statics)
            try:
                made.out.fill_(float("nan"))
                call()
                if not made.error() <= TOLERANCE:
                    failed[name] = "it is wrong"
                    continue
            except ArgusError as error_of:
                failed[name] = str(error_of).splitlines()[0]
                continue
            calls[name] = call
    times = time_interleaved(calls, rounds=rounds, warmup=3)
    us = {name: round(timing.median, 2) for name, timing in times.items()}
    return {
        "kind": kind,
        "size": size,
        "error": error,
        "us": us,
        "of cuBLAS": us["cuBLAS"] / us["argus"],
        "of copy": us["copy"] / 2 / us["argus"],
        "GB/s": made.bytes / us["argus"] / 1e3,
        "TFLOPS": 2 * m * n * k / us["argus"] / 1e6,
        "failed": failed,
    }


def told(found: dict[str, Any]) -> str:
    """A line about a size, and one about the best of other tiles."""
    us = found["us"]
    line = (
        f"{found['kind']:6}{found['size']!s:20}{us['argus']:9.2f} us  cuBLAS "
        f"{us['cuBLAS']:8.2f}  copy {us['copy']:8.2f}  {found['of cuBLAS']:.2f} of "
        f"cuBLAS  {found['of copy']:.2f} of copy  {found['GB/s']:.0f} GB/s "
        f"{found['TFLOPS']:.0f} TFLOPS  error {found['error']:.1e}"
    )
    tiles = {n: t for n, t in us.items() if "=" in n}
    if tiles:
        best = min(tiles, key=lambda name: tiles[name])
        line += f"\n    best tile {tiles[best]:.2f} us: {best}"
    return line


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=GROUP, default=list(GROUP))
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--tiles", action="store_true")
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    for kind in args.kinds:
        for m in args.rows:
            for n, k in WEIGHTS:
                found.append(measure(kind, (m, n, k), args.rounds, args.tiles))
                print(told(found[-1]), flush=True)
                args.out.write_text(json.dumps(found, indent=1))
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
