"""Fit the calibrated constants of the performance model on the training problems.

    PYTHONPATH=src python benchmarks/model_fit.py benchmarks/h200/model.json

Least squares on log(predicted / measured): a few Gauss-Newton steps with derivatives by
differences. Each kernel counts alike; errors beyond 15 % count linearly, so that what
the model does not know of pulls at nothing. Each constant is also held near what
measurements by others say of it (`PRIORS`), since several of them do the same to most
kernels. Prints the constants, for `argus/model/hardware.py`; changes nothing. Problems
that are held out are left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from model_report import held_out, timed
from model_space import family_of, measured_request, measured_sizes
from numpy.typing import NDArray

from argus.ir.program import Program
from argus.model.accuracy import TimedConfiguration, accuracy, grouped
from argus.model.data import Measurement, read
from argus.model.hardware import H200, Hardware
from argus.model.predict import TracedProgram, prepare, simulate
from argus.requests import placed_program
from argus.verify.expectations import Usage

PRIORS: Mapping[str, tuple[float, float]] = {
    # Value, and relative uncertainty. Latencies: microbenchmarks of Hopper say 260 to
    # 280 cycles to L2, 200 more by TMA, 650 to 850 to memory.
    "clock_ghz": (1.7, 0.05),
    "dram_efficiency": (0.88, 0.05),
    "burst": (1.3, 0.2),
    "l2_bytes": (58.0, 0.15),
    "wgmma_efficiency": (0.97, 0.03),
    "wgmma_cycles": (8.0, 0.5),
    "wgmma_latency": (60.0, 0.2),
    "mma_efficiency": (0.62, 0.35),
    "lines": (1.0, 0.2),
    "stored_lines": (0.5, 0.35),
    "cycles_per_instruction": (1.2, 0.2),
    "dram_latency": (750.0, 0.2),
    "l2_latency": (260.0, 0.1),
    "tma_latency": (200.0, 0.15),
    "copy_latency": (150.0, 0.3),
    "sync_cycles": (30.0, 0.3),
    "block_cycles": (800.0, 0.35),
    "element_cycles": (50.0, 0.35),
    "launch_microseconds": (2.8, 0.35),
    "throttle": (0.15, 0.35),
}
AT_MOST = {"wgmma_efficiency": 1.0, "mma_efficiency": 1.0, "dram_efficiency": 0.95}
LINEAR = 0.15
"""Error from which on it counts linearly."""
HELD = 0.02
"""Weight of the priors."""
DIFFERENCE = 1.04
LONGEST = 0.4
"""Most that a step changes the logarithm of a constant by."""

Fitting = list[tuple[Measurement, TracedProgram]]
Vector = NDArray[np.float64]


def prepared(measured: Sequence[Measurement]) -> Fitting:
    """Everything of the predictions that no rate and no latency changes."""
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


def chosen(measured: Sequence[Measurement], count: int) -> list[Measurement]:
    """``count`` of each kernel, three times as many of the one that has most."""
    forms: dict[str, list[Measurement]] = {}
    for m in measured:
        forms.setdefault(m.form, []).append(m)
    most = max(forms, key=lambda form: len(forms[form]))
    found: list[Measurement] = []
    for form, group in forms.items():
        wanted = 3 * count if form == most else count
        found += random.Random(7).sample(group, min(wanted, len(group)))
    return found


def predictions(fitting: Fitting, hardware: Hardware) -> list[TimedConfiguration]:
    """With these constants."""
    return [
        TimedConfiguration(
            family_of(m),
            m.case,
            m.microseconds or math.nan,
            simulate(it, hardware).microseconds,
        )
        for m, it in fitting
    ]


def errors(fitting: Fitting, hardware: Hardware) -> Vector:
    """log(predicted / measured) of each."""
    points = predictions(fitting, hardware)
    return np.array([math.log(p.predicted / p.measured) for p in points])


class Fit:
    """The fit of the constants in `PRIORS`, from ``start``."""

    def __init__(self, fitting: Fitting, start: Hardware) -> None:
        self.fitting = fitting
        self._names = list(PRIORS)
        self._stiffness = np.array([HELD / sd**2 for _, sd in PRIORS.values()])
        self.hardware = start
        self.errors = errors(fitting, start)
        self.loss = self._loss(self.errors, start)

    def _off(self, hardware: Hardware) -> Vector:
        """How far each constant is from its prior value, in logarithms."""
        values = PRIORS.items()
        return np.array([math.log(getattr(hardware, n) / v) for n, (v, _) in values])

    def _loss(self, found: Vector, hardware: Hardware) -> float:
        size = np.abs(found)
        each = np.where(size < LINEAR, size**2 / 2, LINEAR * size - LINEAR**2 / 2)
        held = self._stiffness * self._off(hardware) ** 2 / 2
        return float(each.sum() + held.sum())

    def _changed(self, by: Mapping[str, float]) -> Hardware:
        """Constants times ``by``, within what is possible."""
        new = {
            name: min(getattr(self.hardware, name) * x, AT_MOST.get(name, math.inf))
            for name, x in by.items()
        }
        return dataclasses.replace(self.hardware, **new)

    def step(self) -> bool:
        """One step; whether the loss fell."""
        columns = [
            errors(self.fitting, self._changed({name: DIFFERENCE})) - self.errors
            for name in self._names
        ]
        slope = np.array(columns).T / math.log(DIFFERENCE)
        size = np.maximum(np.abs(self.errors), 1e-9)
        weight = np.where(size < LINEAR, 1.0, LINEAR / size)
        bend = slope.T @ (weight[:, None] * slope) + np.diag(self._stiffness)
        gradient = slope.T @ (weight * self.errors)
        gradient += self._stiffness * self._off(self.hardware)
        for damping in (0.003, 0.03, 0.3):
            damped = bend + damping * np.diag(np.diag(bend))
            move = -np.linalg.solve(damped, gradient).clip(-LONGEST, LONGEST)
            tried = self._changed(
                {n: math.exp(x) for n, x in zip(self._names, move, strict=True)}
            )
            found = errors(self.fitting, tried)
            loss = self._loss(found, tried)
            if loss < self.loss:
                self.hardware, self.errors, self.loss = tried, found, loss
                return True
        return False


def main() -> None:
    """Print what was fitted, and how good it is on what it was fitted on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--points", type=int, default=20, help="of each kernel")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    measured = [m for m in timed(read(options.file)) if not held_out(m)]
    fit = Fit(prepared(chosen(measured, options.points)), H200)
    for _ in range(options.steps):
        moved = fit.step()
        print(f"loss {fit.loss:.3f}, mean error {np.abs(fit.errors).mean():.3f}")
        if not moved:
            break
    for name in PRIORS:
        print(f"    {name}={getattr(fit.hardware, name):.4g},")
    found = predictions(fit.fitting, fit.hardware)
    for family, group in grouped(found, lambda p: p.family):
        a = accuracy(group)
        print(family, f"{a.points} points, rho {a.spearman:.3f}, error {a.error:.0%}")


if __name__ == "__main__":
    main()
