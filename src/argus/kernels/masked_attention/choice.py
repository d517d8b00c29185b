"""Static parameters of attention under windows, soft caps and sinks."""

from __future__ import annotations

__all__ = ["causal_statics", "masked_statics"]


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


def causal_statics(d: int, rows: int, *, tma_store: bool) -> dict[str, object]:
    """Those of wide heads under a causal mask alone.

    ``d`` is from 144 to 256; ``rows`` of queries of a head; ``tma_store``: TMA can
    address the rows of the output.
    """
    statics: dict[str, object] = {"D": d, "LEFT": -1, "RIGHT": 0, "BT": 80}
    if rows <= 64:
        statics |= {"BQ": 64, "WARPGROUPS": 1}
    # Beyond 192 there is no room for tiles of the output.
    return {**statics, "TMA_STORE": tma_store and d <= 192}
