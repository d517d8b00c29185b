"""Which form multiplies so many rows, and in which tiles."""

from __future__ import annotations

from math import ceil, gcd

from argus.kernels.gemm.plan import ProductPlan, best_plan, predicted
from argus.kernels.gemm.tiles import LINE, table

FEW = 16
"""Rows of A up to which each weight is read and multiplied once."""

_WIDTHS = (192, 96, 48)
"""Rows of weights of a tile: the three warps that make numbers share them evenly."""


def few_statics(m: int, n: int, processors: int) -> dict[str, object]:
    """Tiles of few rows of A and n rows of weights, on so many multiprocessors.

    Tiles of A come from L2 for each tile of weights; blocks of a cluster share them
    where they are larger than these, as far as TMA can divide them.
    """
    rows = 8 if m <= 8 else 16
    # Two blocks of a multiprocessor keep as many loads in flight as it needs.
    wide = 32 if ceil(n / 32) >= 3 * processors else 16
    return {
        "BM": rows,
        "BN": wide,
        "STAGES": 3 if wide == 32 else 4,
        "CLUSTER": rows // 8,
    }


def many_statics(
    m: int, n: int, processors: int, *, tma_store: bool
) -> dict[str, object]:
    """Tiles of many rows of A and n rows of weights: the least predicted time.

    ``tma_store``: TMA can address the rows of the result.
    """
    rows, width = _tile(m, n, processors)
    return {
        "BM": rows,
        "BN": width,
        "BC": min(32, width // 3),
        "WARPGROUPS": rows // 64,
        "TMA_STORE": tma_store,
    }


def _tile(m: int, n: int, processors: int) -> tuple[int, int]:
    """Rows of A and of weights of the fastest tile."""
    return min(
        ((64 if m <= 64 else 128, width) for width in _WIDTHS),
        key=lambda tile: _clocks(m, n, *tile, processors),
    )


def _clocks(m: int, n: int, rows: int, width: int, processors: int) -> float:
    """Of a step of K, times the tiles that one multiprocessor has."""
    rounds = ceil(ceil(m / rows) * ceil(n / width) / processors)
    # Products of 16 bits at the rate of the hardware, or numbers made of weights.
    return rounds * (_WAITING[rows] + max(rows * width / 32, _MAKING * width))


_WAITING, _MAKING = {64: 300, 128: 450}, 6.6
"""Clocks that a step takes besides, by rows of A, and that three warps take to make 64
numbers of each row of weights: as measured."""
_STEP, _CLOCKS = 64, 1700.0
"""Columns of a step of K; clocks of a microsecond."""
_LAUNCH, _PER_MEGABYTE = 3.0, 0.3
"""Microseconds of a launch before another, and of a megabyte that it moves."""


def plan_of_numbers(
    m: int, n: int, k: int, rows: int, processors: int
) -> ProductPlan | None:
    """How to multiply where numbers of 16 bits are made of all weights first.

    ``rows``: what divides the steps of rows of A, in bytes. None where a form that
    makes them tile by tile is predicted to take less time.
    """
    aligned = (rows, gcd(2 * k, LINE))
    plan = best_plan(m, n, k, aligned)
    moved = 1e-6 * n * k * (0.5 + 2)
    whole = _LAUNCH + _PER_MEGABYTE * moved + predicted(table(), plan, m, n, k, aligned)
    rounds = _clocks(m, n, *_tile(m, n, processors), processors)
    return plan if whole < rounds * ceil(k / _STEP) / _CLOCKS else None


def number_statics(group: int) -> dict[str, object]:
    """Tiles of weights that become numbers, with so many columns that share a scale."""
    whole = group % 256 == 0 or 256 % group == 0
    return {"BN": 16, "BK": 256} if whole else {"BN": 32, "BK": 128}
