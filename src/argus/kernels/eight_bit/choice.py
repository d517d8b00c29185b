"""Which form multiplies so many rows with weights of eight bits, and in which tiles."""

from __future__ import annotations

from math import ceil, gcd

from argus.kernels.gemm.plan import ProductPlan, best_plan
from argus.kernels.gemm.tiles import LINE

FEW = 64
"""Rows of A up to which each weight is read and multiplied once."""


def few_statics(m: int, n: int, processors: int) -> dict[str, object]:
    """Tiles of few rows of A and n rows of weights, on so many multiprocessors.

    Two blocks share a multiprocessor, so that one loads while the other adds up.
    """
    rows = next(r for r in (8, 16, 32, 64) if m <= r or r == FEW)
    wide = rows <= 16 and ceil(n / 32) >= 3 * processors
    warps = 2 if rows >= 32 else 4
    return {
        "BM": rows,
        "BN": 32 if wide else 16,
        "WARPS": warps,
        "STAGES": 2 if wide or rows == FEW else 3,
    }


def plan_of_numbers(m: int, n: int, k: int, rows: int) -> ProductPlan:
    """How numbers of 16 bits are multiplied; ``rows``: what divides the steps of A."""
    return best_plan(m, n, k, (rows, gcd(2 * k, LINE)))
