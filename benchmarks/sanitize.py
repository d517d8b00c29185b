"""Run every library kernel's small cases under compute-sanitizer; needs a GPU.

    PYTHONPATH=src python benchmarks/sanitize.py [OUT.json]

Each tool runs in a process of its own over all cases. Exits with 1 if a tool reports
an error, 2 without compute-sanitizer.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")
SECONDS = 400
KERNELS = ("gemm_sm90", "gemm_sm80", "softmax", "rmsnorm", "attention", "grouped_gemm")


def main() -> int:
    """Run all tools, or (with --cases) the cases themselves."""
    if sys.argv[1:2] == ["--cases"]:
        return run_cases()
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        print("compute-sanitizer is not installed", file=sys.stderr)
        return 2
    results: dict[str, dict[str, object]] = {}
    for tool in TOOLS:
        command = [sanitizer, f"--tool={tool}", "--error-exitcode=9"]
        for name in KERNELS:  # torch's own kernels are not looked at
            command += ["--kernel-name", f"kns={name}"]
        command += ["--print-limit=20", sys.executable, __file__, "--cases"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        lines = [x for x in done.stdout.splitlines() if x.startswith("=========")]
        summary = lines[-1].strip("= ") if lines else done.stderr[-300:]
        results[tool] = {"exit": done.returncode, "summary": summary}
        print(tool, done.returncode, summary, flush=True)
        if done.returncode:
            print("\n".join(lines[:40]), done.stderr[-500:], flush=True)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(json.dumps(results, indent=2) + "\n")
    return int(any(r["exit"] for r in results.values()))


def run_cases() -> int:
    """Launch every small case and check its result."""
    from argus.evaluation.device import run_on_device
    from argus.kernels.library import LIBRARY

    bad = 0
    for entry in LIBRARY.values():
        for case in entry.small:
            verdict = run_on_device(entry, case, seed=0)
            print(entry.name, case.name, "ok" if verdict.ok else verdict.why())
            bad += not verdict.ok
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
