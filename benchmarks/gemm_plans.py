"""Measure plans of matrix products as they are called, and hold the table to them.

    python benchmarks/gemm_plans.py measure OUT.jsonl [--seed 1] [--count 100] [--few]
    python benchmarks/gemm_plans.py refine MEASURED.jsonl ... src/.../gemm/tiles.json

`gemm_tiles.py` measures tiles alone, at sizes that are multiples of 8 but for a few.
This measures, at random sizes, the plans that the table thinks best, of each form some,
beside cuBLAS, after a write to more than the L2 cache. ``refine`` changes what the
table says of launches of little work, and of C that is ragged or large: ``fixed``,
``per_megabyte_written`` and ``ragged`` of each tile, and ``beyond``; it prints what is
lost by the table's choice beside the fastest of the plans that were measured, before
and after. Only ``measure`` needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("ARGUS_CHECK", "0")

import numpy as np
from gemm_fit import fitted

from argus.diagnostics import ArgusError
from argus.kernels.gemm.plan import ProductPlan, candidates, predicted
from argus.kernels.gemm.tiles import (
    ALIGNED,
    LINE,
    ROWS,
    MeasuredTile,
    Table,
    read_table,
)

Size = tuple[int, int, int]
LARGEST_C, LARGEST = 2**27, 2**37
"""Elements of C, and products of elements, that are measured at most."""
SLOWEST = 2.0
"""A plan is not measured where the best is predicted to take less than 1 / this."""


def sizes(count: int, seed: int) -> list[Size]:
    """Random ones: log-uniform in all; few columns of A; ragged C; both; all even."""
    rng = random.Random(seed)

    def drawn(low: float, high: float) -> int:
        return round(2 ** rng.uniform(low, high))

    found: list[Size] = []
    while len(found) < count:
        m, n, k = drawn(0, 14), drawn(0, 14), drawn(0, 14)
        match len(found) % 5:
            case 1:
                m, n, k = drawn(7, 14), drawn(6, 14) & ~7, max(8, drawn(3, 7) & ~7)
            case 2:
                m, n = drawn(6, 13), drawn(6, 13) | 1
            case 3:
                m, n, k = drawn(9, 14), drawn(8, 14) | 1, drawn(2, 9)
            case 4:
                m, n, k = (max(8, x & ~7) for x in (m, n, k))
            case _:
                pass
        if m * n <= LARGEST_C and 2**12 <= m * n * k < LARGEST:
            found.append((m, n, k))
    return found


def few_rows(count: int, seed: int) -> list[Size]:
    """Random ones of few rows, half of these powers of two; weights as models have."""
    rng = random.Random(seed)
    found: list[Size] = []
    while len(found) < count:
        m = 2 ** rng.randint(0, 7) if len(found) % 2 else round(2 ** rng.uniform(0, 8))
        n, k = (64 * round(2 ** rng.uniform(4, 9)) for _ in "NK")
        if 2**23 <= n * k < 2**28:
            found.append((m, n, k))
    return found


def rows_of(k: int) -> tuple[int, int]:
    """What divides the steps of rows of A and of B, in bytes, up to a line."""
    step = math.gcd(2 * k, LINE)
    return step, step


def likely(found: Table, size: Size, count: int) -> list[ProductPlan]:
    """Plans with the least predicted times, of each form at most a third of them."""
    aligned = rows_of(size[2])
    every = sorted(
        (predicted(found, plan, *size, aligned), i, plan)
        for i, plan in enumerate(candidates(found, *size, aligned))
    )
    kept: list[ProductPlan] = []
    seen: set[tuple[Any, ...]] = set()
    forms: dict[str, int] = {}
    for us, _, plan in every:
        form = plan.tile.form
        key = (form, *plan.tile.statics.values(), plan.copies)
        if us > SLOWEST * every[0][0] or len(kept) == count:
            break
        if key not in seen and forms.get(form, 0) < count // 3:
            seen.add(key)
            forms[form] = forms.get(form, 0) + 1
            kept.append(plan)
    return kept


# --------------------------------------------------------------------- measuring


def call(size: Size, plan: ProductPlan) -> Callable[[], object]:
    """A call of a plan on random operands; the last of them is C."""
    import torch

    from argus.dispatch import Dispatch
    from argus.kernels.gemm.op import planned_product

    m, n, k = size
    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    a, b = torch.randn(m, k, **half), torch.randn(n, k, **half)
    c = torch.empty(m, n, **half)
    made = Dispatch(lambda *args: planned_product(plan, args))
    return lambda: made((a, b, c, None, None))


def build(job: tuple[Size, ProductPlan]) -> str:
    """Build what a plan launches; what is wrong with it, if it cannot be."""
    try:
        call(*job)()
    except ArgusError as error:
        return f"{job[0]} {job[1]}: {error}"
    return ""


def _kernel_of(size: Size, plan: ProductPlan) -> tuple[Any, ...]:
    """Equal where the same kernels are launched."""
    m, n, k = size
    rows = (math.gcd(n, 8), math.gcd(k, 64), m % 8 == 0)
    tile = (plan.tile.form, *plan.tile.statics.values())
    return (*tile, plan.copies, plan.parts > 1, *rows)


def measure(args: argparse.Namespace) -> None:
    """Build, time, write a line for each size."""
    import torch
    from gemm_tiles import cublas, medians

    from argus.kernels.gemm.tiles import table

    begin = time.monotonic()
    given = {size: likely(table(), size, args.plans) for size in _sizes(args)}
    jobs = {_kernel_of(s, plan): (s, plan) for s in given for plan in given[s]}
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        wrong = [text for text in pool.map(build, jobs.values(), chunksize=2) if text]
    print(f"{len(jobs)} kernels in {time.monotonic() - begin:.0f} s", *wrong, sep="\n")
    with cast("Path", args.out).open("w") as out:
        for (m, n, k), plans in given.items():
            half: Any = {"device": "cuda", "dtype": torch.bfloat16}
            operands = {"A": torch.randn(m, k, **half), "B": torch.randn(n, k, **half)}
            operands["C"] = torch.empty(m, n, **half)
            calls = {"cublas": cublas(operands)}
            calls |= {str(i): call((m, n, k), plan) for i, plan in enumerate(plans)}
            times = medians(calls)
            rows = [
                (p.tile.form, [*p.tile.statics.values()], p.parts, p.copies,
                 round(times[str(i)], 2))
                for i, p in enumerate(plans)
            ]  # fmt: skip
            line = {"size": (m, n, k), "cublas": times["cublas"], "plans": rows}
            out.write(json.dumps(line) + "\n")
            out.flush()
            torch.cuda.empty_cache()


def _sizes(args: argparse.Namespace) -> list[Size]:
    return (few_rows if args.few else sizes)(args.count, args.seed)


# ---------------------------------------------------------------------- refining


@dataclass(frozen=True)
class Measured:
    """A plan at a size, what it took, and what cuBLAS took, in microseconds."""

    size: Size
    tile: int
    plan: ProductPlan
    us: float
    cublas: float


def read(found: Table, files: Sequence[Path]) -> list[Measured]:
    """What was measured, of tiles that the table has."""
    places = {(t.form, *t.statics.values()): i for i, t in enumerate(found.tiles)}
    made: list[Measured] = []
    for line in (x for file in files for x in file.read_text().splitlines()):
        given = json.loads(line)
        for form, statics, parts, copies, us in given["plans"]:
            at = places.get((form, *statics))
            if at is not None:
                plan = ProductPlan(found.tiles[at], parts, tuple(copies))
                size = cast("Size", tuple(given["size"]))
                made.append(Measured(size, at, plan, us, given["cublas"]))
    return made


def told(name: str, found: Table, measured: Sequence[Measured]) -> None:
    """What the choice of the table is beside the fastest, and beside cuBLAS."""
    by_size: dict[Size, list[Measured]] = {}
    for each in measured:
        by_size.setdefault(each.size, []).append(each)
    lost: list[float] = []
    ratios: list[float] = []
    for size, plans in by_size.items():
        chosen = min(plans, key=lambda x: _predicted(found, x))
        lost.append(chosen.us / min(x.us for x in plans))
        ratios.append(chosen.cublas / chosen.us)
        if lost[-1] > 1.25:
            print(
                f"  {size}: {lost[-1]:.2f} of the fastest, {ratios[-1]:.2f} of cuBLAS"
            )
    lose, mean = (math.exp(float(np.mean(np.log(x)))) for x in (lost, ratios))
    print(
        f"{name}: {lose:.3f} of the fastest, {mean:.3f} of cuBLAS, least "
        f"{min(ratios):.3f}, below 0.8: {sum(r < 0.8 for r in ratios)} of {len(ratios)}"
    )


def _predicted(found: Table, given: Measured) -> float:
    plan = replace(given.plan, tile=found.tiles[given.tile])
    return predicted(found, plan, *given.size, rows_of(given.size[2]))


_NOISE = 0.15
"""Logarithms beyond this count little: a plan that was disturbed."""
_KEPT = 100.0
_COMMON, _OWN = (0.3, 0.1, 0.1), (3.0, 0.1, 0.6)
"""How much the logarithms of a number of a kind, and of a tile, count in measurements:
of ``fixed`` (a launch takes what a launch takes), ``ragged`` and what C takes."""


def refined(found: Table, measured: Sequence[Measured]) -> Table:
    """The table with new numbers of launches of little work, and of C.

    Those of a tile are held to the mean of its kind: form, and whether it is swapped.
    """
    kinds = sorted({_kind(t) for t in found.tiles})
    kind = np.array([kinds.index(_kind(t)) for t in found.tiles])
    bare = replace(
        found,
        beyond=(found.beyond[0], 0.0),
        tiles=tuple(replace(t, ragged=(0.0,) * len(ROWS)) for t in found.tiles),
    )
    base = np.array([_predicted(bare, x) for x in measured])
    logs, tile = np.log([x.us for x in measured]), np.array([x.tile for x in measured])
    whole = np.array([not x.plan.summed for x in measured])
    mega = np.array([2e-6 * x.size[0] * x.size[1] for x in measured]) * whole
    steps = np.array([math.gcd(2 * x.size[1], ALIGNED) for x in measured])
    over = np.maximum(0.0, mega - found.beyond[0])
    fixed, written = (np.array([t.times[i] for t in found.tiles]) for i in (0, -1))
    which = [(steps == row) * mega for row in ROWS]
    names = 2 + len(ROWS)
    """Rows of what is fitted: factors of ``fixed`` and ``written``, then ``ragged``."""

    def errors(x: Any, of: Any, held: Any) -> Any:
        """Of ``x[:-1]`` by names and kinds or tiles, of which each tile has one."""
        rows = x[:-1].reshape(names, -1)[:, of]
        us = base + (rows[0, tile] - 1) * fixed[tile] + over * x[-1]
        us += (rows[1, tile] - 1) * written[tile] * mega
        us += sum(r[tile] * m for r, m in zip(rows[2:], which, strict=True))
        off = np.log(np.maximum(us, 0.1)) - logs
        return np.concatenate([_NOISE * np.arcsinh(off / _NOISE), held])

    def weights(given: Sequence[float], kept: Any) -> Any:
        rows = np.repeat(
            [[given[0]], [given[2]], *[[given[1]]] * len(ROWS)], len(kept), 1
        )
        # `gemm_tiles.py` measured what a large C takes of persistent grids.
        rows[1, kept] = _KEPT
        return rows.reshape(-1)

    # First what tiles of a kind have in common, then each tile by itself.
    begin = np.repeat(np.array([1.0, 1.0, *[0.2] * len(ROWS)]), len(kinds))
    large = np.array([form == "persistent" for form, _ in kinds])
    weight = weights(_COMMON, large)
    common = np.array(
        fitted(
            lambda x: errors(x, kind, weight * np.log(x[:-1] / begin)),
            [[*begin, 0.1]],
        )
    )
    prior = common[:-1].reshape(names, -1)[:, kind].reshape(-1)
    own = weights(_OWN, large[kind])
    every = np.arange(len(found.tiles))
    x = np.array(
        fitted(
            lambda x: errors(x, every, own * np.log(x[:-1] / prior)),
            [[*prior, common[-1]]],
        )
    )
    rows = x[:-1].reshape(names, -1).T
    return replace(
        found,
        beyond=(found.beyond[0], round(float(x[-1]), 4)),
        tiles=tuple(map(_with, found.tiles, rows.tolist())),
    )


def _with(tile: MeasuredTile, numbers: Sequence[float]) -> MeasuredTile:
    """The tile with factors of ``fixed`` and ``written``, and with ``ragged``."""
    first, last, *ragged = numbers
    times = (tile.times[0] * first, *tile.times[1:-1], tile.times[-1] * last)
    return replace(
        tile,
        times=tuple(round(t, 5) for t in times),
        ragged=tuple(round(r, 4) for r in ragged),
    )


def _kind(tile: MeasuredTile) -> tuple[str, bool]:
    return tile.form, bool(tile.statics.get("SWAP"))


def refine(args: argparse.Namespace) -> None:
    """Change the table."""
    *files, path = args.files
    raw = json.loads(path.read_text())
    found = read_table(raw)
    measured = read(found, files)
    told("before", found, measured)
    halves = [[x for x in measured if sum(x.size) % 2 == side] for side in (0, 1)]
    for side in (0, 1):
        told("held out", refined(found, halves[side]), halves[1 - side])
    made = refined(found, measured)
    told("after", made, measured)
    for entry, tile in zip(raw["tiles"], made.tiles, strict=True):
        entry.update(times=tile.times, ragged=tile.ragged)
    raw["beyond"] = made.beyond
    path.write_text(json.dumps(raw, indent=1) + "\n")


def main() -> None:
    """Measure, or refine."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("out", type=Path)
    measuring.add_argument("--seed", type=int, default=1)
    measuring.add_argument("--count", type=int, default=100)
    measuring.add_argument("--few", action="store_true")
    measuring.add_argument("--plans", type=int, default=15)
    measuring.add_argument("--jobs", type=int, default=15)
    measuring.set_defaults(run=measure)
    refining = commands.add_parser("refine")
    refining.add_argument("files", type=Path, nargs="+")
    refining.set_defaults(run=refine)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
