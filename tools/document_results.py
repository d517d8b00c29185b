"""Write the measured results into README.md, from benchmarks/h200/results.json.

    python tools/document_results.py            rewrite the block between the markers
    python tools/document_results.py --check    say whether it is up to date (exit 1)

The numbers are those of ``benchmarks/run.py`` and are never edited by hand.
"""

import argparse
import json
import sys
from math import exp, log
from pathlib import Path
from typing import Any

from argus.kernels.library import LIBRARY

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "h200" / "results.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- results:begin -->\n", "<!-- results:end -->\n"


def main() -> int:
    """Rewrite, or check; 1 if it was to be checked and is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    _, after = rest.split(END)
    new = before + BEGIN + block(json.loads(RESULTS.read_text())) + END + after
    if options.check:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


def block(results: dict[str, Any]) -> str:
    """The Markdown between the markers."""
    lines = [
        "| kernel | cases | beside | ratio, geometric mean | least | best rate |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for entry in LIBRARY.values():
        records = [r for r in results["records"] if r["entry"] == entry.name]
        if not records:
            continue
        ratios = [r["ratios"][entry.beside] for r in records]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        best = max(r["rates"]["argus"] for r in records)
        lines.append(
            f"| {entry.line} | {len(records)} | {entry.beside} | {mean:.3f} | "
            f"{min(ratios):.3f} | {best:.4g} {records[0]['unit']} |"
        )
    where = results["environment"]
    overhead, start = results["launch_overhead"], results["start_up"]
    prepared = overhead["argus, prepared"]["median_us"]
    triton = overhead["Triton"]["median_us"]
    cold = start["build gemm, empty cache, ms"]
    warm = start["build gemm, warm cache, ms"]
    lines += [
        "",
        f"Host time of a prepared launch {prepared:.1f} µs (Triton {triton:.1f} µs); "
        f"building GEMM {cold:.0f} ms, from the cache {warm:.0f} ms.",
        f"{where['gpu']}, torch {where['torch']}, CUDA {where['cuda']}, "
        f"{where['date'][:10]}; fresh normal data, interleaved, L2 flushed, medians of "
        "50; every case also compared with an fp64 reference. Made by "
        "`python benchmarks/run.py OUT`; each case in "
        "[benchmarks/h200/results.md](benchmarks/h200/results.md).",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
