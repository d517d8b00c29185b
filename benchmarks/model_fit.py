"""Fit the calibrated constants of the performance model on the training problems.

    PYTHONPATH=src python benchmarks/model_fit.py benchmarks/h200/model.json

Coordinate search: each constant is tried a little smaller and larger, and kept where
the mean logarithmic error over families falls; steps shrink. Prints the constants, for
`argus/model/hardware.py`; changes nothing. Problems that are held out are left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from model_report import held_out, sample, timed
from model_space import family_of, measured_request, measured_sizes

from argus.compiler import placed_program
from argus.ir.program import Program
from argus.model.accuracy import Point, accuracy, grouped
from argus.model.data import Measurement, read
from argus.model.hardware import H200, Hardware
from argus.model.predict import Prepared, prepare, simulate
from argus.verify.expectations import Usage

FITTED = (
    "clock_ghz",
    "dram_efficiency",
    "l2_bytes",
    "wgmma_efficiency",
    "wgmma_latency",
    "mma_efficiency",
    "lines",
    "cycles_per_instruction",
    "dram_latency",
    "l2_latency",
    "tma_latency",
    "sync_cycles",
    "block_cycles",
    "launch_microseconds",
    "throttle",
)
AT_MOST = {"wgmma_efficiency": 1.0, "mma_efficiency": 1.0, "dram_efficiency": 0.95}
STEPS = (1.3, 1.12, 1.05)

Fitting = list[tuple[Measurement, Prepared]]


def prepared(measured: Sequence[Measurement]) -> Fitting:
    """Everything of the predictions that no constant changes."""
    programs: dict[tuple[object, ...], Program] = {}
    found: Fitting = []
    for m in measured:
        if m.registers is None:
            continue
        key = (m.form, *sorted(m.statics.items()), *sorted(m.facts.items()))
        if key not in programs:
            programs[key] = placed_program(measured_request(m))
        usage = Usage(m.registers, m.spill_bytes or 0)
        found.append((m, prepare(programs[key], measured_sizes(m), usage, H200)))
    return found


def predictions(fitting: Fitting, hardware: Hardware) -> list[Point]:
    """With these constants."""
    return [
        Point(
            family_of(m),
            m.case,
            m.microseconds or math.nan,
            simulate(it, hardware).microseconds,
        )
        for m, it in fitting
    ]


def loss(points: Sequence[Point]) -> float:
    """Mean of |log(predicted / measured)| (at most 1 each), each family alike."""
    means: list[float] = []
    for _, group in grouped(points, lambda p: p.family):
        errors = [min(1.0, abs(math.log(p.predicted / p.measured))) for p in group]
        means.append(sum(errors) / len(errors))
    return sum(means) / len(means)


def fit(fitting: Fitting, hardware: Hardware) -> Hardware:
    """The constants where no single step makes the loss smaller."""
    best, least = hardware, loss(predictions(fitting, hardware))
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for name in FITTED:
                for factor in (step, 1 / step):
                    value = getattr(best, name) * factor
                    value = min(value, AT_MOST.get(name, math.inf))
                    tried = dataclasses.replace(best, **{name: value})
                    found = loss(predictions(fitting, tried))
                    if found < least - 1e-4:
                        best, least, moved = tried, found, True
                        print(f"{least:.4f} {name} = {value:.4g}", flush=True)
                        break
    return best


def main() -> None:
    """Print what was fitted, and how good it is on what it was fitted on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--points", type=int, default=80, help="of each family")
    options = parser.parse_args()
    measured = [m for m in timed(read(options.file)) if not held_out(m)]
    fitting = prepared(sample(measured, options.points))
    best = fit(fitting, H200)
    for name in FITTED:
        print(f"    {name}={getattr(best, name):.4g},")
    for family, group in grouped(predictions(fitting, best), lambda p: p.family):
        a = accuracy(group)
        print(family, f"{a.points} points, rho {a.spearman:.3f}, error {a.error:.0%}")


if __name__ == "__main__":
    main()
