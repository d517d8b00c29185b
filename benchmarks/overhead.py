"""Host time of a launch, of functions of `argus.ops`, and of modules, beside torch's.

    python benchmarks/overhead.py            # a table; --json for numbers
    python benchmarks/overhead.py --profile ops.gemm

Launches are timed in batches between synchronisations, so that the host never waits for
the device's queue. What is compared takes turns, batch by batch, since the clock of a
host changes within seconds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count, cycle
from statistics import median
from typing import Any

import torch

from argus.runtime.recall import CALLS

BATCH = 200
BATCHES = 50


def host_microseconds(
    calls: Mapping[str, Callable[[], object]],
) -> dict[str, dict[str, float]]:
    """Median and least time of one call of each on the host; they take turns."""
    for call in calls.values():
        for _ in range(BATCH):
            call()
        torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(BATCHES):
        for name, call in calls.items():
            begin = time.perf_counter_ns()
            for _ in range(BATCH):
                call()
            samples[name].append((time.perf_counter_ns() - begin) / BATCH * 1e-3)
            torch.cuda.synchronize()
    return {
        name: {"median_us": median(found), "min_us": min(found)}
        for name, found in samples.items()
    }


NUMBERS = (1.5, 2.5, 3.5)
ADDRESSES = CALLS + BATCH
"""Tensors to go through: when the first one comes again, its call is forgotten."""

BARS = {
    "argus, kernel call": ("at most", 8.0),
    "ops.gemm": ("torch.matmul", None),
    "ops.softmax": ("torch.softmax", None),
    "ops.rmsnorm": ("torch.rms_norm", None),
    "ops.layernorm": ("torch.layer_norm", None),
    "ops.attention": ("torch attention", None),
    "ops.grouped_gemm": ("at most", 30.0),
    "argus.compile, MLP": ("torch.compile, MLP", None),
    "torch.compile for argus, MLP": ("torch.compile, MLP", None),
    "argus.compile, encoder": ("torch.compile, encoder", None),
    "torch.compile for argus, encoder": ("torch.compile, encoder", None),
}
"""What each is compared with: another line, or microseconds."""


def launches() -> dict[str, Any]:
    """Host time of launching the tiny kernel in each way that there is."""
    from tiny import tiny

    from argus.calls import prepare_call

    x, y, z = (torch.randn(32, device="cuda") for _ in range(3))
    loaded, values = prepare_call(tiny, (x, y, z, *NUMBERS), {})
    prepared = loaded.prepare(*values)
    prepared()
    torch.cuda.synchronize()
    a, b, c = NUMBERS
    assert torch.allclose(z, a * x + b * y + c), "the tiny kernel is wrong"
    out = torch.empty_like(x)
    calls: dict[str, Callable[[], object]] = {
        "argus, prepared": prepared,
        "argus, loaded": lambda: loaded(x, y, z, *NUMBERS),
        "argus, kernel call": lambda: tiny(x, y, z, *NUMBERS),
        **_changing(x, y, z),
        "torch.add(out=)": lambda: torch.add(x, y, out=out),
    }
    missing = ""
    try:
        import tiny_triton

        kernel: Any = tiny_triton.tiny
        launch = kernel[(1,)]
        launch(x, y, z, *NUMBERS, num_warps=1)
        calls["Triton"] = lambda: launch(x, y, z, *NUMBERS, num_warps=1)
    except (ImportError, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        # Triton compiles its launcher with a C compiler, which may not be here.
        missing = str(error).splitlines()[0]
    found: dict[str, Any] = dict(host_microseconds(calls))
    return {**found, "Triton": {"missing": missing}} if missing else found


def _changing(x: Any, y: Any, z: Any) -> dict[str, Callable[[], object]]:
    """Kernel calls that were not made before: a plan is found, and its checks made."""
    from tiny import tiny

    memory = torch.empty(ADDRESSES, 32, device="cuda")
    elsewhere = cycle(memory.unbind())
    counter = count()
    a, b, _ = NUMBERS
    return {
        "argus, kernel call, another address": lambda: tiny(
            x, y, next(elsewhere), *NUMBERS
        ),
        "argus, kernel call, another number": lambda: tiny(
            x, y, z, a, b, next(counter) + 0.5
        ),
    }


def functions() -> dict[str, Callable[[], object]]:
    """The functions of `argus.ops` on small tensors, and torch's for the same."""
    from argus import ops

    def random(*shape: int) -> Any:
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    nn = torch.nn.functional
    a, b, bt = random(256, 256), random(256, 256), random(256, 256).T
    x, w = random(64, 1024), random(1024)
    q, k, v = (random(1, 4, 128, 64) for _ in range(3))
    tokens, weights = random(512, 128), random(8, 256, 128)
    ends = torch.arange(64, 513, 64, device="cuda", dtype=torch.int32)
    turned = weights.transpose(1, 2)
    product: Any = vars(torch)["_grouped_mm"]
    return {
        "ops.gemm": lambda: ops.gemm(a, b),
        "torch.matmul": lambda: torch.matmul(a, bt),
        "ops.softmax": lambda: ops.softmax(x),
        "torch.softmax": lambda: torch.softmax(x, -1),
        "ops.rmsnorm": lambda: ops.rmsnorm(x, w),
        "torch.rms_norm": lambda: nn.rms_norm(x, (1024,), w, 1e-6),
        "ops.layernorm": lambda: ops.layernorm(x, w, w),
        "torch.layer_norm": lambda: nn.layer_norm(x, (1024,), w, w),
        "ops.attention": lambda: ops.attention(q, k, v),
        "torch attention": lambda: nn.scaled_dot_product_attention(q, k, v),
        "ops.grouped_gemm": lambda: ops.grouped_gemm(tokens, weights, ends),
        "torch._grouped_mm": lambda: product(tokens, turned, offs=ends),
        "torch.empty_like": lambda: torch.empty_like(x),
    }


def modules() -> dict[str, dict[str, Callable[[], object]]]:
    """Small modules in evaluation, each compiled in each way that there is."""
    import argus

    nn = torch.nn
    made: dict[str, dict[str, Callable[[], object]]] = {}
    for name, module, shape in (
        (
            "MLP",
            nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)),
            (64, 128),
        ),
        (
            "encoder",
            nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, norm_first=True),
            (2, 64, 128),
        ),
    ):
        module.eval().requires_grad_(False).to("cuda", torch.bfloat16)
        x = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        made[name] = {
            f"{way}, {name}": partial(call, x)
            for way, call in (
                ("argus.compile", argus.compile(module, [x])),
                ("torch.compile for argus", torch.compile(module, backend="argus")),
                ("torch.compile", torch.compile(module)),
                ("eager", module),
            )
        }
    return made


def table(found: dict[str, Any]) -> str:
    """Lines of text: median, least, and whether a bar is met."""
    lines: list[str] = []
    for name, times in found.items():
        if "missing" in times:
            lines.append(f"{name:36} {times['missing']}")
            continue
        line = f"{name:36} {times['median_us']:8.2f} {times['min_us']:8.2f} us"
        if name in BARS:
            than, limit = BARS[name]
            least = found[than]["median_us"] if limit is None else limit
            met = "met" if times["median_us"] <= least else "MISSED"
            line += f"   {met}: {than} {least:.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure everything, or profile one call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", metavar="NAME", help="cProfile of one function")
    options = parser.parse_args()
    if options.profile:
        ways = [functions(), *modules().values()]
        call = {name: call for way in ways for name, call in way.items()}[
            options.profile
        ]
        for _ in range(BATCH):
            call()
        with cProfile.Profile() as profile:
            for _ in range(BATCH):
                call()
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    found = launches() | host_microseconds(functions())
    for ways_of_one in modules().values():
        # Torch takes the sizes of a second module for open ones, and leaves an encoder
        # layer with open sizes to eager torch, whatever the backend.
        torch.compiler.reset()
        found |= host_microseconds(ways_of_one)
    print(json.dumps(found, indent=2) if options.json else table(found))


if __name__ == "__main__":
    main()
