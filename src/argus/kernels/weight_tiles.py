"""Tiles and parts of products whose weights become numbers in registers.

Weights of four or eight bits are read once for each tile of rows of A. A plan is the
one with the least predicted time. What the prediction adds up was fitted to 1300 plans
of eight bits at 72 sizes on an H100: the plans it chooses take 1 % more time than the
fastest of each size, 8 % at most; of four bits (32 sizes) 2 %, and 9 % at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, gcd
from operator import mul

from argus.kernels.gemm.plan import ProductPlan, best_plan, predicted
from argus.kernels.gemm.tiles import LINE, table

_ROWS = (8, 16, 32, 64, 128, 192)
_WIDTHS = (64, 128)
"""Rows of A and of weights of a tile."""
STAGES = 4
"""Steps of K that a block loads ahead."""
_SHARED = 228 << 10
"""Bytes of shared memory of a multiprocessor."""
_BLOCKS = {64: 8, 128: 4}
"""Blocks whose registers a multiprocessor has, by the width of a tile."""
_PARTS, _WAVES = 16, (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Into how many parts K is cut at most, for how many waves of blocks."""

_TIMES = (6.18, 1.63, 0.282, 0.0854, 0.0399, 3.10, 0.302, 0.0953)
"""Microseconds of each of `counts`, by ``benchmarks/weight_tiles.py``."""
_SUM = _TIMES[5]
_MADE = 0.3
"""Microseconds of a megabyte that weights and the numbers made of them take."""


@dataclass(frozen=True)
class TilePlan:
    """A tile of ``rows`` of A and ``width`` rows of weights, and parts of K."""

    rows: int
    width: int
    parts: int = 1

    @property
    def depth(self) -> int:
        """Columns of a step of K."""
        return 128 if self.rows <= 128 else 64

    def steps(self, k: int) -> int:
        """Steps of K of a part."""
        return ceil(ceil(k / self.depth) / self.parts)

    @property
    def resident(self) -> int:
        """Blocks that a multiprocessor has room for."""
        step = self.depth * (2 * self.rows + self.width)
        return min(_BLOCKS[self.width], _SHARED // (STAGES * step + 1024))

    def tiles(self, m: int, n: int) -> int:
        """Tiles of C."""
        return ceil(m / self.rows) * ceil(n / self.width)


def counts(
    plan: TilePlan, m: int, n: int, k: int, processors: int
) -> tuple[float, ...]:
    """What takes time: the launch, blocks that begin and end side by side, ...

    ... on one multiprocessor 128 columns of K of 64 rows of weights, of 64 rows of A,
    and of both; a second launch, megabytes of parts; megabytes of weights.
    """
    blocks = ceil(plan.tiles(m, n) * plan.parts / processors)
    a, w = plan.rows / 64, plan.width / 64
    steps = blocks * plan.steps(k) * plan.depth / 128
    summed = plan.parts > 1
    return (
        *(1.0, ceil(blocks / plan.resident)),
        *(steps * w, steps * a, steps * a * w),
        *(float(summed), summed * 4e-6 * plan.parts * m * n),
        1e-6 * n * k,
    )


def predicted_time(plan: TilePlan, m: int, n: int, k: int, processors: int) -> float:
    """Microseconds."""
    found = counts(plan, m, n, k, processors)
    return sum(map(mul, found, _TIMES))


def tile_plans(m: int, n: int, k: int, processors: int) -> Iterator[TilePlan]:
    """All tiles, and K in as many parts as fill waves of blocks."""
    for rows in _ROWS:
        for width in _WIDTHS:
            whole = TilePlan(rows, width)
            yield whole
            tiles, steps = whole.tiles(m, n), whole.steps(k)
            for waves in _WAVES:
                most = min(_PARTS, steps, int(waves * processors) // tiles)
                parts = ceil(steps / ceil(steps / max(1, most)))
                if parts > 1:
                    yield TilePlan(rows, width, parts)


@lru_cache(maxsize=4096)
def best_tiles(m: int, n: int, k: int, processors: int) -> TilePlan:
    """The plan with the least predicted time; all sizes are positive."""
    return min(
        tile_plans(m, n, k, processors),
        key=lambda plan: predicted_time(plan, m, n, k, processors),
    )


def plan_of_numbers(
    m: int, n: int, k: int, rows: int, processors: int, packed: float
) -> ProductPlan | None:
    """How to multiply where numbers of 16 bits are made of all weights first.

    ``rows``: what divides the steps of rows of A, in bytes; ``packed``: bytes of a
    weight. None where making numbers tile by tile is predicted to take less time.
    """
    aligned = (rows, gcd(2 * k, LINE))
    plan = best_plan(m, n, k, aligned)
    moved = 1e-6 * n * k * (packed + 2)
    whole = _SUM + _MADE * moved + predicted(table(), plan, m, n, k, aligned)
    least = best_tiles(m, n, k, processors)
    return plan if whole < predicted_time(least, m, n, k, processors) else None
