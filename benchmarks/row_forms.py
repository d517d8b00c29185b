"""Measure forms and static parameters of row kernels at many sizes, beside torch.

    python benchmarks/row_forms.py OUT.json [--only held long parts odd chosen]

``held``: whole rows in registers; ``long``: passes over rows, beside held ones;
``parts``: few long rows, which blocks share; ``odd``: long rows of which each begins
elsewhere in a line. ``chosen``: what `argus.ops` launches at sizes of all kinds, and
nothing else. Every result is compared with torch's in f64
before anything is timed; calls take turns, after a write to more than the L2 cache.
Needs a GPU; kernels are built without proofs unless ARGUS_CHECK says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("ARGUS_CHECK", "0")

from row_variants import (
    EPS,
    SEARCHES,
    WEIGHTS,
    Size,
    Variant,
    names_of,
    requests,
    sizes,
)

from argus.compiler import build
from argus.diagnostics import ArgusError
from argus.dispatch import Dispatch, GivenScalar, GivenTensor, LaunchSequence
from argus.evaluation.timing import time_interleaved


def tensors(size: Size) -> dict[str, Any]:
    """Random X and weights, poisoned Y."""
    import torch

    kind: Any = {"bf16": torch.bfloat16, "f32": torch.float32}[size.dtype]
    found = {"X": torch.randn(size.m, size.n, device="cuda", dtype=kind)}
    for name in WEIGHTS[size.family]:
        found[name] = torch.randn(size.n, device="cuda", dtype=kind)
    found["Y"] = torch.full_like(found["X"], math.nan)
    return found


def baseline(size: Size, given: Mapping[str, Any]) -> Callable[[], Any]:
    """Torch's function."""
    import torch.nn.functional as tf

    x, shape = given["X"], (size.n,)
    match size.family:
        case "softmax":
            return lambda: tf.softmax(x, -1)
        case "rmsnorm":
            return lambda: tf.rms_norm(x, shape, given["W"], 1e-6)
        case _:
            return lambda: tf.layer_norm(x, shape, given["W"], given["B"], 1e-5)


def library(size: Size, given: Mapping[str, Any]) -> Callable[[], Any]:
    """What `argus.ops` launches."""
    from argus import ops

    x, y = given["X"], given["Y"]
    match size.family:
        case "softmax":
            return lambda: ops.softmax(x, y)
        case "rmsnorm":
            return lambda: ops.rmsnorm(x, given["W"], 1e-6, y)
        case _:
            return lambda: ops.layernorm(x, given["W"], given["B"], 1e-5, y)


def call_of(
    variant: Variant, size: Size, given: Mapping[str, Any]
) -> Callable[[], Any]:
    """The launches of a variant."""
    from argus.dispatch import Buffer, LaunchStep

    statics = dict(variant.statics)
    eps = EPS[size.family]
    names = names_of(size.family)
    values: tuple[Any, ...] = tuple(given[n] for n in names)
    values = values if eps is None else (*values, eps)
    if len(variant.steps) == 1:
        kernel = variant.steps[0][0]
        chosen: Any = (kernel, statics)
    else:
        count = -(-size.n // int(str(statics["BN"])))
        known: dict[str, Any] = {n: GivenTensor(i) for i, n in enumerate(names)}
        steps: list[LaunchStep] = []
        for kernel, wanted in variant.steps:
            for n in wanted:
                known.setdefault(n, Buffer("f32", (count, size.m)))
            scalar = (GivenScalar(len(names)),) if "Y" in wanted and eps else ()
            steps.append(
                LaunchStep(kernel, (*(known[n] for n in wanted), *scalar), statics)
            )
        chosen = LaunchSequence(tuple(steps))
    dispatch = Dispatch(lambda *_, chosen=chosen: chosen)
    return partial(dispatch, values)


def prebuilt(size: Size, variant: Variant) -> str:
    """Build what a call will look for into the cache; what went wrong, if it did."""
    try:
        for request in requests(size, variant):
            build(request)
    except ArgusError as error:
        return str(error).splitlines()[0]
    return ""


def wrong(given: Mapping[str, Any], exact: Any) -> float:
    """The norm of the error over that of the exact result."""
    error = (given["Y"].double() - exact).norm() / exact.norm()
    return float(error) if error == error else math.inf


def measure(size: Size, variants: list[Variant], rounds: int) -> dict[str, float]:
    """Medians by name, of those that are right."""
    import torch

    given = tensors(size)
    double = {n: x.double() for n, x in given.items()}
    exact = baseline(size, double)()
    del double
    limit = 1e-5 if size.dtype == "f32" else 5e-3
    calls = {"torch": baseline(size, given)}
    for name, call in (
        ("library", library(size, given)),
        *((str(v), call_of(v, size, given)) for v in variants),
    ):
        given["Y"].fill_(math.nan)
        try:
            call()
            torch.cuda.synchronize()
        except ArgusError as error:
            print(f"{size} {name}: {str(error).splitlines()[0]}", flush=True)
            continue
        if not (error := wrong(given, exact)) < limit:
            print(f"{size} {name}: WRONG {error:.1e}", flush=True)
            continue
        calls[name] = call
    del exact
    times = time_interleaved(calls, rounds=rounds, warmup=2)
    return {name: round(found.median, 2) for name, found in times.items()}


def main() -> None:
    """Build, check, time, print, write."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", default=list(SEARCHES))
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    work: list[tuple[str, Size, list[Variant]]] = []
    for which in args.only:
        for size in sizes(which):
            work.append((which, size, list(SEARCHES[which](size))))
    pairs = [(size, v) for _, size, variants in work for v in variants]
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        failed = (
            list(pool.map(prebuilt, *zip(*pairs, strict=True), chunksize=4))
            if pairs
            else []
        )
    for (size, variant), why in zip(pairs, failed, strict=True):
        if why:
            print(f"{size} {variant}: {why}")
    broken = {pair for pair, why in zip(pairs, failed, strict=True) if why}
    print(f"built {len(pairs)}, {len(broken)} failed", flush=True)
    found: list[dict[str, Any]] = []
    for which, size, variants in work:
        good = [v for v in variants if (size, v) not in broken]
        times = measure(size, good, args.rounds)
        found.append({"which": which, "size": str(size), "times": times})
        args.out.write_text(
            json.dumps(
                {"device": torch.cuda.get_device_name(), "found": found}, indent=1
            )
        )
        own = sorted((t, n) for n, t in times.items() if n not in ("torch", "library"))
        best = "  ".join(f"{t:.1f} {n}" for t, n in own[:3])
        library = times.get("library", math.inf)
        print(
            f"{size!s:26} torch {times['torch']:8.1f} library {library:8.1f} "
            f"{times['torch'] / library:.2f}  {best}",
            flush=True,
        )
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
