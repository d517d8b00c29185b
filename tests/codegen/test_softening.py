"""Rows of attention that see no key of a block, where products are fused with sums."""

from __future__ import annotations

import emulator
import numpy as np
import pytest
from test_language import source

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.fuses(), reason="needs g++, and fused products"),
]


@pytest.mark.parametrize("contracted", [False, True])
def test_hidden_blocks_leave_nothing(contracted: bool) -> None:
    kernel = source("softening.py", "softened", {}, "sm_90a")
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((3, 32, 16)).astype(np.float32)
    scores[0, :20] = -1e30  # as a mask leaves them
    scores[1, :10] = -1e30
    factors = {
        d: float(np.float32(d**-0.5 * np.log2(np.e))) for d in range(16, 257, 16)
    }
    made = {d: (np.zeros(32, np.float32), np.zeros(32, np.float32)) for d in factors}
    launches: list[emulator.Launch] = []
    for d, (high, total) in made.items():
        given = {"B": 3, "S": 32, "T": 16, "factor": factors[d]}
        arrays = {"S": scores, "M": high, "L": total}
        launches.append(emulator.bound(kernel, given, arrays))
    emulator.run_all(launches, *(emulator.FUSED if contracted else ()))
    most = scores.max(axis=(0, 2)).astype(np.float64)
    for d, (high, total) in made.items():
        factor = factors[d]
        want = np.exp2((scores - most[:, None]) * factor).sum(axis=(0, 2))
        assert np.allclose(high, most) and np.allclose(total, want, rtol=1e-5), d
