"""Host time of a launch.

Launches are timed in batches between synchronisations, so that the host never waits for
the device's queue. Everything is measured in the same run, on the same machine.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

BATCH = 200
BATCHES = 50


def host_microseconds(call: Callable[[], object]) -> dict[str, float]:
    """Median and least time of one call on the host."""
    for _ in range(BATCH):
        call()
    torch.cuda.synchronize()
    samples: list[float] = []
    for _ in range(BATCHES):
        begin = time.perf_counter_ns()
        for _ in range(BATCH):
            call()
        samples.append((time.perf_counter_ns() - begin) / BATCH * 1e-3)
        torch.cuda.synchronize()
    return {"median_us": median(samples), "min_us": min(samples)}


NUMBERS = (1.5, 2.5, 3.5)


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
    found: dict[str, Any] = {
        "argus, prepared": host_microseconds(prepared),
        "argus, loaded": host_microseconds(lambda: loaded(x, y, z, *NUMBERS)),
        "argus, kernel call": host_microseconds(lambda: tiny(x, y, z, *NUMBERS)),
        "torch.add(out=)": host_microseconds(lambda: torch.add(x, y, out=out)),
    }
    try:
        import tiny_triton
    except ImportError as error:
        return {**found, "Triton": {"missing": str(error)}}
    launch = tiny_triton.tiny[(1,)]
    try:
        launch(x, y, z, *NUMBERS, num_warps=1)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        # Triton compiles its launcher with a C compiler, which may not be here.
        return {**found, "Triton": {"missing": str(error).splitlines()[0]}}
    found["Triton"] = host_microseconds(lambda: launch(x, y, z, *NUMBERS, num_warps=1))
    return found
