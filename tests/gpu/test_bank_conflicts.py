"""Predicted bank conflicts against the counters of the hardware, as ncu reads them.

    pytest tests/gpu/test_bank_conflicts.py
    python tests/gpu/test_bank_conflicts.py     the table, predicted and counted

Needs a GPU, torch, and ncu with the right to read counters; skipped without. Of the
metrics that count bank conflicts, those that ncu has for the chip are read; the counts
per instruction (`smsp__sass_...`) come before those of the memory pipe, which include
what several warps do to each other. The machine code of every variant is looked at
first: the compiler must not have joined or split the accesses.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bank_variants import VARIANTS, Counts, Variant, counts

from argus.evaluation.device import find_device

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SCRIPT = Path(__file__).parent / "bank_variants.py"
METRICS = {
    way: (
        f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum",
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum",
    )
    for way in ("ld", "st")
}
"""For each direction, the best first."""


def find_ncu() -> str | None:
    found = shutil.which("ncu")
    if found is not None:
        return found
    roots = (Path("/usr/local"), Path("/opt/nvidia/nsight-compute"))
    places = [p for root in roots for p in root.glob("**/ncu") if p.is_file()]
    return str(max(places)) if places else None


def run_ncu(ncu: str, metrics: list[str]) -> str:
    command = [
        ncu,
        "--csv",
        "--page=raw",
        "--clock-control=none",
        "--kernel-name=regex:vectors|matrices",
        f"--metrics={','.join(metrics)}",
        sys.executable,
        str(SCRIPT),
    ]
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    output = done.stdout + done.stderr
    if "ERR_NVGPUCTRPERM" in output:
        pytest.skip("this user may not read the counters of the GPU")
    assert done.returncode == 0, output
    return done.stdout


def read_rows(output: str) -> list[dict[str, str]]:
    """Rows of a raw page, one per launch, without the row of units."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    return sorted((r for r in rows if r["ID"].isdigit()), key=lambda r: int(r["ID"]))


def number(row: dict[str, str], names: tuple[str, ...]) -> tuple[int, str]:
    """The first metric of a row that has a value, and its name."""
    for name in names:
        text = row.get(name, "").replace(",", "")
        try:
            return round(float(text)), name
        except ValueError:
            continue
    raise AssertionError(f"ncu has none of {', '.join(names)}")


@cache
def measured() -> dict[str, dict[str, tuple[int, str]]]:
    """Counted conflicts by variant and direction, and the metric that counted."""
    if find_device() is None:
        pytest.skip("no CUDA device, or no torch")
    ncu = find_ncu()
    if ncu is None:
        pytest.skip("ncu is not installed")
    rows = read_rows(run_ncu(ncu, [m for names in METRICS.values() for m in names]))
    assert len(rows) == len(VARIANTS), [r["Kernel Name"] for r in rows]
    return {
        variant.name: {way: number(row, names) for way, names in METRICS.items()}
        for variant, row in zip(VARIANTS, rows, strict=True)
    }


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_counts_agree_with_ncu(variant: Variant) -> None:
    found = measured()[variant.name]
    predicted = counts(variant.program())
    assert {way: value for way, (value, _) in found.items()} == {
        way: c.conflicts for way, c in predicted.items()
    }


def table() -> None:
    found = measured()
    print(f"{'variant':36} {'':2} predicted counted  metric")
    for variant in VARIANTS:
        predicted: dict[str, Counts] = counts(variant.program())
        for way, (value, metric) in found[variant.name].items():
            mark = "" if value == predicted[way].conflicts else "   <-- differs"
            print(
                f"{variant.name:36} {way} {predicted[way].conflicts:9} {value:7}"
                f"  {metric}{mark}"
            )


if __name__ == "__main__":
    table()
