"""Bench records with their environment, as JSON for tools and Markdown for people.

The JSON keys are stable: `VERSION` grows if one changes its meaning.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from argus import __version__
from argus.diagnostics import ArgusError, Json
from argus.evaluation.bench import OURS, BenchRecord
from argus.evaluation.device import find_device, torch_module
from argus.evaluation.timing import FLUSH_BYTES, Timing
from argus.runtime.driver import cuda_driver

VERSION = 1


@dataclass(frozen=True)
class Environment:
    """Where and when something was measured. Versions are "none" where not there."""

    gpu: str
    driver: str
    torch: str
    cuda: str
    nvrtc: str
    python: str
    argus: str
    date: str
    command: str


def environment(command: str) -> Environment:
    """The environment of this process. Never raises for what is missing."""
    info = find_device()
    try:
        major, minor = cuda_driver().version()
        driver = f"CUDA {major}.{minor}"
    except ArgusError:
        driver = "none"
    kernel_module = Path("/sys/module/nvidia/version")
    if driver != "none" and kernel_module.is_file():
        driver += f", {kernel_module.read_text(encoding='utf-8').strip()}"
    return Environment(
        gpu=info.name if info else "none",
        driver=driver,
        torch=_version("torch"),
        cuda=_torch_cuda() if info else "none",
        nvrtc=_version("nvidia-cuda-nvrtc"),
        python=platform.python_version(),
        argus=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _torch_cuda() -> str:
    return str(torch_module().version.cuda)


def timing_json(timing: Timing) -> dict[str, Json]:
    """One timing; microseconds."""
    return {
        "median_us": timing.median,
        "min_us": timing.minimum,
        "iqr_us": timing.iqr,
        "samples": timing.samples,
    }


def record_json(record: BenchRecord) -> dict[str, Json]:
    """One record."""
    return {
        "entry": record.entry,
        "case": record.case,
        "sizes": dict(record.sizes),
        "kernel": record.kernel,
        "statics": dict(record.statics),
        "error": record.error,
        "tolerance": record.tolerance,
        "unit": record.unit,
        "timings": {n: timing_json(t) for n, t in record.timings.items()},
        "rates": dict(record.rates),
        "ratios": dict(record.ratios),
        "share_of_peak": record.share,
    }


def bench_json(records: Sequence[BenchRecord], where: Environment) -> dict[str, Json]:
    """Everything: version, how it was measured, environment, records."""
    return {
        "version": VERSION,
        "method": (
            "CUDA events, callables in turn, median; a buffer of "
            f"{FLUSH_BYTES >> 20} MiB is written before each call"
        ),
        "environment": dict(asdict(where)),
        "records": [record_json(r) for r in records],
    }


def markdown(records: Sequence[BenchRecord], where: Environment) -> str:
    """Tables, one per entry, and the environment below; ends with a newline."""
    lines: list[str] = []
    for entry in dict.fromkeys(r.entry for r in records):
        lines += _table([r for r in records if r.entry == entry])
    facts = f"{where.gpu}; driver {where.driver}; torch {where.torch} with CUDA "
    facts += f"{where.cuda}; NVRTC {where.nvrtc}; {where.date}"
    return "\n".join([*lines, f"{facts}. Made by `{where.command}`.", ""])


def _table(records: list[BenchRecord]) -> list[str]:
    baselines = list(dict.fromkeys(name for r in records for name in r.ratios))
    unit = records[0].unit
    heads = ["case", f"argus, {unit}"]
    heads += [h for b in baselines for h in (f"{b}, {unit}", f"argus / {b}")]
    heads += ["of peak", "µs", "error"]
    rows = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for r in records:
        cells = [r.case, rate(r.rates[OURS])]
        for b in baselines:
            known = b in r.ratios
            cells.append(rate(r.rates[b]) if known else "")
            cells.append(f"{r.ratios[b]:.3f}" if known else "")
        cells.append("" if r.share is None else f"{r.share:.0%}")
        cells.append(f"{r.timings[OURS].median:.1f}")
        cells.append(f"{r.error:.1e}")
        rows.append(cells)
    title = f"## {records[0].entry}"
    return [title, "", *("| " + " | ".join(row) + " |" for row in rows), ""]


def rate(value: float) -> str:
    """A rate with three significant digits or more."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
