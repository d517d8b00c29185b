"""Static parameters of attention under windows, soft caps and sinks."""

from __future__ import annotations

from math import ceil

__all__ = ["SHORT_ROWS", "WIDE", "causal_statics", "masked_statics"]

NARROW, WIDE = 64, 128
"""Head dimensions up to which, and beyond which, tiles of queries under a causal mask
may be larger than those of keys: `attention` has none such."""
_LONG, _SHORT = (192, 128), (64, 64)
"""Queries and keys of a tile of narrow heads, here and in `attention`."""
SHORT_ROWS = 512
"""Queries of a head of more than 192 elements up to which small tiles are faster, whose
outputs leave by TMA (H200)."""
_SLOWER = 1.13
"""What a score takes there beside one here (H200: of 32 heads 2048 long ones take 69 us
here and 65 there, 4096 long ones 196 and 201; 1.11 and 1.15 times the scores)."""


def masked_statics(
    d: int, left: int, right: int, *, softcap: bool
) -> dict[str, object]:
    """Those for a head dimension (a multiple of 16, at most 256) and bounds.

    Under a window, whose steps are few, they do not overlap. None was searched.
    """
    statics: dict[str, object] = {"D": d, "LEFT": left, "RIGHT": right}
    statics |= {"SOFTCAP": softcap, "OVERLAP": left < 0}
    if d != 128:
        statics |= {"BQ": 64, "BT": 64, "WARPGROUPS": 1}
    if d <= 64:
        statics["REGISTERS"] = 0
    return statics


def causal_statics(
    d: int,
    rows: int,
    keys: int,
    *,
    tma_store: bool,
    heads: int,
    multiprocessors: int,
) -> dict[str, object] | None:
    """Those under a causal mask alone; None: `attention` is faster.

    ``rows`` of queries and ``keys`` of a head, of so many ``heads`` in all batches;
    ``tma_store``: TMA can address the rows of the output.
    """
    statics: dict[str, object] = {"D": d, "LEFT": -1, "RIGHT": 0}
    if d <= NARROW:
        if not _long(heads, rows, keys, multiprocessors):
            return None
        tile = {"BQ": _LONG[0], "BT": _LONG[1], "WARPGROUPS": 3, "REGISTERS": 160}
        return {**statics, **tile, "TMA_STORE": tma_store}
    if d <= WIDE:
        return None
    if rows <= (64 if d <= 192 else SHORT_ROWS):
        keys = 80 if d <= 192 else 64
        tile = {"BQ": 64, "BT": keys, "WARPGROUPS": 1}
        return {**statics, **tile, "TMA_STORE": tma_store}
    # Beyond 192 there is no room for tiles of the output.
    return {**statics, "BT": 80, "TMA_STORE": tma_store and d <= 192}


def _long(heads: int, rows: int, keys: int, multiprocessors: int) -> bool:
    """Whether tiles of `_LONG` take less time than those of `_SHORT`.

    They have more of what the mask hides, and one block fills a multiprocessor.
    """

    def blocks(tile: tuple[int, int]) -> list[int]:
        queries, each = tile
        ends = range(queries, rows + queries, queries)
        return [min(ceil(keys / each), ceil(end / each)) for end in ends]

    most, least = blocks(_LONG), blocks(_SHORT)
    size = _LONG[0] * _LONG[1]
    long = size * max(max(most), heads * sum(most) / multiprocessors)
    short = _SHORT[0] * _SHORT[1] * heads * sum(least) / multiprocessors
    return long < _SLOWER * short
