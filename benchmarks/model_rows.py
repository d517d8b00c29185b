"""How good the performance model is on norms over rows of any length: a table.

    PYTHONPATH=src python benchmarks/model_rows.py benchmarks/h200/rows.json

Kernels, sizes and times are those of `row_forms.py` ("chosen"), one launch each; no
constant of the model was fitted on them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from row_variants import FAMILIES, Size, Variant, requests

from argus.model import predict
from argus.model.accuracy import TimedConfiguration, accuracy, grouped
from argus.requests import placed_program


def size_of(text: str) -> Size:
    """A size from how it is written."""
    family, shape, dtype = text.split()
    m, n = map(int, shape.split("x"))
    return Size(family, m, n, dtype)


def variant_of(family: str, text: str) -> Variant:
    """A variant from how it is written."""
    form, *statics = text.split()
    pairs = (word.split("=") for word in statics)
    fixed = FAMILIES[family].fixed
    return Variant(
        family,
        form,
        tuple((n, bool(int(v)) if n in fixed else int(v)) for n, v in pairs),
    )


def points(path: Path) -> list[TimedConfiguration]:
    """Predictions beside measurements."""
    found: list[TimedConfiguration] = []
    for measured in json.loads(path.read_text(encoding="utf-8"))["found"]:
        if measured["which"] != "chosen":
            continue
        size = size_of(measured["size"])
        for name, us in measured["times"].items():
            if name in ("torch", "library"):
                continue
            (request,) = requests(size, variant_of(size.family, name))
            said = predict(placed_program(request), {"M": size.m, "N": size.n})
            found.append(
                TimedConfiguration(size.family, str(size), us, said.microseconds)
            )
    return found


def main() -> None:
    """Print the table, and what is off by more than a quarter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    every = points(parser.parse_args().file)
    print("| kernels | points | Spearman | median error | 90th percentile |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, group in [("all", every), *grouped(every, lambda p: p.family)]:
        a = accuracy(group)
        numbers = f"{a.points} | {a.spearman:.3f} | {a.error:.0%} | {a.high:.0%}"
        print(f"| {name} | {numbers} |")
    for p in every:
        if abs(p.predicted / p.measured - 1) > 0.25:
            print(f"{p.problem}: {p.measured:.1f} us, predicted {p.predicted:.1f}")


if __name__ == "__main__":
    main()
