"""Which form multiplies so many rows, and in which tiles."""

from __future__ import annotations

from math import ceil

FEW = 16
"""Rows of A up to which each weight is read and multiplied once."""


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
