"""Static parameters of attention that gradients are taken of."""

from __future__ import annotations

from math import ceil

__all__ = ["training_statics"]


def training_statics(
    d: int, rows: int, *, causal: bool, heads: int, multiprocessors: int
) -> dict[str, object]:
    """Those of `attention_training` for a head dimension (16, 32, ... 128).

    ``rows`` of queries of a head, of so many ``heads`` in all batches.
    """
    statics: dict[str, object] = {"D": d, "CAUSAL": causal}
    if d > 64:
        return statics
    if not causal and heads * ceil(rows / 192) >= multiprocessors:
        return statics | {"BQ": 192, "WARPGROUPS": 3, "REGISTERS": 160}
    return statics | {"BQ": 64, "BT": 64, "WARPGROUPS": 1, "REGISTERS": 0}
