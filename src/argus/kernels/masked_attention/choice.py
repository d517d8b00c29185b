"""Static parameters of attention under windows, soft caps and sinks."""

from __future__ import annotations

__all__ = ["masked_statics"]


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
