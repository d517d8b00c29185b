"""Static parameters of attention of packed sequences. None was searched."""

from __future__ import annotations

from argus.kernels.masked_attention.choice import masked_statics

__all__ = ["varlen_statics"]

_ROWS = 64
"""Queries of a warpgroup."""


def varlen_statics(
    d: int, left: int, right: int, *, softcap: bool, sinks: bool, few: bool
) -> dict[str, object]:
    """Those for a head dimension (a multiple of 16, at most 256) and bounds.

    ``few``: no sequence has more queries than a warpgroup takes. With sinks steps do
    not overlap, as under a window.
    """
    statics = masked_statics(d, left, right, softcap=softcap)
    if sinks:
        statics["OVERLAP"] = False
    if few:
        statics |= {"BQ": _ROWS, "WARPGROUPS": 1}
    return statics
