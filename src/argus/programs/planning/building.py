"""A program's kernels proved and built side by side, by processes of their own.

    build_side_by_side(plan.kernels, "sm_90a")

The compiler works for one thread at a time, so each worker is a Python process: it runs
this module, reads kernels as lines of JSON, and leaves what it makes in the disk cache.
What fails there fails again, with its message, in the process that launches.
`ARGUS_WORKERS` says how many workers there are at most; with 0, 1, or no disk cache
there are none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from argus.compiler import is_ready, launchable
from argus.diagnostics import ArgusError
from argus.files.settings import whole
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.programs.planning.kernel_requests import built_request
from argus.programs.planning.plan import KernelStep
from argus.requests import Request
from argus.runtime.cache import cache_directory

LEAST = 3
"""Kernels for which it is worth to start processes."""


def workers() -> int:
    """How many processes may build at a time. Raises ArgusError AG0908."""
    if cache_directory() is None:
        return 0
    chosen = whole("ARGUS_WORKERS", "processes")
    return len(os.sched_getaffinity(0)) if chosen is None else chosen


def build_side_by_side(
    steps: Sequence[KernelStep], target: str, *, open_sizes: bool
) -> None:
    """Prove and build what the disk cache lacks of these kernels.

    ``open_sizes``: see `built_request`.

    Those of many loops, whose proofs take longest, begin first, so that none of them is
    waited for in the end. Returns when all have been tried; a failure is left to
    whoever needs the kernel.
    """
    most = workers()
    if most < 2 or len(steps) < LEAST:
        return
    waiting: SimpleQueue[str] = SimpleQueue()
    ready: dict[str, bool] = {}
    for step in sorted(steps, key=lambda s: -len(s.source.sizes)):
        request = built_request(step, target, open_sizes=open_sizes)
        line = as_line(request, step.source.text)
        if line not in ready:
            ready[line] = is_ready(request)
    lines = [line for line, done in ready.items() if not done]
    if len(lines) < LEAST:
        return
    for line in lines:
        waiting.put(line)
    threads = [
        threading.Thread(target=_drive, args=(waiting,), daemon=True)
        for _ in range(min(most, len(lines)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def as_line(request: Request, text: str) -> str:
    """A request of a kernel file's text, as a line of JSON."""
    said = {
        "file": request.kernel.file,
        "kernel": request.kernel.name,
        "text": text,
        "dtypes": {name: dtype.name for name, dtype in request.dtypes.items()},
        "target": request.target,
        "facts": dict(request.facts),
        "values": dict(request.values),
    }
    return json.dumps(said)


def of_line(line: str) -> Request:
    """The request that `as_line` wrote."""
    said = json.loads(line)
    kernel = load_kernels(said["file"], said["text"]).kernels[said["kernel"]]
    dtypes = {name: DTYPES[dtype] for name, dtype in said["dtypes"].items()}
    known = (said["facts"], said["values"])
    return Request(kernel, dtypes, {}, said["target"], *known)


def _drive(waiting: SimpleQueue[str]) -> None:
    """Give a worker one kernel after the other, until none waits or it ended."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "argus.programs.planning.building"]
    try:
        line = waiting.get_nowait()
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        ) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            while True:
                worker.stdin.write(line + "\n")
                worker.stdin.flush()
                if not worker.stdout.readline():
                    return
                line = waiting.get_nowait()
    except (Empty, OSError):
        return


def main() -> None:
    """Build what is read, line by line; answer each."""
    for line in sys.stdin:
        try:
            launchable(of_line(line))
        except ArgusError:
            print("failed", flush=True)
        else:
            print("built", flush=True)


if __name__ == "__main__":
    main()
