"""Which form multiplies so many rows, and in which tiles."""

from __future__ import annotations

from math import ceil

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
    rows = 64 if m <= 64 else 128

    def clocks(width: int) -> float:
        """Of a step of K, times the tiles that one multiprocessor has."""
        rounds = ceil(ceil(m / rows) * ceil(n / width) / processors)
        # Products of 16 bits, or numbers made of weights, at the rates of the hardware.
        return rounds * (100 + max(rows * width / 32, 2.5 * width))

    width = min(_WIDTHS, key=clocks)
    return {
        "BM": rows,
        "BN": width,
        "BC": min(32, width // 3),
        "WARPGROUPS": rows // 64,
        "TMA_STORE": tma_store,
    }
