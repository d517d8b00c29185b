"""What launches of matrix products cost: a table of measured tiles, and a model.

How long a tile of C takes was measured over many sizes, and is kept as eight numbers
per tile (``tiles.json``, made by ``benchmarks/gemm_tiles.py``). A wave is as many
blocks as the device holds. A launch takes the time of

    latency     steps of K, one wave after the other
    traffic     what all blocks bring into shared memory, step by step; more where rows
                of A and B begin within lines of L2, or within their sectors
    memory      A and B from DRAM

which overlap: the root of the sum of their squares. Before and after stand what a
launch takes, what a wave takes besides, and C. Copies are kept as two numbers,
``fixed`` and ``per_megabyte``, sums as these and what each part takes; a launch behind
another one takes ``overlap`` less than alone. Forms with TMA were measured where it can
address C; elsewhere each megabyte of C takes ``ragged`` more. `plan.py` looks for the
least time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil, gcd
from typing import Any, cast

__all__ = [
    "ALIGNED",
    "FACTORS",
    "FORMS",
    "LINE",
    "SECTOR",
    "MeasuredTile",
    "Table",
    "best_tile",
    "counts",
    "microseconds",
    "read_table",
    "table",
]

FACTORS = (
    "fixed",
    "per_wave",
    "per_step",
    "per_step_of_all",
    "split_lines",
    "split_sectors",
    "per_megabyte_read",
    "per_megabyte_written",
)
"""Names of the numbers of a tile: microseconds, and two parts of ``per_step_of_all``
that are added to it where lines and sectors are split."""
FORMS = {"persistent": 8, "small": 8, "pairs": 2, "elements": 1, "thin": 1}
"""Kernels by name, and what the steps of rows of A and B are multiples of, in elements:
`gemm_sm90`, `gemm_small` (and `gemm_parts`), `gemm_sm80` with copies of 4 bytes and
with copies of elements, `gemm_thin`.
"""
ALIGNED, SECTOR, LINE = 8, 16, 64
"""Elements of 16 bits: between which TMA addresses rows; of L2's sectors and lines."""


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

    def steps(self, k: int) -> int:
        """Steps of K."""
        return ceil(k / self.statics["BK"])

    def fits(self, m: int) -> bool:
        """Whether C of m rows has as many rows of tiles as a cluster has blocks."""
        return ceil(m / self.statics["BM"]) >= self.statics.get("CLUSTER", 1)

    def predicted(
        self, m: int, n: int, k: int, step: int, multiprocessors: int, parts: int = 1
    ) -> float:
        """Microseconds of a product, or of so many parts of one, which are of f32.

        ``step``: what divides the steps of rows of A and B, in elements.
        """
        found = counts(self, m, n, k, step, multiprocessors, parts)
        return float(microseconds(self.times, found))


Counts = tuple[float, ...]


def counts(
    tile: MeasuredTile,
    m: int,
    n: int,
    k: int,
    step: int,
    multiprocessors: int,
    parts: int = 1,
) -> Counts:
    """What the time of a launch depends on; see :func:`microseconds`.

    Waves, steps one after the other, steps of all blocks in rooms of the device,
    whether lines and sectors are split, megabytes read and written.
    """
    blocks, room = parts * tile.tiles(m, n), multiprocessors * tile.resident
    waves, steps = ceil(blocks / room), ceil(tile.steps(k) / parts)
    return (
        float(waves),
        float(waves * steps),
        blocks / room * steps,
        float(step % LINE != 0),
        float(step % SECTOR != 0),
        2e-6 * (m * k + n * k),
        1e-6 * m * n * (2 if parts == 1 else 4 * parts),
    )


def microseconds(times: Sequence[Any], found: Sequence[Any]) -> Any:
    """The model: from the numbers of a tile and counts of launches (numbers or arrays).

    ``times`` are in the order of :data:`FACTORS`.
    """
    fixed, wave, serial, every, lines, sectors, read, written = times
    waves, steps, all_steps, line, sector, reading, writing = found
    latency = serial * steps
    traffic = every * all_steps * (1 + lines * line + sectors * sector)
    overlapping = (latency**2 + traffic**2 + (read * reading) ** 2) ** 0.5
    return fixed + wave * waves + overlapping + written * writing


@dataclass(frozen=True)
class Table:
    """The measured tiles, and which of `gemm_sm90` was the fastest at which sizes.

    ``multiprocessors`` are those of the device that it was measured on.
    """

    multiprocessors: int
    tiles: tuple[MeasuredTile, ...]
    copies: tuple[float, float]
    sums: tuple[float, float, float]
    overlap: float
    ragged: float
    fastest: Mapping[tuple[int, int, int], MeasuredTile]

    def copy(self, elements: int) -> float:
        """Microseconds of a copy of so many 16-bit elements."""
        return self.copies[0] + self.copies[1] * 4e-6 * elements

    def unaligned(self, tile: MeasuredTile, m: int, n: int) -> float:
        """Microseconds more of a launch whose C of m x n TMA cannot address."""
        if FORMS[tile.form] != ALIGNED or n % ALIGNED == 0:
            return 0.0
        return self.ragged * 2e-6 * m * n

    def sum(self, parts: int, m: int, n: int) -> float:
        """Microseconds of adding up so many f32 matrices of m x n."""
        fixed, per_megabyte, per_part = self.sums
        return fixed + per_megabyte * 1e-6 * (4 * parts + 2) * m * n + per_part * parts


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
        raw["ragged"],
        {(m, n, k): tiles[cast("int", i)] for m, n, k, i in raw["fastest"]},
    )


@lru_cache(maxsize=4096)
def best_tile(m: int, n: int, k: int) -> MeasuredTile:
    """The tile of `gemm_sm90` with the least predicted time for C of m x n.

    Rows are contiguous. At sizes that were measured for themselves, the one that was
    fastest there.
    """
    found = table()
    known = found.fastest.get((m, n, k))
    if known is not None:
        return known
    return min(
        (t for t in found.tiles if t.form == "persistent" and t.fits(m)),
        key=lambda tile: tile.predicted(m, n, k, gcd(k, LINE), found.multiprocessors),
    )
