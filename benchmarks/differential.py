"""All operations and element types on the GPU, against the interpreter.

    PYTHONPATH=src python benchmarks/differential.py OUT [--only casts_,scalars]

The cases of `tests/codegen/operation_cases.py` and `scalar_cases.py`: each is proved
and built by a process of its own, all cores at once, and launched in a child process
with a time limit, so that a kernel that hangs or faults costs only its neighbours'
turn. Prints a table of what differs, and leaves OUT/differential.json. Exits with 1
where anything does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "codegen"))

import differential as d  # noqa: E402
import operation_cases  # noqa: E402
import scalar_cases  # noqa: E402

from argus.calls import launch  # noqa: E402
from argus.compiler import build, prove  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.lang.kernel import load_kernels  # noqa: E402
from argus.requests import placed_program  # noqa: E402

TARGET = "sm_90a"
AT_ONCE = 4
SEEDS = 16
"""Kernels of random scalars."""
PER_CHILD = 8
LIMIT = 120
"""Children at a time, cases of a child, and its seconds."""

FLOATS = {
    "bf16": ("int16", "bfloat16"),
    "e4m3": ("uint8", "float8_e4m3fn"),
    "e5m2": ("uint8", "float8_e5m2"),
}
"""Types that numpy has not: as bits, and torch's name."""


def _prepare(name: str, folder: Path) -> dict[str, Any]:
    """Prove and build one case; its verdict, or what was said instead."""
    case = _case(name)
    try:
        request = replace(case.request(folder), target=TARGET)
        verdict = str(prove(request).report.verdict)
        build(request)
    except ArgusError as error:
        return {"case": name, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - any failure of the compiler is what is looked for
        return {"case": name, "error": f"{type(error).__name__}: {error}"}
    return {"case": name, "verdict": verdict}


def _case(name: str) -> d.Case:
    return next(case for case in _cases() if case.name == name)


def _cases() -> Iterator[d.Case]:
    yield from operation_cases.cases()
    yield from scalar_cases.cases(SEEDS)


def _launch(names: list[str], folder: Path) -> None:
    """Run built cases on the GPU and in the interpreter; a line of JSON for each."""
    import torch

    for name in names:
        case = _case(name)
        request = replace(case.request(folder), target=TARGET)
        arrays = case.arrays()
        types = {n: t for n, (t, _, _) in case.inputs.items()}
        types |= {n: x.dtype for n, (_, x) in case.outputs.items()}
        packed = {n: FLOATS[t] for n, t in types.items() if t in FLOATS}
        tensors: dict[str, Any] = {}
        for key, array in arrays.items():
            bits = array.view(packed[key][0]) if key in packed else array
            tensor = torch.from_numpy(bits.copy()).cuda()
            if key in packed:
                tensor = tensor.view(getattr(torch, packed[key][1]))
            tensors[key] = tensor
        scalars = {n: value for n, (_, value) in case.scalars.items()}
        kernel = load_kernels(folder / f"{name}.py").kernels[name]
        launch(kernel, (), {**tensors, **scalars}, checking=False)
        torch.cuda.synchronize()
        found: dict[str, Any] = {}
        for key, tensor in tensors.items():
            if key in packed:
                tensor = tensor.view(getattr(torch, packed[key][0]))
            found[key] = tensor.cpu().numpy().view(arrays[key].dtype)
        exact = case.interpreted(placed_program(request))
        differ = case.differ(found, exact)
        print(json.dumps({"case": name, "differ": differ}), flush=True)


def _child(names: list[str], out: Path) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, str(out), "--launch", ",".join(names)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        text, why = done.stdout, done.stderr[-800:]
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode()
        why = f"no answer within {LIMIT} s"
    found = [json.loads(x) for x in text.splitlines() if x.startswith("{")]
    seen = {x["case"] for x in found}
    missing = [n for n in names if n not in seen]
    # The first that is missing is to blame; the others get another turn.
    found += [{"case": n, "error": why} for n in missing[:1]]
    return found + (_child(missing[1:], out) if missing[1:] else [])


def main() -> int:
    """Prepare, launch, compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="beginnings of names, by commas")
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.out / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("ARGUS_CACHE_DIR", str((given.out / "cache").resolve()))
    if given.launch:
        _launch(given.launch.split(","), folder)
        return 0
    starts = tuple(given.only.split(","))
    names = [case.name for case in _cases() if case.name.startswith(starts)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(_prepare, names, [folder] * len(names)))
    ready = [x["case"] for x in results if "error" not in x]
    chunks = [ready[i : i + PER_CHILD] for i in range(0, len(ready), PER_CHILD)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        ran = [x for part in threads.map(_child, chunks, [given.out] * len(chunks))
               for x in part]  # fmt: skip
    by_name = {x["case"]: x for x in ran}
    rows = [{**x, **by_name.get(x["case"], {})} for x in results]
    (given.out / "differential.json").write_text(json.dumps(rows, indent=1))
    bad = [x for x in rows if x.get("error") or x.get("differ")]
    for row in bad:
        for line in row.get("differ") or [row["error"].strip().replace("\n", " | ")]:
            verdict = row.get("verdict", "-")
            print(f"{row['case']:24} {verdict:8} {line[:400]}")
    unproved = [x["case"] for x in rows if x.get("verdict", "proved") != "proved"]
    print(f"{len(rows)} cases, {len(rows) - len(bad)} agree; not proved: {unproved}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
