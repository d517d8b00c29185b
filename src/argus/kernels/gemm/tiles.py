"""What launches of matrix products cost: a table of measured tiles, and a model.

How long a tile of C takes was measured over many sizes in bf16, and is kept as eight
numbers per tile (``tiles.json``, made by ``benchmarks/gemm_tiles.py``). Tensor cores
take equal times for equal numbers of bytes of K, so that a tile of another type has as
many bytes (`Elements`). A wave is as many
blocks as the device holds. A launch takes the time of

    latency     steps of K, one wave after the other
    traffic     what all blocks bring into shared memory, step by step; more where rows
                of A and B begin within lines of L2, or within their sectors
    outside     what TMA takes for bytes outside of A and B, which is long
    memory      A and B from DRAM

which overlap: the root of the sum of their squares. Before and after stand what a
launch takes, what a wave takes besides, and C. Where each step of K is added up outside
the tensor cores, it takes `STEPWISE` times as long. Copies are kept as two numbers,
``fixed`` and ``per_megabyte``, sums as these and what each part takes; a launch behind
another one takes ``overlap`` less than alone, or ``early`` less where it may begin
before the other has ended, which a persistent grid may not. Each megabyte of C takes
``beyond`` more after those that L2 holds, and a tile's ``ragged`` more where the step
of its rows is no multiple of 16 bytes. `plan.py` looks for the least time;
``benchmarks/gemm_plans.py`` holds it against calls.
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
    "HALVES",
    "LINE",
    "ROWS",
    "SECTOR",
    "Elements",
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
FORMS = {
    "persistent": 16,
    "small": 16,
    "split": 16,
    "pairs": 4,
    "elements": 2,
    "thin": 1,
}
"""Kernels by name, and what the steps of rows of A and B are multiples of, in bytes:
`gemm_sm90` (or `single_sm90`, `scaled_sm90`), `gemm_small` (and `gemm_parts`),
`gemm_sm80` (or `single_sm80`, `scaled_sm80`) with copies of 4 bytes, and with copies of
elements, `gemm_thin`; and `single_split`, of which parts are summed like those of
`gemm_parts`.
"""
ALIGNED, SECTOR, LINE = 16, 32, 128
"""Bytes: between which TMA addresses rows; of L2's sectors and lines."""
STEPWISE = {1: 1.35, 2: 1.19, 3: 1.08}
"""How much longer a step takes that is added up outside the tensor cores, by
warpgroups, which take turns: the second and third measured of e4m3 on an H200."""
_STEPWISE_REGISTERS = 64
"""Of an accumulator in a thread, so that there is room for a second one."""
OUTSIDE = 0.0045
"""Microseconds that TMA takes for 128 bytes of a tile outside of a tensor (an H200):
four times as long as for those inside."""
ROWS = (2, 4, 8)
"""Bytes that the step of ragged rows of C is a multiple of, and of no more."""
_SLICE = 32
"""Columns of C that kernels for other elements than 16 bits finish at a time."""
_TABLE_BYTES = 2
"""Of an element of those that were measured."""


@dataclass(frozen=True)
class Elements:
    """Bytes of an element of A and B, and of C.

    ``stepwise``: the sum of each step of K is added up outside the tensor cores.
    """

    factor: int = 2
    result: int = 2
    stepwise: bool = False


HALVES = Elements()


@dataclass(frozen=True)
class MeasuredTile:
    """A form with its static parameters, and what a tile of it costs.

    ``resident``: blocks that a multiprocessor holds at a time. ``ragged``: microseconds
    more for each megabyte of C, by :data:`ROWS`.
    """

    form: str
    statics: Mapping[str, int]
    resident: int = 1
    times: tuple[float, ...] = ()
    ragged: tuple[float, ...] = (0.0,) * len(ROWS)

    def tiles(self, m: int, n: int) -> int:
        """Tiles of C of m x n, and those beside them that a cluster walks."""
        rows = ceil(m / self.rows) * self.rows // self.statics["BM"]
        return rows * (ceil(n / self.columns) * self.columns // self.statics["BN"])

    @property
    def rows(self) -> int:
        """Rows of C that blocks of a cluster take together."""
        across = self.statics.get("ACROSS", False)
        return self.statics["BM"] * (1 if across else self.statics.get("CLUSTER", 1))

    @property
    def columns(self) -> int:
        """Columns of C that blocks of a cluster take together."""
        across = self.statics.get("ACROSS", False)
        return self.statics["BN"] * (self.statics.get("CLUSTER", 1) if across else 1)

    def outside(self, m: int, n: int, k: int, of: Elements = HALVES) -> float:
        """Lines of 128 bytes that lie outside of A and B, in all steps of all tiles.

        In the last step those at the ends of rows, too.
        """
        if FORMS[self.form] != ALIGNED:
            return 0.0
        rows = -m % self.rows * ceil(n / self.statics["BN"])
        rows += -n % self.columns * ceil(m / self.statics["BM"])
        within = self.tiles(m, n) * (self.statics["BM"] + self.statics["BN"]) - rows
        depth = self.depth(of)
        elements = depth * self.steps(k, of) * rows + -k % depth * within
        return of.factor / LINE * elements

    def depth(self, of: Elements) -> int:
        """Elements of K in a step: as many bytes as measured, but in registers."""
        if self.form == "thin":
            return self.statics["BK"]
        return self.statics["BK"] * _TABLE_BYTES // of.factor

    def steps(self, k: int, of: Elements = HALVES) -> int:
        """Steps of K."""
        return ceil(k / self.depth(of))

    def statics_of(self, of: Elements) -> dict[str, int]:
        """Its static parameters for such elements."""
        return {**self.statics, "BK": self.depth(of)}

    def fits(self, m: int, n: int, of: Elements = HALVES) -> bool:
        """Whether C of m x n has as many tiles along a cluster as it has blocks.

        And whether there are registers for a second accumulator, where one is needed,
        and a kernel for such elements: only `gemm_sm90` has clusters along N, steps of
        less than 128 bytes, and slices of C that are not 32 columns.
        """
        sizes = self.statics
        if self.form == "persistent" and of != HALVES:
            short = sizes["BK"] * _TABLE_BYTES < LINE
            if short or sizes.get("ACROSS") or sizes["BN"] % _SLICE:
                return False
        if of.stepwise and self.form != "thin":
            each = sizes["BM"] * sizes["BN"] / (128 * sizes.get("WARPGROUPS", 1))
            if each > _STEPWISE_REGISTERS:
                return False
        return m > self.rows - sizes["BM"] and n > self.columns - sizes["BN"]

    def predicted(
        self,
        m: int,
        n: int,
        k: int,
        step: int,
        multiprocessors: int,
        parts: int = 1,
        of: Elements = HALVES,
    ) -> float:
        """Microseconds of a product, or of so many parts of one, which have 4 bytes.

        ``step``: what divides the steps of rows of A and B, in bytes.
        """
        found = counts(self, m, n, k, step, multiprocessors, parts, of)
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
    of: Elements = HALVES,
) -> Counts:
    """What the time of a launch depends on; see :func:`microseconds`.

    Waves, steps one after the other, steps of all blocks in rooms of the device,
    whether lines and sectors are split, microseconds of rows outside, megabytes read
    and written.
    """
    blocks, room = parts * tile.tiles(m, n), multiprocessors * tile.resident
    waves, steps = ceil(blocks / room), float(ceil(tile.steps(k, of) / parts))
    if tile.form == "thin":
        steps *= max(1.0, of.factor / _TABLE_BYTES)
    elif of.stepwise:
        steps *= STEPWISE[tile.statics["WARPGROUPS"]]
    return (
        float(waves),
        waves * steps,
        blocks / room * steps,
        float(step % LINE != 0),
        float(step % SECTOR != 0),
        OUTSIDE * tile.outside(m, n, k, of) / multiprocessors,
        1e-6 * of.factor * (m * k + n * k),
        1e-6 * m * n * (of.result if parts == 1 else 4 * parts),
    )


def microseconds(times: Sequence[Any], found: Sequence[Any]) -> Any:
    """The model: from the numbers of a tile and counts of launches (numbers or arrays).

    ``times`` are in the order of :data:`FACTORS`.
    """
    fixed, wave, serial, every, lines, sectors, read, written = times
    waves, steps, all_steps, line, sector, outside, reading, writing = found
    latency = serial * steps
    traffic = every * all_steps * (1 + lines * line + sectors * sector)
    memory = read * reading
    overlapping = (latency**2 + traffic**2 + outside**2 + memory**2) ** 0.5
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
    early: float
    beyond: tuple[float, float]
    fastest: Mapping[tuple[int, int, int], MeasuredTile]

    def measured(
        self, m: int, n: int, k: int, of: Elements = HALVES
    ) -> MeasuredTile | None:
        """The tile that was fastest at sizes of as many bytes, if that was measured."""
        known = self.fastest.get((m, n, k * of.factor // _TABLE_BYTES))
        return known if known is not None and known.fits(m, n, of) else None

    def copy(self, size: int) -> float:
        """Microseconds of a copy of so many bytes."""
        return self.copies[0] + self.copies[1] * 2e-6 * size

    def written(
        self, tile: MeasuredTile, m: int, n: int, of: Elements = HALVES
    ) -> float:
        """Microseconds more of a launch whose C of m x n is ragged, or large."""
        megabytes, (held, more) = 1e-6 * of.result * m * n, self.beyond
        step = max(ROWS[0], gcd(n * of.result, ALIGNED))
        ragged = tile.ragged[ROWS.index(step)] if step in ROWS else 0.0
        return ragged * megabytes + more * max(0.0, megabytes - held)

    def sum(self, parts: int, m: int, n: int, of: Elements = HALVES) -> float:
        """Microseconds of adding up so many f32 matrices of m x n."""
        fixed, per_megabyte, per_part = self.sums
        moved = 1e-6 * (4 * parts + of.result) * m * n
        return fixed + per_megabyte * moved + per_part * parts


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
        MeasuredTile(
            e["form"], e["statics"], e["resident"], tuple(e["times"]), (*e["ragged"],)
        )
        for e in raw["tiles"]
    )
    return Table(
        raw["multiprocessors"],
        tiles,
        tuple(raw["copies"]),
        tuple(raw["sums"]),
        raw["overlap"],
        raw["early"],
        (*raw["beyond"],),
        {(m, n, k): tiles[cast("int", i)] for m, n, k, i in raw["fastest"]},
    )


@lru_cache(maxsize=4096)
def best_tile(m: int, n: int, k: int, of: Elements = HALVES) -> MeasuredTile:
    """The persistent tile with the least predicted time for C of m x n.

    Rows are contiguous. At sizes that were measured for themselves, the one that was
    fastest there.
    """
    found = table()
    known = found.measured(m, n, k, of)
    if known is not None:
        return known
    step = gcd(k * of.factor, LINE)
    return min(
        (t for t in found.tiles if t.form == "persistent" and t.fits(m, n, of)),
        key=lambda t: t.predicted(m, n, k, step, found.multiprocessors, 1, of),
    )
