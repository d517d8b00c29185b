"""What launches of matrix products cost: a table of measured tiles, and a model.

How long a tile of C takes was measured over many sizes, and is kept as five numbers per
tile (``tiles.json``, made by ``benchmarks/gemm_tiles.py``). The time of a launch is

    fixed + waves * (per_wave + steps * (per_step + per_step_full * fullness))
          + megabytes * per_megabyte

where a wave is as many blocks as the device holds, steps are those of K, fullness is
the part of that room that is taken, and megabytes are those of A, B and C. Copies and
sums are kept as two numbers each, ``fixed`` and ``per_megabyte``; a launch behind
another one takes ``overlap`` less than alone. `plan.py` looks for the least time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil
from typing import Any, cast

__all__ = [
    "ALIGNED",
    "FACTORS",
    "FORMS",
    "MeasuredTile",
    "Table",
    "best_tile",
    "factors",
    "read_table",
    "table",
]

FACTORS = ("fixed", "per_wave", "per_step", "per_step_full", "per_megabyte")
"""Names of the numbers of a tile, in microseconds of what :func:`factors` counts."""
FORMS = {"persistent": 8, "batch": 8, "thin": 1, "pairs": 2, "single": 1}
"""Kernels by name, and what the steps of rows of A and B are multiples of, in elements.

`gemm_sm90`, `gemm_batch`, `gemm_thin`, and `gemm_sm80` with rows that are copied by
pairs of elements or singly.
"""
ALIGNED = 8
"""Elements of 16 bits between which TMA addresses rows."""


@dataclass(frozen=True)
class MeasuredTile:
    """A form with its static parameters, and what a tile of it costs.

    ``resident``: blocks that a multiprocessor holds at a time.
    """

    form: str
    statics: Mapping[str, int]
    resident: int = 1
    times: tuple[float, ...] = ()

    def tiles(self, m: int, n: int) -> int:
        """Tiles of C of m x n."""
        return ceil(m / self.statics["BM"]) * ceil(n / self.statics["BN"])

    def fits(self, m: int) -> bool:
        """Whether C of m rows has as many rows of tiles as a cluster has blocks."""
        return ceil(m / self.statics["BM"]) >= self.statics.get("CLUSTER", 1)

    def predicted(
        self, m: int, n: int, k: int, multiprocessors: int, parts: int = 1
    ) -> float:
        """Microseconds of ``parts`` products of these sizes; with more, C is of f32."""
        counts = factors(self, m, n, k, multiprocessors, parts)
        return sum(t * c for t, c in zip(self.times, counts, strict=True))


def factors(
    tile: MeasuredTile, m: int, n: int, k: int, multiprocessors: int, parts: int = 1
) -> tuple[float, float, float, float, float]:
    """How often each of :data:`FACTORS` is spent on products of 16-bit elements."""
    blocks, room = parts * tile.tiles(m, n), multiprocessors * tile.resident
    waves, steps = ceil(blocks / room), ceil(k / tile.statics["BK"])
    full = min(blocks, room) / room
    stored = 2 if parts == 1 else 4
    megabytes = 1e-6 * parts * (2 * (m * k + n * k) + stored * m * n)
    return 1.0, float(waves), float(waves * steps), waves * steps * full, megabytes


@dataclass(frozen=True)
class Table:
    """The measured tiles, and which of `gemm_sm90` was the fastest at which sizes.

    ``multiprocessors`` are those of the device that it was measured on.
    """

    multiprocessors: int
    tiles: tuple[MeasuredTile, ...]
    copies: tuple[float, float]
    sums: tuple[float, float]
    overlap: float
    fastest: Mapping[tuple[int, int, int], MeasuredTile]

    def copy(self, rows: int, columns: int) -> float:
        """Microseconds of a copy of rows of 16-bit elements."""
        return self.copies[0] + self.copies[1] * 4e-6 * rows * columns

    def sum(self, parts: int, m: int, n: int) -> float:
        """Microseconds of adding up so many f32 matrices of m x n."""
        return self.sums[0] + self.sums[1] * 1e-6 * (4 * parts + 2) * m * n


@cache
def table() -> Table:
    """The table as it was measured."""
    raw: dict[str, Any] = json.loads(
        (files("argus.kernels.gemm") / "tiles.json").read_text()
    )
    return read_table(raw)


def read_table(raw: Mapping[str, Any]) -> Table:
    """A table from its file."""
    tiles = tuple(
        MeasuredTile(e["form"], e["statics"], e["resident"], tuple(e["times"]))
        for e in raw["tiles"]
    )
    return Table(
        raw["multiprocessors"],
        tiles,
        tuple(raw["copies"]),
        tuple(raw["sums"]),
        raw["overlap"],
        {(m, n, k): tiles[cast("int", i)] for m, n, k, i in raw["fastest"]},
    )


@lru_cache(maxsize=4096)
def best_tile(m: int, n: int, k: int) -> MeasuredTile:
    """The tile of `gemm_sm90` with the least predicted time for C of m x n.

    At sizes that were measured for themselves, the one that was fastest there.
    """
    found = table()
    known = found.fastest.get((m, n, k))
    if known is not None:
        return known
    return min(
        (t for t in found.tiles if t.form == "persistent" and t.fits(m)),
        key=lambda tile: tile.predicted(m, n, k, found.multiprocessors),
    )
