"""Attention of the library beside torch's at random shapes, and decoding, as called.

    python benchmarks/attention_random.py OUT.json [--seed 1 2] [--count 30]
        [--only random decode]

Random: batch, heads, heads of keys, queries, keys, head dimension and mask are drawn;
beside the fastest of torch's ways (cuDNN, flash attention, memory-efficient attention).
Decoding: a few queries and many keys, beside the same and beside a copy of as many
bytes as keys and values have. Each call is checked against fp64, a head at a time, and
timed in the same rounds, after a write to more than the L2 cache. Needs a GPU; kernels
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
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from argus import ops
from argus.diagnostics import ArgusError
from argus.evaluation.timing import time_interleaved

TOLERANCE = 1e-2
"""The largest norm of an error beside the norm of the result, of a head."""
CHECKED = 3
"""Heads that are checked, each with at most so many queries:"""
QUERIES = 512
BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}


@dataclass(frozen=True)
class Shape:
    """Of one call: q (b, h, s, d), k and v (b, g, t, d)."""

    b: int
    h: int
    g: int
    s: int
    t: int
    d: int
    causal: bool = False

    def __str__(self) -> str:
        """As `ops.attention` is described in tables."""
        keys = "" if self.s == self.t else f":{self.t}"
        mask = " causal" if self.causal else ""
        return f"{self.b}x{self.h}/{self.g}x{self.s}{keys} d{self.d}{mask}"


DECODE = tuple(
    Shape(b, h, g, 1, t, 128)
    for b, h, g, t in (
        (1, 32, 8, 131072),
        (1, 64, 8, 32768),
        (4, 32, 32, 8192),
        (8, 32, 8, 16384),
        (16, 40, 8, 4096),
        (32, 32, 8, 8192),
        (64, 32, 8, 2048),
        (128, 64, 8, 1024),
    )
)


def shapes(count: int, seed: int) -> list[Shape]:
    """Random ones of 2^24 to 10^12 products of elements.

    Lengths are log-uniform; of every third call keys are as many as queries under a
    causal mask, of the next without one, and of the third other than queries.
    """
    rng = random.Random(seed)
    found: list[Shape] = []
    while len(found) < count:
        kind = len(found) % 3
        s = round(2 ** rng.uniform(5, 14))
        t = s if kind < 2 else round(2 ** rng.uniform(5, 14))
        groups = rng.choice((1, 1, 1, 2, 4, 8))
        g = rng.choice((1, 2, 4, 8, 12, 16, 32))
        d = rng.choice((64, 64, 80, 96, 128, 128, 128, 192, 256))
        shape = Shape(rng.choice((1, 2, 3, 4, 8, 16)), g * groups, g, s, t, d, not kind)
        work = shape.b * shape.h * s * t * d
        held = shape.b * shape.h * max(s, t) * d
        if shape.h <= 64 and 2**24 <= work <= 10**12 and held <= 2**29:
            found.append(shape)
    return found


def tensors(shape: Shape) -> tuple[Any, Any, Any]:
    """Random q, k and v."""
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    keys = (shape.b, shape.g, shape.t, shape.d)
    q = torch.randn(shape.b, shape.h, shape.s, shape.d, **half)
    return q, torch.randn(keys, **half), torch.randn(keys, **half)


def error(shape: Shape, given: Sequence[Any], out: Any) -> float:
    """The worst of some heads and queries against fp64; NaN where there is one."""
    rng = random.Random(shape.s)
    worst = 0.0
    for _ in range(CHECKED):
        b, h = rng.randrange(shape.b), rng.randrange(shape.h)
        g = h // (shape.h // shape.g)
        rows = torch.randperm(shape.s, device="cuda")[:QUERIES]
        q, k, v = given[0][b, h, rows], given[1][b, g], given[2][b, g]
        scores = q.double() @ k.double().T * shape.d**-0.5
        if shape.causal:
            seen = torch.arange(shape.t, device="cuda") <= rows[:, None]
            scores = scores.where(seen, -math.inf)
        want = scores.softmax(-1) @ v.double()
        got = out[b, h, rows].double()
        off = float((got - want).norm() / want.norm())
        worst = worst if off <= worst else off
    return worst


def beside(shape: Shape, given: Sequence[Any]) -> dict[str, Callable[[], Any]]:
    """Torch's ways that take such a call, by name."""
    q, k, v = given

    def way(backend: SDPBackend) -> Callable[[], Any]:
        def call() -> Any:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(
                    q, k, v, is_causal=shape.causal, enable_gqa=shape.h != shape.g
                )

        return call

    found: dict[str, Callable[[], Any]] = {}
    for name, backend in BACKENDS.items():
        with suppress(RuntimeError):
            way(backend)()
            found[name] = way(backend)
    return found


def build(shape: Shape) -> None:
    """Build what a call launches; `measure` tells what is wrong with it."""
    with suppress(ArgusError):
        ops.attention(*tensors(shape), causal=shape.causal)


def measure(shape: Shape, rounds: int, copies: bool) -> dict[str, Any]:
    """Error, microseconds of each way, of the best of torch's, and of a copy."""
    given = tensors(shape)
    out = torch.full_like(given[0], math.nan)
    ops.attention(*given, causal=shape.causal, out=out)
    off = error(shape, given, out)
    calls = beside(shape, given)
    calls["argus"] = lambda: ops.attention(*given, causal=shape.causal, out=out)
    if copies:
        calls["copy"] = _copy(given[1:])
    timed = time_interleaved(calls, rounds=rounds, warmup=3)
    times = {name: round(timing.median, 2) for name, timing in timed.items()}
    best = min((times[n] for n in BACKENDS if n in times), default=math.nan)
    found = {"shape": asdict(shape), "error": off, "times": times}
    found["ratio"] = best / times["argus"]
    if copies:
        found["of copy"] = times["copy"] / times["argus"]
    return found


def _copy(read: Sequence[Any]) -> Callable[[], Any]:
    """A copy that moves as many bytes in all as these tensors have."""
    half = sum(t.numel() for t in read) // 2
    source = torch.empty(half, device="cuda", dtype=read[0].dtype)
    into = torch.empty_like(source)
    return lambda: into.copy_(source)


def told(shape: Shape, found: Mapping[str, Any]) -> str:
    """A line about a shape."""
    times = "  ".join(f"{n} {us:.1f}" for n, us in sorted(found["times"].items()))
    copy = f"  {found['of copy']:.2f} of copy" if "of copy" in found else ""
    return f"{shape!s:34} {found['ratio']:.3f}{copy}  {found['error']:.1e}  {times}"


def group(name: str, given: Sequence[Shape], rounds: int) -> dict[str, Any]:
    """Measure shapes one after the other; geometric mean and least."""
    found: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for shape in given:
        try:
            found.append(measure(shape, rounds, name == "decode"))
            print(told(shape, found[-1]), flush=True)
        except ArgusError as problem:
            failed[str(shape)] = str(problem)
            print(f"{shape} failed: {problem}", flush=True)
        torch.cuda.empty_cache()
    if not found:
        return {"failed": failed}
    ratios = [f["ratio"] for f in found if not math.isnan(f["ratio"])]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    wrong = sum(not f["error"] <= TOLERANCE for f in found)
    copies = [f["of copy"] for f in found if "of copy" in f]
    reading = f"; least {min(copies):.2f} of copy" if copies else ""
    print(
        f"{name}: geomean {mean:.3f} of torch's best, least {min(ratios):.3f}; below "
        f"0.9: {sum(r < 0.9 for r in ratios)} of {len(ratios)}{reading}; wrong: "
        f"{wrong}, failed: {len(failed)}",
        flush=True,
    )
    return {"geomean": mean, "least": min(ratios), "all": found, "failed": failed}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", nargs="+", choices=("random", "decode"))
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    wanted = args.only or ("random", "decode")
    groups: dict[str, Sequence[Shape]] = {}
    if "random" in wanted:
        for seed in args.seed:
            groups[f"random, seed {seed}"] = shapes(args.count, seed)
    if "decode" in wanted:
        groups["decode"] = DECODE
    everything = [shape for given in groups.values() for shape in given]
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        list(pool.map(build, everything))
    made: dict[str, Any] = {"device": torch.cuda.get_device_name(), "groups": {}}
    for name, given in groups.items():
        made["groups"][name] = group(name, given, args.rounds)
        args.out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
