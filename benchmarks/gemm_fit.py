"""Make the table of matrix products of what was measured. Needs no GPU.

    python benchmarks/gemm_fit.py MEASURED.json src/argus/kernels/gemm/tiles.json

`gemm_tiles.py` measures, and calls this. The numbers of a tile
(`argus.kernels.gemm.tiles`) are those with the least relative error. It prints, for
each size, the plan that the table takes, as predicted, beside cuBLAS.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from argus.kernels.gemm.entry import LARGE
from argus.kernels.gemm.plan import candidates, numbers_of_parts, predicted
from argus.kernels.gemm.tiles import (
    FACTORS,
    LINE,
    MeasuredTile,
    Table,
    counts,
    microseconds,
    read_table,
)

Size = tuple[int, int, int]
COUNT = 132
"""Multiprocessors of the device that this is for: H100 and H200."""
LIBRARY = [tuple(case.sizes[d] for d in "MNK") for case in LARGE]
"""Sizes at which the fastest tile is kept, and not what the model says."""


def name_of(tile: MeasuredTile, parts: int = 1) -> str:
    """Form, static parameters in order, and parts of K."""
    return " ".join([tile.form, *map(str, tile.statics.values()), f"/{parts}"])


def some_parts(tile: MeasuredTile, size: Size) -> list[int]:
    """Parts of K that the table may choose, up to four."""
    if tile.form != "small":
        return []
    of = Table(COUNT, (), (0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0, (0.0, 0.0), {})
    found = list(numbers_of_parts(of, tile, *size))
    return found[:: max(1, -(-len(found) // 4))]


def fitted(
    errors: Callable[[Any], Any], begins: Sequence[Sequence[float]]
) -> tuple[float, ...]:
    """The positive numbers at which a sum of squares is least (Levenberg, Marquardt).

    Steps are taken in their logarithms; derivatives are differences.
    """
    best: tuple[float, Any] = (math.inf, None)
    for begin in begins:
        x, damping = np.log(np.array(begin)), 1e-2
        at = errors(np.exp(x))
        for _ in range(100):
            shifts = 1e-5 * np.eye(len(x))
            slopes = np.stack([(errors(np.exp(x + d)) - at) / 1e-5 for d in shifts], 1)
            square, down = slopes.T @ slopes, slopes.T @ at
            for _ in range(8):
                bent = square + damping * np.diag(np.diag(square) + 1e-9)
                new = np.clip(x - np.clip(np.linalg.solve(bent, down), -1, 1), -12, 8)
                there = errors(np.exp(new))
                if there @ there < at @ at:
                    break
                damping *= 4
            else:
                break
            gained = at @ at - there @ there
            x, at, damping = new, there, damping / 3
            if gained < 1e-7 * (at @ at):
                break
        best = min(best, (float(at @ at), x), key=lambda found: found[0])
    return tuple(round(float(v), 5) for v in np.exp(best[1]))


_BEGINS = (
    (4.0, 0.5, 0.1, 0.1, 0.3, 0.3, 0.25, 0.3),
    (4.0, 1.0, 0.3, 0.3, 0.3, 0.1, 0.25, 0.3),
)


_TRUST = (0.0, 0.0, 0.0, 0.0, 0.5, 3.0, 1.0, 0.0)
"""How much the logarithm of a number of an older table counts, in measurements: those
of split lines and sectors, and of memory, show at few sizes only."""


def with_times(
    tile: MeasuredTile,
    measured: Mapping[Size, Mapping[str, float]],
    before: Sequence[float] = (),
) -> MeasuredTile:
    """The tile with the numbers that its measurements say.

    ``before``: those of an older table, of the tile or of its mirror image.
    """
    rows: list[tuple[float, ...]] = []
    times: list[float] = []
    begin = name_of(tile).removesuffix("1")
    for size, found in measured.items():
        m, n, k = size
        for name, us in found.items():
            if name.startswith(begin):
                parts = int(name.removeprefix(begin))
                rows.append(counts(tile, m, n, k, math.gcd(2 * k, LINE), COUNT, parts))
                times.append(us)
    if len(times) < 3 * len(FACTORS):
        raise SystemExit(f"{name_of(tile)}: {len(times)} measurements are too few")
    columns, logs = np.array(rows).T, np.log(np.array(times))
    known = np.log(np.maximum(before or 1.0, 1e-5))
    trust = np.array(_TRUST) * bool(before)

    def errors(x: Any) -> Any:
        found = np.log(microseconds(x, columns)) - logs
        return np.concatenate([found, trust * (np.log(x) - known)])

    begins = (*_BEGINS, *([[max(t, 1e-4) for t in before]] if before else []))
    return replace(tile, times=fitted(errors, begins))


def bounded(tiles: Sequence[MeasuredTile]) -> list[MeasuredTile]:
    """The tiles, of which none reads memory faster than those that do little else.

    How fast that is hardly shows in the times of large tiles, where other things take
    longer; few rows of A times a large B, which were not measured, would get them.
    """
    at = FACTORS.index("per_megabyte_read")
    least = median(t.times[at] for t in tiles if t.statics.get("SWAP"))
    return [
        replace(t, times=(*t.times[:at], max(t.times[at], least), *t.times[at + 1 :]))
        for t in tiles
    ]


def _tile_with_times(
    entry: Mapping[str, Any], measured: Mapping[Size, Mapping[str, float]]
) -> MeasuredTile:
    tile = MeasuredTile(entry["form"], entry["statics"], entry["resident"])
    if "ragged" in entry:
        tile = replace(tile, ragged=tuple(entry["ragged"]))
    if "times" in entry:
        return replace(tile, times=tuple(entry["times"]))
    return with_times(tile, measured, entry.get("before", ()))


def write_table(data: Mapping[str, Any], out: Path) -> None:
    """Fit, write the table, report. ``data`` is as `gemm_tiles.py` writes it.

    Tiles that have numbers keep them, and which was the fastest at the library's sizes
    is kept where these were not measured.
    """
    measured: dict[Size, dict[str, float]] = {tuple(s): t for s, t in data["measured"]}
    tiles = bounded([_tile_with_times(t, measured) for t in data["tiles"]])
    names = [name_of(tile) for tile in tiles]
    persistent = {name_of(t) for t in tiles if t.form == "persistent"}
    made = {
        **{name: found for name, found in data.items() if name != "measured"},
        "tiles": [
            {"form": t.form, "statics": t.statics, "resident": t.resident,
             "times": t.times, "ragged": t.ragged} for t in tiles
        ],
        "fastest": data.get("fastest")
        or [
            (*size, names.index(min(persistent & set(times), key=times.__getitem__)))
            for size, times in measured.items()
            if size in LIBRARY
        ],
    }  # fmt: skip
    out.write_text(json.dumps(made, indent=1) + "\n")
    report(read_table(made), measured)


def report(found: Table, measured: Mapping[Size, Mapping[str, float]]) -> None:
    """The plan of the table at each size, beside cuBLAS and the fastest launch."""
    ratios: list[float] = []
    for size, times in measured.items():
        step = math.gcd(2 * size[2], LINE)
        both = (step, step)
        plans = candidates(found, *size, both)
        plan = min(plans, key=lambda plan: predicted(found, plan, *size, both))
        us = predicted(found, plan, *size, both)
        name = name_of(plan.tile, plan.parts)
        # What was measured of it instead of its prediction; the rest as predicted.
        if name in times and not any(plan.copies):
            us += times[name] - plan.tile.predicted(*size, step, COUNT, plan.parts)
        ratios.append(times["cublas"] / us)
        best = min((t, n) for n, t in times.items() if n != "cublas")
        print(
            f"{size!s:22} cuBLAS {times['cublas']:8.1f} us  fastest launch "
            f"{best[1]:28} {best[0]:8.1f}  plan {name:28} {us:8.1f}  {ratios[-1]:.3f}"
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geomean {mean:.3f} of cuBLAS, least {min(ratios):.3f}, with predictions")


def main() -> None:
    """Fit again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    write_table(json.loads(args.measured.read_text()), args.out)


if __name__ == "__main__":
    main()
