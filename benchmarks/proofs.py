"""Times of proofs, without a GPU: fresh processes on this machine.

    python benchmarks/proofs.py                  a table, then JSON on stdout
    python benchmarks/proofs.py --json           JSON only
    python benchmarks/proofs.py --repeat 5       least times of so many processes

What is timed, in seconds of this process (which other work on the machine disturbs
less than the clock on the wall, which is given, too):

    one kernel    what `argus check` does for a case of the library, once it is started
                  and has imported what it needs: placing, all analyses, its reference
    cached        `prove` of an unchanged kernel: the proof comes from the disk
    library       the same for every different specialisation that the library's cases
                  lead to, one after another in one process

Verdicts are counted, since a proof that fails may be a quick one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import argus

BARS = {
    "gemm": 0.4,
    "attention persistent": 1.5,
    "attention causal": 1.5,
    "cached": 0.02,
    "library": 15.0,
}
"""Seconds that each should stay under, on an unloaded machine with two cores."""

KERNELS = {
    "gemm": ("gemm", 0),
    "attention persistent": ("attention", 0),
    "attention causal": ("attention", 1),
}
"""What is timed by itself: an entry of the library, and the number of a large case."""

_PRELUDE = """
import json, sys, time
from argus import compiler, requests
from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
def now():
    return time.perf_counter(), time.process_time()
def since(begun):
    wall, cpu = (b - a for a, b in zip(begun, now()))
    return {"wall_s": wall, "cpu_s": cpu}
"""

_ONE = """
import argus.cli.subjects
from argus.evaluation.proving import proved_case
entry = LIBRARY[sys.argv[1]]
case = entry.large[int(sys.argv[2])]
request, _ = request_for(entry, case, "sm_90a")
begun = now()
report = proved_case(request, entry, case, fresh=True).report
found = since(begun)
found["analyses"] = report.seconds
found["verdict"] = str(report.verdict)
found["obligations"] = sum(not o.slow for o in report.obligations)
print(json.dumps(found))
"""

# The imports are those of any process that calls a kernel: not part of the proof.
_CACHED = """
import argus.runtime.cache, argus.runtime.keys
entry = LIBRARY["gemm"]
request, _ = request_for(entry, entry.large[0], "sm_90a")
begun = now()
proof = compiler.prove(request)
print(json.dumps({**since(begun), "verdict": str(proof.report.verdict)}))
"""

_LIBRARY = """
import argus.cli.subjects
from argus.evaluation.proving import proved_case
rows = {}
for entry in LIBRARY.values():
    for target in entry.targets:
        for case in (*entry.small, *entry.large):
            request, _ = request_for(entry, case, target)
            statics = tuple(sorted((k, str(v)) for k, v in request.statics.items()))
            facts = tuple(sorted(request.facts.items()))
            types = tuple(sorted((k, str(v)) for k, v in request.dtypes.items()))
            key = (request.kernel.name, target, statics, facts, types)
            if key in rows:
                continue
            begun = now()
            report = proved_case(request, entry, case, fresh=True).report
            rows[key] = {
                "name": f"{request.kernel.name}, {case.name}, {target}",
                **since(begun),
                "analyses": report.seconds,
                "verdict": str(report.verdict),
            }
print(json.dumps(list(rows.values())))
"""


def measure(repeat: int = 1) -> dict[str, Any]:
    """Least times of ``repeat`` fresh processes; the library is measured once."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name, (entry, case) in KERNELS.items():
            runs = [_run(cache, _ONE, entry, str(case)) for _ in range(repeat)]
            found[name] = _least(runs)
        _run(cache, _CACHED)  # the first one proves
        found["cached"] = _least([_run(cache, _CACHED) for _ in range(repeat)])
        rows = _run(cache, _LIBRARY)
    verdicts = [row["verdict"] for row in rows]
    found["library"] = {
        "wall_s": sum(row["wall_s"] for row in rows),
        "cpu_s": sum(row["cpu_s"] for row in rows),
        "specialisations": len(rows),
        **{v: verdicts.count(v) for v in ("equal", "proved", "refuted", "unknown")},
        "analyses": {
            name: sum(row["analyses"].get(name, 0.0) for row in rows)
            for name in ("tags", "order", "performance", "reference")
        },
        "each": rows,
    }
    return found


def _least(several: list[dict[str, Any]]) -> dict[str, Any]:
    return min(several, key=lambda one: one["cpu_s"])


def _run(cache: str, code: str, *words: str) -> Any:
    package = str(Path(argus.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE + code, *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "ARGUS_CACHE_DIR": cache, "PYTHONPATH": package},
    )
    return json.loads(done.stdout)


def table(found: dict[str, Any]) -> str:
    """One line for each bar, then the slowest specialisations of the library."""
    lines = [f"{'':22}{'cpu s':>9}{'wall s':>9}{'bar s':>8}  verdict"]
    for name, bar in BARS.items():
        one = found[name]
        verdict = one.get("verdict") or f"{one['equal']} of {one['specialisations']}"
        times = f"{one['cpu_s']:9.3f}{one['wall_s']:9.3f}{bar:8.2f}"
        lines.append(f"{name:22}{times}  {verdict}")
    rows = sorted(found["library"]["each"], key=lambda row: -row["cpu_s"])
    lines += ["", "slowest of the library, placing included:"]
    lines += [f"{r['cpu_s']:9.3f}  {r['name']} ({r['verdict']})" for r in rows[:8]]
    return "\n".join(lines)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--json", action="store_true", help="no table")
    chosen = parser.parse_args()
    found = measure(chosen.repeat)
    if not chosen.json:
        print(table(found), file=sys.stderr)
    whole = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "bars_s": BARS,
        **found,
    }
    print(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
