"""Seconds until a PyTorch file's program has run once, in a first and a second process.

    python benchmarks/compile_times.py FILE...          on a GPU; a table
    python benchmarks/compile_times.py FILE... --json   numbers

Each file (of KernelBench's form) is compiled in fresh processes: by `argus.compile` and
its first call, with an empty cache (cold: planned, proved, built) and with the one that
is left (warm), and by `torch.compile` with empty caches. Time begins when torch is
imported, and the model and its inputs are on the GPU. Of the warm time, `loading` is
what torch takes to export and decompose a module of one addition (its own modules are
imported by that), and `tracing` what it takes to do so with the file's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

BARS = {"cold": 60.0, "warm": 2.0}
"""Seconds, of 16 cores; the second without `loading` and `tracing`."""


def own_process(way: str, path: Path) -> dict[str, float]:
    """Compile and call once, here; ``way`` is "argus" or "torch"."""
    import program_gpu
    import torch

    import argus

    file = program_gpu.TorchModule(path)
    model, inputs = file.model(), file.inputs(0)
    tracing = 0.0
    seconds: dict[str, float] = {}

    class Addition(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            nonlocal tracing
            started = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                tracing += time.perf_counter() - started

        return run

    exported = torch.export.ExportedProgram
    with (
        torch.no_grad(),
        patch.object(torch.export, "export", timed(torch.export.export)),
        patch.object(
            exported, "run_decompositions", timed(exported.run_decompositions)
        ),
    ):
        torch.cuda.synchronize()
        began = time.perf_counter()
        torch.export.export(
            Addition(), (torch.ones(1, device="cuda"),)
        ).run_decompositions()
        seconds["loading"], tracing = time.perf_counter() - began, 0.0
        if way == "argus":
            argus.compile(model, inputs)(*inputs)
        else:
            torch.compile(model)(*inputs)
        torch.cuda.synchronize()
        whole = time.perf_counter() - began
    return {"seconds": whole, "tracing": tracing, **seconds}


def measured(path: Path) -> dict[str, float]:
    """Of one file: cold, warm, tracing, torch."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            "ARGUS_CACHE_DIR": f"{folder}/argus",
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
            "TRITON_CACHE_DIR": f"{folder}/triton",
            "PYTHONDONTWRITEBYTECODE": "",  # an installed package has its bytecode
        }

        def process(way: str) -> dict[str, float]:
            line = [sys.executable, __file__, "--in-process", way, str(path)]
            run = subprocess.run(
                line, env={**os.environ, **caches}, stdout=subprocess.PIPE, check=True
            )
            return json.loads(run.stdout.splitlines()[-1])

        cold, warm, beside = process("argus"), process("argus"), process("torch")
    return {
        "cold": cold["seconds"],
        "warm": warm["seconds"],
        "loading": warm["loading"],
        "tracing": warm["tracing"],
        "torch": beside["seconds"],
    }


def main() -> None:
    """Measure the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--in-process", choices=("argus", "torch"))
    options = parser.parse_args()
    if options.in_process:
        (path,) = options.files
        print(json.dumps(own_process(options.in_process, path)))
        return
    rows: dict[str, dict[str, float]] = {}
    for path in options.files:
        rows[path.stem] = row = measured(path)
        if options.json:
            continue
        numbers = "  ".join(f"{name} {spent:6.1f} s" for name, spent in row.items())
        met = row["cold"] <= BARS["cold"]
        met = met and (row["warm"] - row["loading"] - row["tracing"] <= BARS["warm"])
        print(f"{path.stem:40} {numbers}  {'met' if met else 'MISSED'}", flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
