"""How good the performance model is, from measurements: Markdown for `docs/model.md`.

    PYTHONPATH=src python benchmarks/model_data.py --report benchmarks/h200/model.json

Predicts every measured configuration from its placed program and the registers of its
machine code. The constants of the model are fitted on the training problems only
(`held_out` says which are not), so the tables stand apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
from model_space import family_of, measured_request, measured_sizes

from argus.ir.program import Program
from argus.model import predict
from argus.model.accuracy import Accuracy, TimedConfiguration, accuracy, grouped
from argus.model.data import Dataset, Measurement
from argus.requests import placed_program
from argus.verify.expectations import Usage

HELD_OUT = frozenset(
    {
        "8192x8192x8192",
        "1024x1024x1024",
        "2048x2048x16384",
        "4000x4000x4000",
        "8192x8192x512",
        "4104x2056x3000",
        "510x2050x1030",
        "8192x16384",
        "65536x1024",
        "200x8192",
        "131072x256",
        "1000x333",
        "262144x64",
        "1024x50257",
        "64x8192x4096",
        "4x5000x3001",
        "333x5000x2000",
        "4x32/32x4096:4096 128 causal",
        "1x32/8x8192:8192 128",
        "2x8/8x1111:1111 128 causal",
        "1x16/16x512:512 128",
        "16x32/32x512:512 64 causal",
        "64 experts 16384x2048x2048",
        "16 experts 8192x2048x4096 gather",
    }
)
"""Problems that no constant was fitted on: about half of each family."""


def held_out(measured: Measurement) -> bool:
    """Whether a measurement belongs to the test half."""
    return measured.case in HELD_OUT


def timed(data: Dataset) -> list[Measurement]:
    """What has a time."""
    return [m for m in data.measurements if m.microseconds is not None]


def points(measured: Iterable[Measurement]) -> list[TimedConfiguration]:
    """Predictions beside measurements; every specialisation is placed once."""
    programs: dict[tuple[object, ...], Program] = {}
    found: list[TimedConfiguration] = []
    for m in measured:
        if m.microseconds is None or m.registers is None:
            continue
        key = (m.form, *sorted(m.statics.items()), *sorted(m.facts.items()))
        program = programs.get(key)
        if program is None:
            program = programs[key] = placed_program(measured_request(m))
        usage = Usage(m.registers, m.spill_bytes or 0)
        result = predict(program, measured_sizes(m), usage=usage)
        found.append(
            TimedConfiguration(
                family_of(m), m.case, m.microseconds, result.microseconds
            )
        )
    return found


def sample(measured: Sequence[Measurement], count: int) -> list[Measurement]:
    """``count`` of each family that has so many, the same every time."""
    found: list[Measurement] = []
    families: dict[str, list[Measurement]] = {}
    for m in measured:
        families.setdefault(family_of(m), []).append(m)
    for group in families.values():
        found += random.Random(7).sample(group, min(count, len(group)))
    return found


def report(data: Dataset) -> str:
    """Tables: training and test half, by family; and every problem."""
    halves = [
        ("training", [m for m in timed(data) if not held_out(m)]),
        ("test", [m for m in timed(data) if held_out(m)]),
    ]
    lines = [
        "| problems | kernels | points | Spearman | within a problem: median, worst "
        "| median error | 90th percentile | first ranked over best: median, worst |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    everything: list[tuple[str, TimedConfiguration]] = []
    for name, measured in halves:
        here = points(measured)
        everything += [(name, p) for p in here]
        for family, group in [("all", here), *grouped(here, lambda p: p.family)]:
            if len(group) > 1:
                lines.append(f"| {name} | {family} | {_row(accuracy(group))} |")
    lines += [
        "",
        "| problem | half | points | Spearman | median error | measured, µs "
        "| first ranked over best |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    half = {(p.family, p.problem): name for name, p in everything}
    for (family, problem), name in half.items():
        group = [p for _, p in everything if (p.family, p.problem) == (family, problem)]
        if len(group) > 1:
            lines.append(f"| {family} {problem} | {name} | {_problem(group)} |")
    env = data.environment
    lines += ["", f"{env['gpu']}; {env['date']}; `{env['command']}`."]
    return "\n".join([*lines, ""])


def _row(a: Accuracy) -> str:
    loss = np.array(a.loss)
    within = f"{a.median_within:.2f}, {a.worst_within:.2f}" if a.within else "-"
    return (
        f"{a.points} | {a.spearman:.3f} | {within} | {a.error:.0%} | {a.high:.0%} | "
        f"{np.median(loss):.2f}, {loss.max():.2f}"
    )


def _problem(group: list[TimedConfiguration]) -> str:
    a = accuracy(group)
    times = [p.measured for p in group]
    rank = f"{a.within[0]:.2f}" if a.within else "-"
    return (
        f"{a.points} | {rank} | {a.error:.0%} | {min(times):.1f} to {max(times):.1f} "
        f"| {a.loss[0]:.2f} |"
    ).rstrip(" |")
