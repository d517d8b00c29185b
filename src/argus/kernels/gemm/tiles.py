"""Which tile a matrix product is cut into: a table of measured tiles, and a model.

How long a tile of C takes was measured over many sizes, and is kept as five numbers per
tile (``tiles.json``, made by ``benchmarks/gemm_tiles.py``). The time of a product is

    fixed + waves * (per_wave + steps * (per_step + per_step_full * fullness))
          + megabytes * per_megabyte

where a wave is one tile on each multiprocessor, steps are those of K, fullness is the
part of the multiprocessors that have a tile, and megabytes are those of A, B and C.
The tile with the least time is taken, and at sizes that were measured for themselves
(those of the library's table of results) the one that was fastest there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil
from typing import Any

__all__ = ["FACTORS", "MULTIPROCESSORS", "MeasuredTile", "best_tile", "factors"]

MULTIPROCESSORS = 132
"""Of the device that the table was measured on (H200)."""
FACTORS = ("fixed", "per_wave", "per_step", "per_step_full", "per_megabyte")
"""Names of the numbers of a tile, in microseconds of what :func:`factors` counts."""


@dataclass(frozen=True)
class MeasuredTile:
    """Static parameters of the Hopper form, and what a tile of that form costs."""

    BM: int
    BN: int
    BK: int
    STAGES: int
    WARPGROUPS: int
    CLUSTER: int
    times: tuple[float, ...] = ()

    @property
    def statics(self) -> dict[str, int]:
        """What the kernel is specialised with."""
        found = asdict(self)
        del found["times"]
        return found

    def fits(self, m: int) -> bool:
        """Whether C of m rows has as many rows of tiles as a cluster has blocks."""
        return ceil(m / self.BM) >= self.CLUSTER

    def predicted(self, m: int, n: int, k: int) -> float:
        """Microseconds of a product of these sizes."""
        counts = factors(self.BM, self.BN, self.BK, m, n, k)
        return sum(t * c for t, c in zip(self.times, counts, strict=True))


def factors(
    bm: int, bn: int, bk: int, m: int, n: int, k: int
) -> tuple[float, float, float, float, float]:
    """How often each of :data:`FACTORS` is spent on a product of 16-bit elements."""
    tiles = ceil(m / bm) * ceil(n / bn)
    waves, steps = ceil(tiles / MULTIPROCESSORS), ceil(k / bk)
    full = min(tiles, MULTIPROCESSORS) / MULTIPROCESSORS
    megabytes = 2e-6 * (m * k + n * k + m * n)
    return 1.0, float(waves), float(waves * steps), waves * steps * full, megabytes


@dataclass(frozen=True)
class Table:
    """The measured tiles, and which of them was the fastest at which sizes."""

    tiles: tuple[MeasuredTile, ...]
    fastest: Mapping[tuple[int, int, int], MeasuredTile]


@cache
def table() -> Table:
    """The table as it was measured."""
    raw: dict[str, Any] = json.loads(
        (files("argus.kernels.gemm") / "tiles.json").read_text()
    )
    tiles = tuple(
        MeasuredTile(**entry["statics"], times=tuple(entry["times"]))
        for entry in raw["tiles"]
    )
    fastest: dict[tuple[int, int, int], MeasuredTile] = {
        (m, n, k): tiles[number] for m, n, k, number in raw["fastest"]
    }
    return Table(tiles, fastest)


@lru_cache(maxsize=4096)
def best_tile(m: int, n: int, k: int) -> MeasuredTile:
    """The tile with the least predicted time for C of m x n, summed over k."""
    known = table().fastest.get((m, n, k))
    if known is not None:
        return known
    fitting = [tile for tile in table().tiles if tile.fits(m)]
    return min(fitting, key=lambda tile: tile.predicted(m, n, k))
