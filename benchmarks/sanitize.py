"""Run every library kernel's small cases under compute-sanitizer; needs a GPU.

    PYTHONPATH=src python benchmarks/sanitize.py [OUT.json] [TOOL ...]

Each tool runs in a process of its own over all cases. Exits with 1 if a tool reports
an error, 2 without compute-sanitizer.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")
SECONDS = 110
KERNELS = ("gemm_sm90", "gemm_sm80", "softmax", "rmsnorm", "attention", "grouped_gemm")


def main() -> int:
    """Run all tools, or (with --cases) the cases themselves."""
    if sys.argv[1:2] == ["--cases"]:
        return run_cases()
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        print("compute-sanitizer is not installed", file=sys.stderr)
        return 2
    results = {tool: run_tool(sanitizer, tool) for tool in sys.argv[2:] or TOOLS}
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(json.dumps(results, indent=2) + "\n")
    return int(any(r["reports"] for r in results.values()))


def run_tool(sanitizer: str, tool: str) -> dict[str, object]:
    """All cases under one tool: how many reports name a kernel of the library.

    initcheck also reports torch's own copies of memory that nobody wrote, which no
    filter leaves out: these are counted apart and are not the library's.
    """
    command = [sanitizer, f"--tool={tool}", "--show-backtrace=no"]
    for name in KERNELS:  # torch's own kernels are not looked at
        command += ["--kernel-name", f"kns={name}"]
    command += ["--print-limit=2000", sys.executable, __file__, "--cases"]
    # Every tensor an allocation of its own, so that what was written is known.
    env = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=env
        )
    except subprocess.TimeoutExpired:
        print(tool, f"not done in {SECONDS} s", flush=True)
        return {"reports": -1, "summary": f"not done in {SECONDS} s"}
    lines = [x for x in done.stdout.splitlines() if x.startswith("=========")]
    ours = [x for x in lines if any(f" {name}" in x for name in KERNELS)]
    cases = sum(x.endswith(" ok") for x in done.stdout.splitlines())
    failed = 0 if done.returncode in (0, 1) and cases else 1
    summary = lines[-1].strip("= ") if lines else done.stderr[-300:]
    print(tool, f"{len(ours)} reports, {cases} cases ok;", summary, flush=True)
    print("\n".join(ours[:10]), end="\n" if ours else "")
    return {"reports": len(ours) + failed, "cases": cases, "summary": summary}


def run_cases() -> int:
    """Launch every small case and check its result."""
    from argus.evaluation.device import run_on_device
    from argus.kernels.library import LIBRARY

    bad = 0
    for entry in LIBRARY.values():
        for case in entry.small:
            verdict = run_on_device(entry, case, seed=0)
            outcome = "ok" if verdict.ok else verdict.why()
            print(entry.name, case.name, outcome, flush=True)
            bad += not verdict.ok
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
