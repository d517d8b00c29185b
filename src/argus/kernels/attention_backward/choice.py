"""Static parameters of attention that gradients are taken of."""

from __future__ import annotations

from math import ceil

__all__ = ["training_statics"]

_MANY, _FEW = 192, 64
"""Queries of a block of narrow heads: one fills a multiprocessor, or several do."""
_SLOWER = 1.24
"""What a query takes in the latter beside the former (H200, 512 to 2048 keys)."""


def training_statics(
    d: int, rows: int, *, causal: bool, heads: int, multiprocessors: int
) -> dict[str, object]:
    """Those of `attention_training` for a head dimension (16, 32, ... 128).

    ``rows`` of queries of a head, of so many ``heads`` in all batches.
    """
    statics: dict[str, object] = {"D": d, "CAUSAL": causal}
    if d > 64:
        return statics
    waves = ceil(heads * ceil(rows / _MANY) / multiprocessors)
    few = heads * ceil(rows / _FEW) / multiprocessors
    if not causal and waves * _MANY < _SLOWER * few * _FEW:
        return statics | {"BQ": _MANY, "WARPGROUPS": 3, "REGISTERS": 160}
    return statics | {"BQ": 64, "BT": 64, "WARPGROUPS": 1, "REGISTERS": 0}
