"""Ways of writing kernels that the library does not use, right and with one bug."""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags.check_tags import ROOT, failing, placed, told

HEAD = """
import argus as ag
from argus import bf16, f32, i32
"""

ROWS = """
@ag.kernel
def rows(X: bf16["M N"], W: bf16["N"], Y: bf16["M N"], eps: f32 = 1e-5, *,
         BN: int = 512):
    M, N = X.shape
    row = ag.block(M)
    total = ag.zeros((BN,), f32)
    for n in ag.range(0, N, BN):
        x = ag.load(X[row, n:], (BN,)).to(f32)
        total = total + x * x
    scale = ag.rsqrt(ag.sum(total, "N") / N + eps)
    for n in ag.range(0, N, BN):
        y = ag.load(X[row, n:], (BN,)).to(f32) * scale
        y = y * ag.load(W[n:], (BN,)).to(f32)
        Y[row, n:] = y.to(bf16)
"""

REINTERPRET = """
@ag.kernel
def turn(X: bf16["M N"], Y: bf16["M N"]):
    M, N = X.shape
    ag.launch(warps=4)
    ag.require(N == 64, "one tile wide")
    i = ag.block(ag.cdiv(M, 64))
    layout = ag.layouts.wgmma_accumulator(64, 64)
    x = ag.load(X[i * 64 :, 0:], (64, 64), layout=layout)
    y = ag.reinterpret(x, ag.layouts.wgmma_a_operand(64, 64))
    Y[i * 64 :, 0:64] = y
"""

CHECKED = """
@ag.kernel
def product(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], *, BM: int = 64,
            BN: int = 64, BK: int = 64):
    M, K = A.shape
    N = B.shape[0]
    ag.launch(warps=4)
    ag.tag(A, lambda m, k: {"odd": k % 2})
    ag.tag(B, lambda n, k: {"odd": k % 2})
    bm, bn = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    acc = ag.zeros((BM, BN), f32)
    for k in ag.range(0, K, BK):
        a = ag.load(A[bm * BM :, k:], (BM, BK))
        b = ag.load(B[bn * BN :, k:], (BN, BK))
        ag.check(lambda x, y: x.odd == y.odd, a, b)
        ag.check(lambda x: (x.K < K) & (x.M < M), a)
        acc = ag.dot(a, b.T, acc)
    C[bm * BM :, bn * BN :] = acc.to(bf16)
"""

PACKED = """
@ag.kernel
def packed(X: bf16["M 2 N"], Y: bf16["M N"], *, BM: int = 4, BN: int = 128):
    M, N = Y.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, BN))
    gate = ag.load(X[i * BM :, 0, j * BN :], (BM, BN)).to(f32)
    up = ag.load(X[i * BM :, 1, j * BN :], (BM, BN)).to(f32)
    Y[i * BM :, j * BN :] = (ag.silu(gate) * up).to(bf16)
"""

EVERY_OTHER = """
@ag.kernel
def every_other(X: f32["M N"], Y: f32["R N"], *, BM: int = 16, BN: int = 64):
    R, N = Y.shape
    ag.require(ag.dim("M") == 2 * R, "every other row")
    ag.require(R % BM == 0, "whole tiles")
    i, j = ag.block(R // BM, ag.cdiv(N, BN))
    tile = ag.zeros((BM,), i32).rename("M")
    x = ag.load(X[2 * (i * BM + ag.index(tile, "M")) + 1, j * BN :], (BM, BN))
    Y[i * BM :, j * BN :] = x.rename("R N")
"""

PIPELINED = (ROOT / "tests" / "lang" / "kernels" / "explicit.py").read_text()
ATTENTION = (ROOT / "src" / "argus" / "kernels" / "attention" / "kernel.py").read_text()
STORED = "\n        leave(o * ag.rcp(l), O, b, h, q0, out, TMA_STORE)\n"
assert STORED in ATTENTION
GROUPS = ATTENTION.replace(
    STORED, "\n        ag.check(lambda x: x.G == x.H // (H // G), o)" + STORED
)

RIGHT = {
    "rows": (HEAD + ROWS, None),
    "reinterpret": (HEAD + REINTERPRET, None),
    "checked": (HEAD + CHECKED, None),
    "packed": (HEAD + PACKED, None),
    "every other": (HEAD + EVERY_OTHER, None),
    "pipelined": (PIPELINED, "pipelined"),
    "explicit": (PIPELINED, "explicit"),
    "groups": (GROUPS, None),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    source, kernel = RIGHT[name]
    bad = failing(placed(source, kernel))
    assert not bad, told(bad)


WRONG = [
    ("rows", "for n in ag.range(0, N, BN):\n        x", "AG0308",
     "for n in ag.range(BN, N, BN):\n        x"),
    ("rows", "x = ag.load(X[row, n:], (BN,))", "AG0308",
     "x = ag.load(X[row, n // 2 * 0:], (BN,))"),
    ("rows", "x = ag.load(X[row, n:], (BN,))", "AG0310",
     "x = ag.load(X[row, n:], (BN,), fill=1.0)"),
    ("rows", "ag.load(W[n:], (BN,))", "AG0303", "ag.load(W[n + 8 :], (BN,))"),
    ("rows", "Y[row, n:] = y", "AG0305", "Y[row, n + BN :] = y"),
    ("rows", "row = ag.block(M)", "AG0307", "row = ag.block(M) // 2"),
    ("reinterpret", "wgmma_a_operand(64, 64))", "AG0316",
     "blocked((64, 64), 128))"),
    ("checked", "lambda n, k: {\"odd\": k % 2}", "AG0314",
     "lambda n, k: {\"odd\": (k + 1) % 2}"),
    ("checked", "x.K < K)", "AG0314", "x.K < K - 1)"),
    ("pipelined", "a[nxt].copy(A[bm * BM :, k + BK :]", "AG0301",
     "a[nxt].copy(A[bm * BM :, k :]"),
    ("pipelined", "acc = ag.dot(a[stage].load(), b[stage].T, acc)", "AG0301",
     "acc = ag.dot(a[stage].load(), b[nxt].T, acc)"),
    ("rows", "    row = ag.block(M)", "AG0318",
     "    ag.require(N > 8, 'a')\n    ag.require(N < 4, 'b')\n    row = ag.block(M)"),
    ("groups", "b, h // (H // G), 0, steps", "AG0314", "b, h % G, 0, steps"),
    ("packed", "1, j * BN :]", "AG0303", "1, j * BN + 1 :]"),
    ("packed", "X[i * BM :, 1", "AG0303", "X[i * BM + 4 :, 1"),
    ("every other", '"M")) + 1', "AG0305", '"M")) + 2'),
    ("every other", "2 * (i", "AG0305", "(i"),
    ("every other", 'index(tile, "M"))', "AG0305", 'index(tile, "M") % 8)'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "rule", "new"), WRONG, ids=[f"{w[0]}-{w[3]}" for w in WRONG]
)
def test_wrong(name: str, old: str, rule: str, new: str) -> None:
    source, kernel = RIGHT[name]
    assert old in source
    bad = failing(placed(source.replace(old, new), kernel))
    rules = {o.rule for o in bad if o.verdict is Verdict.REFUTED}
    assert rule in rules, told(bad) or "proved"


LARGEST = """
@ag.kernel
def largest(X: f32["M N"], Y: f32["M"], *, BN: int = 2048):
    M, N = X.shape
    ag.require(N <= BN, "a row is a tile")
    ag.require(N > 0, "there is an element")
    row = ag.block(M)
    x = ag.load(X[row : row + 1, 0:], (1, BN))
    Y[row : row + 1] = ag.max(OF, "N")
"""


@pytest.mark.parametrize(
    ("of", "right"),
    [
        ("ag.abs(x)", True),
        ("x * x", True),
        ("ag.maximum(ag.abs(x), 1e-8)", True),
        ("ag.abs(x).to(bf16).to(f32)", True),
        ("x", False),
        ("-ag.abs(x)", False),
        ("ag.abs(x) - 1.0", False),
        ("x * ag.abs(x)", False),
        ("ag.where(x > 1.0, x, ag.abs(x))", False),
        ("ag.exp(x)", False),  # padding is 1
    ],
)
def test_padding_below_all_elements_changes_no_maximum(of: str, right: bool) -> None:
    bad = failing(placed(HEAD + LARGEST.replace("OF", of), "largest"))
    assert {o.rule for o in bad} == (set() if right else {"AG0310"}), told(bad)
