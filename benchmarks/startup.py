"""Times of a first start, without a GPU: fresh processes on this machine.

    python benchmarks/startup.py                 JSON on stdout
    python benchmarks/startup.py --repeat 5      least times of so many processes

For each stage: wall-clock milliseconds, those of the processor in this process (which
other work on the machine disturbs less), and the bar that the stage should stay under.
A stage includes the imports that it needs and that none before it needed. Launches are
measured by `overhead.py`; nothing here touches a driver.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import argus

BARS = {
    "import argus": 300,
    "parse, place and print gemm": 500,
    "compile gemm by NVRTC": 1500,
    "build gemm, empty cache": 2000,
    "build gemm, warm cache": 30,
    "argus --help, whole process": 500,
}
"""Milliseconds that each stage should stay under, on an unloaded machine."""

_PRELUDE = """
import json, time
stages = {}
def done(name, begun):
    wall, cpu = (1e3 * (b - a) for a, b in zip(begun, now()))
    stages[name] = {"wall_ms": wall, "cpu_ms": cpu}
def now():
    return time.perf_counter(), time.process_time()
begun = now()
import argus
done("import argus", begun)
from argus import compiler
from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
entry = LIBRARY["gemm"]
request, _ = request_for(entry, entry.large[0], "sm_90a")
"""

_STAGES = """
begun = now()
source = compiler.cuda_source(request)
done("parse, place and print gemm", begun)
import argus.runtime.build
begun = now()
argus.runtime.build.build(source.text, "sm_90a")
done("compile gemm by NVRTC", begun)
print(json.dumps(stages))
"""

# The imports are those of any process that calls a kernel: not part of the build.
_BUILD = """
import sys
import argus.runtime.build, argus.runtime.cache, argus.runtime.keys
begun = now()
compiler.build(request)
done(sys.argv[1], begun)
print(json.dumps(stages))
"""

_HELP = "from argus.cli import main; main()"

Stages = dict[str, dict[str, float]]


def measure(repeat: int = 3) -> Stages:
    """Least times of ``repeat`` fresh processes, by stage."""
    found: Stages = {}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as cache:
            _least(found, _run(cache, _PRELUDE + _STAGES))
            for name in ("build gemm, empty cache", "build gemm, warm cache"):
                _least(found, _run(cache, _PRELUDE + _BUILD, name))
            _least(found, {"argus --help, whole process": _help(cache)})
    return {name: found[name] for name in BARS}


def _least(found: Stages, new: Stages) -> None:
    for name, times in new.items():
        old = found.setdefault(name, times)
        found[name] = {key: min(old[key], value) for key, value in times.items()}


def _environment(cache: str) -> dict[str, str]:
    package = str(Path(argus.__file__).resolve().parents[1])
    return {**os.environ, "ARGUS_CACHE_DIR": cache, "PYTHONPATH": package}


def _run(cache: str, code: str, *words: str) -> Stages:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        check=True,
        capture_output=True,
        text=True,
        env=_environment(cache),
    )
    return json.loads(done.stdout)


def _help(cache: str) -> dict[str, float]:
    before, begin = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", _HELP, "--help"],
        check=True,
        capture_output=True,
        env=_environment(cache),
    )
    wall, after = time.perf_counter() - begin, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])  # of children that ended
    return {"wall_ms": wall * 1e3, "cpu_ms": cpu * 1e3}


def start_up() -> dict[str, float]:
    """Wall-clock milliseconds by stage, for the results of `run.py`."""
    return {f"{name}, ms": times["wall_ms"] for name, times in measure().items()}


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    stages = measure(parser.parse_args().repeat)
    whole: dict[str, Any] = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "stages": {
            name: {**{k: round(v, 1) for k, v in times.items()}, "bar_ms": BARS[name]}
            for name, times in stages.items()
        },
    }
    print(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
