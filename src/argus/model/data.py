"""Measured configurations, as ``benchmarks/model_data.py`` writes them.

    for m in read(path): m.form, m.statics, m.sizes, m.microseconds

The file keeps builds, cases and records apart, since a build is measured on many
cases. Records that failed (nothing was built, the result was wrong, the kernel hung)
are in it, too, with the reason and no time. Nothing is measured or predicted here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Measurement:
    """One configuration on one problem.

    ``form`` is the kernel: a library kernel's name, or "step1" ... of the tutorial.
    ``microseconds`` is the median of ``samples`` calls with a cold L2 cache; None, with
    a ``failure``, where there is none. ``registers`` and so on are of the machine code;
    None where there is none. ``error`` is the relative error of the result (norm).
    """

    entry: str
    form: str
    case: str
    sizes: Mapping[str, int]
    options: Mapping[str, object]
    statics: Mapping[str, int | bool]
    facts: Mapping[str, int]
    dtypes: Mapping[str, str]
    target: str
    microseconds: float | None
    minimum: float | None
    samples: int
    error: float | None
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    threads: int | None
    failure: str


@dataclass(frozen=True)
class Baseline:
    """What a torch user has on the same problem. Microseconds, median."""

    entry: str
    case: str
    name: str
    microseconds: float


@dataclass(frozen=True)
class Dataset:
    """Everything in a file. ``environment``: device, versions, date, command."""

    measurements: tuple[Measurement, ...]
    baselines: tuple[Baseline, ...]
    environment: Mapping[str, str]


def read(path: Path) -> Dataset:
    """Read a file of measurements. Raises ValueError for another format."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(f"{path.name}: format {data.get('format')!r}, not {FORMAT}")
    builds, cases = data["builds"], data["cases"]
    return Dataset(
        tuple(_measurement(r, builds, cases) for r in data["records"]),
        tuple(
            Baseline(cases[case]["entry"], cases[case]["name"], name, time)
            for case, name, time in data["baselines"]
        ),
        data["environment"],
    )


def _measurement(
    record: list[Any], builds: list[dict[str, Any]], cases: list[dict[str, Any]]
) -> Measurement:
    number: int = record[0]
    at: int = record[1]
    median, minimum, samples, error, failure = record[2:]
    build: dict[str, Any] = builds[number]
    case: dict[str, Any] = cases[at]
    return Measurement(
        entry=case["entry"],
        form=build["form"],
        case=case["name"],
        sizes=case["sizes"],
        options=case["options"],
        statics=build["statics"],
        facts=build["facts"],
        dtypes=build["dtypes"],
        target=build["target"],
        microseconds=median,
        minimum=minimum,
        samples=samples,
        error=error,
        registers=build["registers"],
        spill_bytes=build["spill_bytes"],
        shared_bytes=build["shared_bytes"],
        threads=build["threads"],
        failure=failure or build["failure"],
    )
