"""Walks at a few sizes are a proof only where they stand for all sizes and tables.

Each of these kernels is right at the sizes that are walked first, and wrong at one that
the interpreter runs here: a branch says how often a loop iterates, or which barrier is
used; trip counts are products of sizes, a size is divided by more elsewhere, or counts
for many tiles only; a table has values that the tables of the walks have not.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.interpret import run
from argus.ir.memory import GlobalTensor
from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, told

HEAD = """import argus as ag
from argus import f32, i32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"], V: i32["T"], B: f32["N"]):
    M, K = A.shape
    T, N = V.shape[0], B.shape[0]
    {block}
    done = ag.barriers(2)
    ring = ag.ring(2, a=f32.tile(64, 32))
    n, s = ag.cdiv(K, 32), 0
    {before}
    with ag.role("load", warps=1):
        c = 0
        for k in ag.range(0, {filled}):
            {fills}with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k * 32 :])
            c = c + 1
        done[{arrived}].arrive()
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, {drained}):
            {drains}with ring.drain() as slot:
                    C[i * 64 :, k * 32 :] = slot.a.load()
        done[0].wait(0)
"""
PLAIN = {
    "block": "i = ag.block(ag.cdiv(M, 64))", "before": "",
    "filled": "ag.cdiv(K, 32)", "fills": "", "arrived": "0",
    "drained": "ag.cdiv(K, 32)", "drains": "",
}  # fmt: skip
GROUPED = "i, j = ag.block_tile(ag.cdiv(M, 64), 1)"
OF_BLOCK = "i % 4 * ag.cdiv(K, 128)"
TILES = "ag.cdiv(K, 32) * ag.cdiv(N, 32)"
WRONG: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "a branch says how often": (
        {"before": "if K % 224 == 48:\n        n = n - 1", "filled": "n"}, {"K": 48}
    ),
    "a branch says it late": (
        {"before": "if K == 7008:\n        n = n - 1", "filled": "n"}, {"K": 7008}
    ),
    "a loop says how often": (
        {"before": "for j in ag.range(0, K % 224 // 208):\n        n = n - 1",
         "filled": "n"}, {"K": 208}
    ),
    "a branch says which barrier": (
        {"before": "if K % 224 == 48:\n        s = 1", "arrived": "s"}, {"K": 48}
    ),
    "a product of sizes": (
        {"before": 'ag.require(N >= 96, "wide")', "filled": TILES, "drained": TILES,
         "arrived": "c % 2"}, {"K": 32, "N": 160}
    ),
    "divided by more elsewhere": (
        {"before": "z = K // 128\n    ag.require(z >= 0, 'always')",
         "arrived": "c % 2"}, {"K": 96}
    ),
    "a size that counts late": (
        {"filled": "ag.cdiv(M, 64) + ag.cdiv(K, 32) // 25",
         "drained": "ag.cdiv(M, 64)"}, {"K": 800}
    ),
    "a large size": ({"drains": "K < 4096"}, {"K": 4096}),
    "a large element": (
        {"fills": "V[k] > 0", "drains": "V[k] > 0 and V[k] < 100"}, {"V": 100}
    ),
    "other elements": ({"fills": "V[k] > 0", "drains": "V[k + 7] > 0"}, {"V": -1}),
    "an element and a tile": (
        {"fills": "V[k] > 0", "drains": "V[k] > 0 and k != 77"}, {"K": 2560}
    ),
    "a tile of a group of blocks": (
        {"block": GROUPED, "filled": OF_BLOCK, "drained": "i % 4 * (K // 128)"},
        {"M": 80}
    ),
    "a late tile of a group of blocks": (
        {"block": GROUPED, "filled": OF_BLOCK, "drained": f"{OF_BLOCK} + i // 40"},
        {"M": 2576}
    ),
    "an element and a size": (
        {"fills": "V[k] > 0", "drains": "V[k] > 0 and K < 4096"}, {"K": 4096}
    ),
}  # fmt: skip
RIGHT: dict[str, dict[str, str]] = {
    "as it is": {},
    "tiles are left out": {"fills": "V[k] > 0", "drains": "V[k] > 0"},
    "a branch of both": {
        "before": "if K % 224 == 48:\n        n = n - 1", "filled": "n", "drained": "n"
    },
    "a tile of a group of blocks": {
        "block": GROUPED, "filled": OF_BLOCK, "drained": OF_BLOCK
    },
    "a product of both": {"filled": TILES, "drained": TILES},
}  # fmt: skip


def _text(changes: dict[str, str]) -> str:
    conditions = {
        name: f"if {changes[name]}:\n                "
        for name in ("fills", "drains")
        if name in changes
    }
    return HEAD.format(**{**PLAIN, **changes, **conditions})


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    bad = failing(placed(_text(RIGHT[name])))
    assert not bad, told(bad)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    changes, sizes = WRONG[name]
    program = placed(_text(changes))
    bad = failing(program)
    assert bad, "proved"
    assert all(o.verdict is not Verdict.PROVED for o in bad)
    rows, columns = sizes.get("M", 16), sizes.get("K", 64)
    table = np.ones(-(-columns // 32) // 16 * 16 + 16, np.int32)
    table[:8] = sizes.get("V", 1)
    arrays = {
        "A": np.ones((rows, columns), np.float32),
        "C": np.zeros((rows, columns), np.float32),
        "V": table,
        "B": np.ones(sizes.get("N", 16), np.float32),
    }
    given = {p.name for p in program.params if isinstance(p, GlobalTensor)}
    result = run(program, {n: a for n, a in arrays.items() if n in given}, collect=True)
    assert result.errors
