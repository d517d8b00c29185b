"""Persistent attention under a mask, whose tiles differ in length, in the interpreter.

The library leaves these to the hardware's scheduler; the optimiser tries both.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.evaluation.simulate import simulate
from argus.kernels.attention.kernel import attention_persistent
from argus.kernels.library import LIBRARY, Case, KernelChoice

STATICS = {"CAUSAL": True, "D": 64, "BQ": 64, "BT": 64, "WARPGROUPS": 1}


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(
    ("heads", "s", "t"), [(2, 200, 200), (3, 130, 300), (1, 400, 90), (4, 64, 64)]
)
def test_causal(heads: int, s: int, t: int, stages: int) -> None:
    """Blocks walk all tiles, or some each: either with each depth and size."""
    sm_count = 1 if (heads + stages) % 2 else 3
    statics = {**STATICS, "STAGES": stages}
    choice = KernelChoice(attention_persistent, statics, {"scale": 0.125})
    entry = replace(LIBRARY["attention"], choose=lambda case, target: choice)
    sizes = {"B": 1, "H": heads, "G": 1, "S": s, "T": t, "D": 64}
    case = Case("causal", sizes, {"causal": 1})
    done = simulate(entry, case, "sm_90a", seed=stages, sm_count=sm_count)
    assert done.ok, "\n".join(done.why())
