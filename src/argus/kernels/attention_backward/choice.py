"""Static parameters of attention that gradients are taken of."""

from __future__ import annotations

__all__ = ["training_statics"]


def training_statics(d: int, *, causal: bool) -> dict[str, object]:
    """Those of `attention_training` for a head dimension (16, 32, ... 128)."""
    statics: dict[str, object] = {"D": d, "CAUSAL": causal}
    if d <= 64:
        statics |= {"BQ": 64, "BT": 64, "WARPGROUPS": 1, "REGISTERS": 0}
    return statics
