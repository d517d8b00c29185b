"""Which form multiplies so many rows with weights of four bits, and in which tiles."""

from __future__ import annotations

from math import ceil

from argus.kernels.weight_tiles import STAGES, TilePlan

_ROWS, _WIDTH = 8, 16
"""Rows of A and of weights of a tile of the form for few rows."""


def are_few(m: int, n: int, processors: int) -> bool:
    """Whether one launch of few rows is fastest: all its blocks run side by side.

    Two of them share a multiprocessor.
    """
    return m <= _ROWS and ceil(n / _WIDTH) <= 2 * processors


def few_statics() -> dict[str, object]:
    """The tile of few rows."""
    return {"BM": _ROWS, "BN": _WIDTH, "STAGES": 4}


def tile_statics(plan: TilePlan) -> dict[str, object]:
    """The tile of a plan; steps are of words, of four columns each."""
    sizes = {"BM": plan.rows, "BN": plan.width, "BU": plan.depth // 4}
    return {**sizes, "STAGES": STAGES}


def number_statics(group: int) -> dict[str, object]:
    """Tiles of weights that become numbers, with so many columns that share a scale."""
    whole = group % 256 == 0 or 256 % group == 0
    return {"BN": 16, "BK": 256} if whole else {"BN": 32, "BK": 128}
