"""A table of predicted times in the form of `model_data.py`'s measured ones.

    PYTHONPATH=src python benchmarks/predicted_table.py OUT.json

For `learning.py` where there are no measurements: the same grid of the Hopper form of
the matrix product, with what the performance model says. Registers and the like are
not known, since nothing is built. A design that cannot be placed is left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from model_space import TARGET, jobs, request_of

from argus.diagnostics import ArgusError
from argus.ir.program import Program
from argus.model import predict
from argus.model.data import FORMAT
from argus.requests import placed_program

FORM = "gemm_sm90"
CASES = (
    "4096x4096x4096",
    "8192x8192x8192",
    "2048x2048x2048",
    "512x8192x8192",
    "4000x4000x4000",
    "3072x5120x1024",
    "8192x8192x512",
)


def main() -> int:
    """Predict, and write the file."""
    programs: dict[tuple[object, ...], Program | None] = {}
    builds: dict[tuple[object, ...], int] = {}
    rows: list[dict[str, Any]] = []
    records: list[list[Any]] = []
    cases: dict[str, dict[str, Any]] = {}
    for job in jobs():
        if job.form != FORM or job.case.name not in CASES:
            continue
        build = job.build
        if build not in programs:
            try:
                programs[build] = placed_program(request_of(job))
            except ArgusError:
                programs[build] = None
        program = programs[build]
        if program is None:
            continue
        if build not in builds:
            builds[build] = len(rows)
            rows.append(_row(job.form, dict(job.statics)))
        case = {"entry": job.entry, "name": job.case.name, "options": {}}
        cases.setdefault(job.case.name, {**case, "sizes": dict(job.case.sizes)})
        time = predict(program, dict(job.case.sizes)).microseconds
        at = list(cases).index(job.case.name)
        records.append([builds[build], at, time, time, 1, None, ""])
    data = {
        "format": FORMAT,
        "environment": {"gpu": "none: predicted"},
        "builds": rows,
        "cases": list(cases.values()),
        "records": records,
        "baselines": [],
    }
    Path(sys.argv[1]).write_text(json.dumps(data) + "\n")
    return 0


def _row(form: str, statics: dict[str, int | bool]) -> dict[str, Any]:
    unknown = dict.fromkeys(("registers", "spill_bytes", "shared_bytes", "threads"))
    told = {"facts": {}, "dtypes": {}, "target": TARGET, "failure": ""}
    return {"form": form, "statics": statics, **told, **unknown}


if __name__ == "__main__":
    sys.exit(main())
