"""Products with weights of four or eight bits beside cuBLAS and a copy of the weights.

    python benchmarks/narrow_weights.py OUT.json [--kinds int4 mxfp4 int8] [--rows 1 4]

Each call is checked against fp64 first. It is timed as called, L2 cold, beside torch's
product with the same weights in bf16, and beside a copy of as many bytes as weights and
scales have: "of copy" is how fast these are read, of how fast the copy reads and
writes. Needs a GPU; without proofs unless ARGUS_CHECK says so.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch

from argus import ops
from argus.evaluation.timing import time_interleaved

ROWS = (1, 4, 16, 64, 128, 256, 512, 2048)
WEIGHTS = ((4096, 4096), (14336, 4096), (4096, 14336))
GROUP = {"int4": 128, "mxfp4": 32}
KINDS = (*GROUP, "int8")
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
        if self.kind == "int8":
            return ops.int8_gemm(self.a, self.packed, self.scales, out=self.out)
        return ops.mxfp4_gemm(self.a, self.packed, self.scales, out=self.out)

    def error(self) -> float:
        """Of what is in the result; blocks of rows of weights at a time."""
        want = self.a.double() @ self.dense.T
        return float((self.out.double() - want).norm() / want.norm())


def product(kind: str, m: int, n: int, k: int) -> Product:
    """Random operands; the number of an even column is in the lower half of a byte."""
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    out = torch.full((m, n), float("nan"), device="cuda", dtype=a.dtype)
    if kind == "int8":
        packed = torch.randint(-128, 128, (n, k), dtype=torch.int8, device="cuda")
        scales = torch.rand(n, device="cuda") / 64
        return Product(kind, a, packed, scales, out, packed * scales[:, None].double())
    q = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda")
    packed = q[:, 0::2] | q[:, 1::2] << 4
    groups = (n, k // GROUP[kind])
    if kind == "int4":
        scales = torch.rand(groups, device="cuda").bfloat16() + 0.5
        dense, scale = q.double() - 8, scales.double()
    else:
        scales = torch.randint(122, 131, groups, dtype=torch.uint8, device="cuda")
        values = torch.tensor((*E2M1, *(-x for x in E2M1)), device="cuda")
        dense, scale = values.double()[q.long()], torch.exp2(scales.double() - 127)
    dense = dense * scale.repeat_interleave(GROUP[kind], dim=1)
    return Product(kind, a, packed, scales, out, dense)


def measure(kind: str, size: tuple[int, int, int], rounds: int) -> dict[str, Any]:
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
    }


def told(found: dict[str, Any]) -> str:
    """A line about a size."""
    us = found["us"]
    return (
        f"{found['kind']:6}{found['size']!s:20}{us['argus']:9.2f} us  cuBLAS "
        f"{us['cuBLAS']:8.2f}  copy {us['copy']:8.2f}  {found['of cuBLAS']:.2f} of "
        f"cuBLAS  {found['of copy']:.2f} of copy  {found['GB/s']:.0f} GB/s "
        f"{found['TFLOPS']:.0f} TFLOPS  error {found['error']:.1e}"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=21)
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    for kind in args.kinds:
        for m in args.rows:
            for n, k in WEIGHTS:
                found.append(measure(kind, (m, n, k), args.rounds))
                print(told(found[-1]), flush=True)
                args.out.write_text(json.dumps(found, indent=1))
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
