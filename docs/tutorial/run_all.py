"""Times every step of the tutorial beside cuBLAS, in one process.

    python docs/tutorial/run_all.py [M N K]

On a GPU each step is checked against fp64, then all are timed in turn with the L2 cache
flushed before each call (`argus.evaluation.timing`); a step that needs another GPU is
left out. Without a GPU nothing can be timed: the steps are built, what they need is
shown, and the exit status is 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from argus.calls import prepare_call
from argus.compiler import build
from argus.diagnostics import ArgusError
from argus.evaluation.device import require_device, target_of, torch_module
from argus.evaluation.timing import time_interleaved
from argus.ir.dtypes import bf16
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request

STEPS = sorted(Path(__file__).parent.glob("step*.py"))
SIZES = (4096, 4096, 4096)
PORTABLE = 3
"""The first steps run on every GPU since Ampere; the others need Hopper."""
TOLERANCE = 5e-3


def kernel_of(path: Path) -> Kernel:
    """The kernel of a step."""
    return load_kernels(path).kernels["gemm"]


def build_all() -> None:
    """What each step needs, for Hopper."""
    print(f"{'step':<18} {'registers':>9} {'shared bytes':>12} {'cubin bytes':>11}")
    for path in STEPS:
        made = build(Request(kernel_of(path), dict.fromkeys("ABC", bf16)))
        usage = made.cubin.usage
        print(
            f"{path.stem:<18} {usage.registers:>9} {made.spec.shared_bytes:>12} "
            f"{len(made.cubin.image):>11}"
        )


def measure(m: int, n: int, k: int, target: str) -> None:
    """Check, time and print."""
    torch = torch_module()
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    exact = a.double() @ b.double().T
    calls: dict[str, Callable[[], Any]] = {}
    for path in STEPS if target == "sm_90a" else STEPS[:PORTABLE]:
        c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        loaded, values = prepare_call(kernel_of(path), (a, b, c), {})
        call = loaded.prepare(*values)
        call()
        torch.cuda.synchronize()
        error = float((c.double() - exact).norm() / exact.norm())
        if not error < TOLERANCE:  # NaN is wrong too
            raise SystemExit(f"{path.stem} is wrong: error {error:.1e} of the norm")
        calls[path.stem] = call
    calls["cuBLAS"] = lambda: torch.matmul(a, b.T)
    timings = time_interleaved(calls)
    reference = timings["cuBLAS"].median
    print(f"{m} x {n} x {k}, bf16, {torch.cuda.get_device_name()}")
    print(f"{'step':<18} {'µs':>9} {'TFLOP/s':>8} {'of cuBLAS':>9}")
    for name, timing in timings.items():
        rate = 2 * m * n * k / timing.median / 1e6
        share = reference / timing.median
        print(f"{name:<18} {timing.median:>9.1f} {rate:>8.1f} {share:>9.2f}")


def main(arguments: list[str]) -> int:
    """The exit status: 0, or 2 where nothing can be timed."""
    if len(arguments) not in (0, 3) or not all(x.isdigit() for x in arguments):
        print("usage: run_all.py [M N K]", file=sys.stderr)
        return 2
    m, n, k = map(int, arguments) if arguments else SIZES
    try:
        target = target_of(require_device("timing the tutorial"))
    except ArgusError as error:
        build_all()
        print(f"\nNothing was run or timed. {error.diagnostics[0].message}.")
        return 2
    measure(m, n, k, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
