"""Measure plans of matrix products as they are called, and hold the table to them.

    python benchmarks/gemm_plans.py measure OUT.jsonl [--seed 1] [--count 100]
    python benchmarks/gemm_plans.py refine MEASURED.jsonl ... src/.../gemm/tiles.json

`gemm_tiles.py` measures tiles alone, at sizes that are multiples of 8 but for a few.
This measures, at random sizes, the plans that the table thinks best, of each form some,
beside cuBLAS, after a write to more than the L2 cache. ``refine`` changes what the
table says of launches of little work, and of C that is ragged or large: ``fixed`` and
``ragged`` of each tile, and ``beyond``; it prints what is lost by the table's choice
beside the fastest of the plans that were measured, before and after. Only ``measure``
needs a GPU.
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
from argus.kernels.gemm.tiles import ALIGNED, LINE, ROWS, Table, read_table

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
    return sizes(args.count, args.seed)


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
_TRUST = 1.5
"""How much the logarithm of a number of a tile counts, in measurements."""


def refined(found: Table, measured: Sequence[Measured]) -> Table:
    """The table with new ``fixed``, ``ragged`` and ``beyond``.

    Those of a tile are held to the mean of its kind: form, and whether it is swapped.
    """
    kinds = sorted({_kind(found, i) for i in range(len(found.tiles))})
    kind = np.array([kinds.index(_kind(found, i)) for i in range(len(found.tiles))])
    bare = replace(
        found,
        beyond=(found.beyond[0], 0.0),
        tiles=tuple(replace(t, ragged=(0.0,) * len(ROWS)) for t in found.tiles),
    )
    base = np.array([_predicted(bare, x) for x in measured])
    times, tile = (
        np.array([x.us for x in measured]),
        np.array([x.tile for x in measured]),
    )
    whole = np.array([not x.plan.summed for x in measured])
    mega = np.array([2e-6 * x.size[0] * x.size[1] for x in measured]) * whole
    steps = np.array([math.gcd(2 * x.size[1], ALIGNED) for x in measured])
    over = np.maximum(0.0, mega - found.beyond[0])
    fixed = np.array([t.times[0] for t in found.tiles])
    which = [(steps == row) * mega for row in ROWS]

    def model(shift: Any, ragged: Any, beyond: Any) -> Any:
        """Of factors of ``fixed`` and microseconds of C, of each tile."""
        us = base + (shift[tile] - 1) * fixed[tile] + over * beyond
        return us + sum(r[tile] * m for r, m in zip(ragged, which, strict=True))

    def errors(us: Any) -> Any:
        return _NOISE * np.arcsinh(
            (np.log(np.maximum(us, 0.1)) - np.log(times)) / _NOISE
        )

    # First what tiles of a kind have in common, then each tile by itself.
    count, tiles = len(kinds), len(found.tiles)

    def split(x: Any, size: int) -> tuple[Any, Any]:
        return x[:size], x[size : (1 + len(ROWS)) * size].reshape(len(ROWS), size)

    def of_kinds(x: Any) -> Any:
        shift, ragged = split(x, count)
        held = 0.3 * np.log(shift)
        off = errors(model(shift[kind], ragged[:, kind], x[-1]))
        return np.concatenate([off, held, 0.02 * np.log(x[count:] / 0.2)])

    begin = [1.0] * count + [0.2] * (len(ROWS) * count) + [0.1]
    common = np.array(fitted(of_kinds, [begin]))
    shift, ragged = split(common, count)
    prior = np.concatenate([shift[kind], ragged[:, kind].reshape(-1), common[-1:]])
    weight = np.full(len(prior), 0.3 * _NOISE * _TRUST)
    weight[:tiles] = 2 * _TRUST  # a launch takes what a launch takes

    def of_tiles(x: Any) -> Any:
        shift, ragged = split(x, tiles)
        held = weight * np.log(x / prior)
        return np.concatenate([errors(model(shift, ragged, x[-1])), held])

    shift, ragged = split(np.array(fitted(of_tiles, [list(prior)])), tiles)
    return replace(
        found,
        beyond=(found.beyond[0], round(float(common[-1]), 4)),
        tiles=tuple(
            replace(
                t,
                times=(round(t.times[0] * float(shift[i]), 5), *t.times[1:]),
                ragged=tuple(round(float(r), 4) for r in ragged[:, i]),
            )
            for i, t in enumerate(found.tiles)
        ),
    )


def _kind(found: Table, i: int) -> tuple[str, bool]:
    tile = found.tiles[i]
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
