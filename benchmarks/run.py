"""Measure the library on this machine's GPU, and write JSON and a Markdown table.

    PYTHONPATH=src python benchmarks/run.py OUT [--entries gemm attention] [--cases 3 4]

OUT/results.json is rewritten after every case, so that nothing measured is lost; a case
that fails is recorded as failed, never left out. Exits with 1 if one did.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import overhead
import startup
import torch

from argus.cli.subjects import case_named, cases_of, entry_named
from argus.diagnostics import ArgusError
from argus.evaluation.bench import BenchRecord, bench
from argus.evaluation.device import require_device
from argus.evaluation.report import bench_json, environment, markdown
from argus.evaluation.timing import ROUNDS
from argus.files.writing import write_json, write_text
from argus.kernels.library import LIBRARY, Case, LibraryEntry


def main() -> int:
    """Measure what was asked for; 1 if something failed."""
    options = _options()
    begin = time.monotonic()
    try:
        device = require_device("a benchmark")
        work = [
            (entry, case)
            for entry in map(entry_named, options.entries)
            for case in _cases(entry, options.cases)
        ]
    except ArgusError as error:
        print(error, file=sys.stderr)
        return 2
    where = environment(f"python {shlex.join(sys.argv)}")
    extra: dict[str, Any] = {}
    if not options.no_overhead:
        extra["launch_overhead"] = overhead.launches()
        extra["start_up"] = startup.start_up()
        print(extra, flush=True)
    records: list[BenchRecord] = []
    failures: list[dict[str, str]] = []
    for entry, case in work:
        if options.seconds and time.monotonic() - begin > options.seconds:
            failures.append(_failure(entry, case, "not measured: out of time"))
            continue
        broken = _measure(entry, case, device.name, options, records, failures)
        data = bench_json(records, where)
        write_json(
            options.out / "results.json", {**data, **extra, "failures": failures}
        )
        if broken:
            break
    text = markdown(records, where) + _overhead_table(extra) + _failed(failures)
    write_text(options.out / "results.md", text)
    print(text)
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the results")
    parser.add_argument("--entries", nargs="+", default=list(LIBRARY), metavar="NAME")
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="number or name")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="timed calls of each"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this long")
    parser.add_argument("--no-overhead", action="store_true")
    return parser.parse_args()


def _cases(entry: LibraryEntry, names: list[str] | None) -> list[Case]:
    if names is None:
        return list(entry.large)
    count = len(cases_of(entry))
    return [case_named(entry, n) for n in names if not n.isdigit() or int(n) < count]


def _measure(
    entry: LibraryEntry,
    case: Case,
    device: str,
    options: argparse.Namespace,
    records: list[BenchRecord],
    failures: list[dict[str, str]],
) -> bool:
    """Measure one case; True if the device is unusable afterwards."""
    begin = time.monotonic()
    try:
        record = bench(entry, case, device, seed=options.seed, rounds=options.rounds)
    except ArgusError as error:
        failures.append(_failure(entry, case, str(error)))
        print(f"{entry.name} {case.name}: {error}", file=sys.stderr, flush=True)
        return error.code == "AG0811"  # a fault poisons the context
    except torch.cuda.OutOfMemoryError as error:
        failures.append(_failure(entry, case, str(error).splitlines()[0]))
        torch.cuda.empty_cache()
        return False
    records.append(record)
    ratios = ", ".join(f"{r:.3f} of {n}" for n, r in record.ratios.items())
    rate = f"{record.rates['argus']:.4g} {record.unit}"
    seconds = time.monotonic() - begin
    print(f"{entry.name} {case.name}: {rate}, {ratios} [{seconds:.0f} s]", flush=True)
    torch.cuda.empty_cache()
    return False


def _failure(entry: LibraryEntry, case: Case, why: str) -> dict[str, str]:
    return {"entry": entry.name, "case": case.name, "why": why}


def _overhead_table(extra: dict[str, Any]) -> str:
    if not extra:
        return ""
    lines = [
        "",
        "## Launching from Python, host time",
        "",
        "| | µs |",
        "| --- | ---: |",
    ]
    for name, found in extra["launch_overhead"].items():
        shown = f"{found['median_us']:.2f}" if "median_us" in found else "not there"
        lines.append(f"| {name} | {shown} |")
    lines += ["", "## Starting", "", "| | ms |", "| --- | ---: |"]
    lines += [f"| {k[:-4]} | {v:.0f} |" for k, v in extra["start_up"].items()]
    return "\n".join([*lines, ""])


def _failed(failures: list[dict[str, str]]) -> str:
    if not failures:
        return ""
    lines = [
        f"- {f['entry']}, {f['case']}: {f['why'].splitlines()[0]}" for f in failures
    ]
    return "\n".join(["", "## Failed", "", *lines, ""])


if __name__ == "__main__":
    sys.exit(main())
